"""JSON lines of recordings, texts, reference recordings and codes, which trainers of codec language models read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from tts_prep.errors import ConfigurationError
from tts_prep.export.folder import ExportFolder
from tts_prep.export.layout import Layout
from tts_prep.export.rows import ExportRow, export_rows, require_waveforms, wav_bytes
from tts_prep.loader import UtteranceDataset

CODES: Final = "audio_codes"
REFERENCE: Final = "ref_audio"
_KEYS: Final = ("id", "audio", "text", "speaker", "duration", CODES, f"{REFERENCE}_codes")

_SECONDS: Final = 5.0
"""The duration that a chosen reference is nearest to: as long as the clips of Qwen3-TTS's examples."""


def export_jsonl(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``train.jsonl`` and ``audio/``.

    Keys are those of Qwen3-TTS's ``finetuning/dataset.py``, MOSS-TTS's ``finetuning/dataset.py`` and VoxCPM's
    ``training/data.py``: ``audio`` and ``ref_audio`` (paths of WAV files), ``text``, ``language``, ``duration`` (s);
    with codes ``audio_codes`` and ``ref_audio_codes``, lists [n_frames][n_codebooks]. In addition ``id``, ``speaker``
    and the columns of the corpus, such as ``instruct``.

    A column ``ref_audio`` has the id of the utterance that is a row's reference, or a path, which is written as it is.
    Other rows have that utterance of their speaker which is nearest to 5 s, and not themselves if there is another.

    Raises:
        ConfigurationError: the store has no waveforms, or several arrays that can be the codes.
    """
    require_waveforms(dataset, "the layout jsonl")
    codes, rows, lines = _codes(dataset), list(export_rows(dataset, _KEYS)), []
    have_codes = set(dataset.having(codes).id) if codes else {row.utterance.id for row in rows}
    left_out = [row for row in rows if row.utterance.id not in have_codes]
    rows = [row for row in rows if row.utterance.id in have_codes]
    if left_out:
        folder.report(f"{len(left_out):,} of {len(dataset):,} utterances left out: without {codes}")
    by_id, candidates = {row.utterance.id: row for row in rows}, _candidates(rows)
    for row in rows:
        utterance = row.utterance
        assert utterance.waveform is not None
        audio = folder.write(f"audio/{row.name}.wav", wav_bytes(utterance.waveform, dataset.sample_rate))
        named = str(row.meta.get(REFERENCE, ""))
        other = by_id.get(named) if named else _reference(row, candidates[utterance.speaker])
        value: dict[str, Any] = {
            **row.json_meta,
            **({"language": row.language} if row.language else {}),
            "id": utterance.id,
            "audio": str(audio),
            "text": utterance.text,
            "speaker": utterance.speaker,
            "duration": len(utterance.waveform) / dataset.sample_rate,
            REFERENCE: str(folder.place / f"audio/{other.name}.wav") if other else named,
        }
        if codes:
            value[CODES] = _list(row, codes)
            if other:
                value[f"{REFERENCE}_codes"] = _list(other, codes)
        lines.append(json.dumps(value, ensure_ascii=False) + "\n")
    folder.write("train.jsonl", "".join(lines))
    if others := sorted(name for name, spec in dataset.arrays.items() if spec.added and name != codes):
        folder.report(f"left out: {', '.join(others)}; jsonl has audio, texts and {CODES}")


def _codes(dataset: UtteranceDataset) -> str:
    """Return the array of codes, integers with a length of their own; empty if the store has none."""
    found = [
        name for name, spec in dataset.arrays.items() if spec.axis == "own" and spec.numpy_dtype.kind in "iu"
    ]  # fmt: skip
    if len(found) > 1 and CODES not in found:
        raise ConfigurationError(
            f"{dataset.path}: {', '.join(sorted(found))} can be the {CODES} of jsonl; 'tts-prep remove "
            f"{dataset.path} --array NAME' removes the others"
        )
    return CODES if CODES in found else next(iter(found), "")


def _list(row: ExportRow, codes: str) -> list[list[int]]:
    values = row.utterance.arrays[codes]
    found: list[list[int]] = values.reshape(len(values), -1).tolist()
    return found


def _candidates(rows: list[ExportRow]) -> Mapping[str, list[ExportRow]]:
    """Return the two utterances of each speaker that are nearest to the duration of a reference."""
    by_speaker: dict[str, list[ExportRow]] = {}
    for row in rows:
        by_speaker.setdefault(row.utterance.speaker, []).append(row)
    return {
        speaker: sorted(of, key=lambda row: abs(row.utterance.seconds - _SECONDS))[:2]
        for speaker, of in by_speaker.items()
    }


def _reference(row: ExportRow, candidates: list[ExportRow]) -> ExportRow:
    return next((other for other in candidates if other is not row), row)


LAYOUT: Final = Layout(
    "jsonl",
    export_jsonl,
    "`train.jsonl`, `audio/`",
    "Qwen3-TTS's, MOSS-TTS's and VoxCPM's fine-tuning",
    needs="waveforms; with codes, an array of integers with a length of its own",
    system="Qwen3-TTS, MOSS-TTS and VoxCPM",
    other_names=("qwen", "qwen3-tts", "moss-tts", "voxcpm"),
)
