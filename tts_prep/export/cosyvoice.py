"""CosyVoice's parquet files: recordings, texts, speech tokens and speaker vectors."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, MissingPackageError
from tts_prep.export.layout import ExportFolder, Layout
from tts_prep.export.rows import ExportRow, export_rows, require_waveforms, wav_bytes
from tts_prep.loader import UtteranceDataset
from tts_prep.recipes.language_model import speaker_vectors

TOKENS: Final = "speech_tokens"
VECTOR: Final = "speaker_vector"

_FILE_ROWS: Final = 1000
"""Utterances per file, as in CosyVoice's make_parquet_list.py."""


def export_cosyvoice(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``parquet_000000000.tar`` and so on, which are parquet files in spite of their names, and ``data.list``.

    Columns are those of CosyVoice's ``tools/make_parquet_list.py``: ``utt``, ``audio_data`` (WAV), ``wav``, ``text``,
    ``spk``, ``utt_embedding``, ``spk_embedding``, the mean of a speaker's vectors, and ``speech_token``.

    Raises:
        ConfigurationError: the store has no waveforms, speech tokens or speaker vectors.
        MissingPackageError: pyarrow is not installed.
    """
    require_waveforms(dataset, "CosyVoice")
    _check(dataset)
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "CosyVoice's files need pyarrow, which is not installed: pip install 'tts-prep[parquet]'"
        ) from error
    total, dataset = len(dataset), dataset.having(VECTOR)
    if not len(dataset):
        raise ConfigurationError(f"{dataset.path}: no utterance has a '{VECTOR}'; there is nothing to export")
    means = speaker_vectors(dataset, VECTOR)
    have_tokens = set(dataset.having(TOKENS).id)
    if (n := len(have_tokens)) < total:
        folder.report(
            f"{total - n:,} of {total:,} utterances left out: {total - len(dataset):,} without a {VECTOR}, "
            f"{len(dataset) - n:,} by CosyVoice itself, whose {TOKENS} are empty lists"
        )
    rows, names = export_rows(dataset), list[str]()
    while group := list(islice(rows, _FILE_ROWS)):
        values = [_values(row, dataset.sample_rate, means, has_tokens=row.utterance.id in have_tokens) for row in group]
        names.append(f"parquet_{len(names):09d}.tar")
        parquet.write_table(pa.Table.from_pylist(values, _schema(pa)), folder.file(names[-1]))
    folder.write("data.list", "".join(f"{folder.place / name}\n" for name in names))


def _check(dataset: UtteranceDataset) -> None:
    for name, axis, kinds, what in ((TOKENS, "own", "iu", "integers"), (VECTOR, "utterance", "f", "a vector")):
        spec = dataset.arrays.get(name)
        fits = spec and spec.axis == axis and spec.numpy_dtype.kind in kinds
        if not fits or len(spec.row_shape if spec else ()) != (name == VECTOR):
            raise ConfigurationError(
                f"{dataset.path}: CosyVoice needs the array '{name}', {what} for each utterance; add it by 'tts-prep "
                f"add {dataset.path} --feature MODULE:CLASS' or --array {name}@{axis}=PATH"
            )


def _values(
    row: ExportRow, sample_rate: int, means: Mapping[str, npt.NDArray[np.float32]], *, has_tokens: bool
) -> dict[str, Any]:
    utterance = row.utterance
    assert utterance.waveform is not None
    return {
        "utt": row.name,
        "audio_data": wav_bytes(utterance.waveform, sample_rate),
        "wav": f"{row.name}.wav",
        "text": utterance.text,
        "spk": utterance.speaker,
        "utt_embedding": utterance.arrays[VECTOR],
        "spk_embedding": means[utterance.speaker],
        # As of recordings over 30 s, for which CosyVoice has no tokens: its filter leaves them out.
        "speech_token": utterance.arrays[TOKENS] if has_tokens else [],
    }


def _schema(pa: Any) -> Any:
    texts = [(name, pa.string()) for name in ("wav", "text", "spk")]
    vectors = [(name, pa.list_(pa.float32())) for name in ("utt_embedding", "spk_embedding")]
    audio = ("audio_data", pa.binary())
    return pa.schema([("utt", pa.string()), audio, *texts, *vectors, ("speech_token", pa.list_(pa.int64()))])


LAYOUT: Final = Layout(
    "cosyvoice",
    export_cosyvoice,
    "`parquet_*.tar`, `data.list`",
    "CosyVoice's `Dataset`",
    needs="waveforms, `speech_tokens`, `speaker_vector`, pyarrow (`[parquet]`)",
    system="CosyVoice",
)
