"""lhotse cuts with mels as features, and recordings if the store has waveforms. lhotse is not needed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from tts_prep.export.layout import ExportFolder, Layout
from tts_prep.export.rows import ExportRow, export_rows, npy_bytes, wav_bytes
from tts_prep.loader import Utterance, UtteranceDataset

_FIELDS = ("gender", "language")
"""The columns with a field of their own in a supervision, which is text."""


def export_lhotse(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``cuts.jsonl.gz``, ``features/`` and, if the store has waveforms, ``wavs/``.

    Paths in the manifest start with ``folder`` as given; if it is relative, they are relative to the reader's working
    directory. Columns of the corpus are in ``custom`` of a supervision, but ``gender`` and ``language`` are its fields.
    The symbols of an utterance are ``tokens`` of its cut. Mels are unchanged. lhotse requires the duration of features
    to be a multiple of the frame shift, so the duration of a cut is the minimum of the durations of recording and mel.
    """
    with gzip.GzipFile(folder.file("cuts.jsonl.gz"), "wb", mtime=0) as file:
        for row in export_rows(dataset, ("phonemes",)):
            cut = _cut(row, dataset, folder)
            file.write((json.dumps(cut, ensure_ascii=False) + "\n").encode())


def _cut(row: ExportRow, dataset: UtteranceDataset, folder: ExportFolder) -> dict[str, Any]:
    utterance, rate = row.utterance, dataset.sample_rate
    features_seconds = len(utterance.mel) * dataset.hop_length / rate if dataset.n_mels else utterance.seconds
    columns = row.json_meta
    fields = {name: columns.pop(name) for name in _FIELDS if isinstance(columns.get(name), str)}
    if row.language:
        fields["language"] = row.language
    seconds = features_seconds if utterance.waveform is None else len(utterance.waveform) / rate
    duration = min(seconds, features_seconds)
    cut: dict[str, Any] = {
        "id": utterance.id,
        "start": 0.0,
        "duration": duration,
        "channel": 0,
        "supervisions": [
            {
                "id": utterance.id,
                "recording_id": utterance.id,
                "start": 0.0,
                "duration": duration,
                "channel": 0,
                "text": utterance.text,
                "speaker": utterance.speaker,
                **fields,
                "custom": {**columns, "phonemes": utterance.phoneme_text},
            }
        ],
        "custom": {"tokens": [dataset.symbols[i] for i in utterance.phonemes.tolist()]},
        "type": "MonoCut",
    }
    if dataset.n_mels:
        features = folder.write(f"features/{row.name}.npy", npy_bytes(utterance.mel.astype(np.float32)))
        cut["features"] = _features(utterance, dataset, features)
    if utterance.waveform is not None:
        path = folder.write(f"wavs/{row.name}.wav", wav_bytes(utterance.waveform, rate))
        cut["recording"] = _recording(utterance.id, path, len(utterance.waveform), rate)
    return cut


def _recording(uid: str, file: Path, n_samples: int, rate: int) -> dict[str, Any]:
    """Return the entry of an utterance's waveform, in the fields of lhotse's ``Recording``."""
    return {
        "id": uid,
        "sources": [{"type": "file", "channels": [0], "source": str(file)}],
        "sampling_rate": rate,
        "num_samples": n_samples,
        "duration": n_samples / rate,
        "channel_ids": [0],
    }


def _features(utterance: Utterance, dataset: UtteranceDataset, file: Path) -> dict[str, Any]:
    """Return the entry of an utterance's mel spectrogram, in the fields of lhotse's ``Features``."""
    rate, hop = dataset.sample_rate, dataset.hop_length
    return {
        "type": "tts-prep-mel",
        "num_frames": len(utterance.mel),
        "num_features": dataset.n_mels,
        "frame_shift": hop / rate,
        "sampling_rate": rate,
        "start": 0.0,
        "duration": len(utterance.mel) * hop / rate,
        "storage_type": "numpy_files",
        "storage_path": str(file.parent),
        "storage_key": file.name,
        "recording_id": utterance.id,
        "channels": 0,
    }


LAYOUT: Final = Layout(
    "lhotse", export_lhotse, "`cuts.jsonl.gz`, `features/*.npy`, `wavs/`", "`lhotse.CutSet.from_file`"
)
