"""NeMo manifests: JSON lines, and a folder of recordings."""

from __future__ import annotations

import json
from typing import Final

from tts_prep.export.folder import ExportFolder
from tts_prep.export.layout import Layout
from tts_prep.export.rows import export_rows, require_waveforms, wav_bytes
from tts_prep.loader import UtteranceDataset

_KEYS = ("audio_filepath", "duration", "phonemes", "speaker_name", "audio_filename", "mel_filepath", "offset")
"""The last three are not written, but NeMo would open other files because of them, or start within a recording."""


def export_nemo(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``manifest.json`` and ``wavs/``.

    Keys are those of NeMo's ``TTSDataset``, ``audio_filepath`` (relative to the manifest), ``duration`` (s), ``text``
    and ``speaker`` (an integer), and in addition ``id``, ``phonemes`` (text), ``speaker_name`` and the columns of the
    corpus. ``TTSDataset`` opens relative paths in the current directory, NeMo's other datasets in the manifest's folder
    or their ``audio_dir``.

    Raises:
        ConfigurationError: the store has no waveforms.
    """
    require_waveforms(dataset, "NeMo")
    lines = []
    for row in export_rows(dataset, _KEYS):
        utterance = row.utterance
        assert utterance.waveform is not None
        folder.write(f"wavs/{row.name}.wav", wav_bytes(utterance.waveform, dataset.sample_rate))
        value = {
            **row.json_meta,
            **({"language": row.language} if row.language else {}),
            "id": utterance.id,
            "audio_filepath": f"wavs/{row.name}.wav",
            "duration": len(utterance.waveform) / dataset.sample_rate,
            "text": utterance.text,
            "phonemes": utterance.phoneme_text,
            "speaker": utterance.speaker_code,
            "speaker_name": utterance.speaker,
        }
        lines.append(json.dumps(value, ensure_ascii=False) + "\n")
    folder.write("manifest.json", "".join(lines))


LAYOUT: Final = Layout(
    "nemo",
    export_nemo,
    "`manifest.json`, `wavs/`",
    "NeMo's datasets",
    needs="waveforms",
    system="NeMo",
    other_names=("json", "manifest"),
)
