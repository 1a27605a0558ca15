"""Parquet files for Hugging Face ``datasets`` and other readers of parquet."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, Final

from tts_prep.errors import MissingPackageError
from tts_prep.export.folder import ExportFolder
from tts_prep.export.layout import Layout
from tts_prep.export.rows import ExportRow, corpus_columns, export_rows, language_of_texts, wav_bytes
from tts_prep.loader import UtteranceDataset

_ROWS = 100
"""The number of rows of a row group, the smallest unit that a reader can read."""

_FILE_ROWS = 2000
_ARRAYS = ("phonemes", "mel", "audio")


def export_parquet(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``data/train-00000.parquet`` and so on.

    Columns are ``id``, ``text``, ``phoneme_text``, ``speaker``, ``phonemes`` (list of int32), ``mel`` (list of lists of
    float32, one per frame), the additional columns of the corpus, ``language`` and, if the store has waveforms,
    ``audio``, a struct of ``bytes`` (WAV) and ``path``. The metadata of the schema make it an ``Audio`` of Hugging Face
    ``datasets``.

    Raises:
        MissingPackageError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "parquet files need pyarrow, which is not installed: pip install 'tts-prep[parquet]'"
        ) from error
    rows = export_rows(dataset, _ARRAYS)
    group = list(islice(rows, _ROWS))
    number = 0
    while group:
        path = folder.file(f"data/train-{number:05d}.parquet")
        writer = None
        written = 0
        while group and written < _FILE_ROWS:
            table = pa.Table.from_pylist([_values(row, dataset.sample_rate) for row in group], _schema(pa, dataset))
            writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
            written += len(group)
            group = list(islice(rows, _ROWS))
        if writer:
            writer.close()
        number += 1


def _schema(pa: Any, dataset: UtteranceDataset) -> Any:
    fields = [(name, pa.string()) for name in ("id", "text", "phoneme_text", "speaker")]
    meta = dataset[0].meta
    for column, name in corpus_columns(dataset, _ARRAYS).items():
        fields.append((name, pa.float64() if isinstance(meta[column], float) else pa.string()))
    if "language" not in meta and language_of_texts(dataset):
        fields.append(("language", pa.string()))
    fields += [("phonemes", pa.list_(pa.int32())), ("mel", pa.list_(pa.list_(pa.float32(), dataset.n_mels)))]
    if dataset.metadata.has_waveform:
        fields.append(("audio", pa.struct([("bytes", pa.binary()), ("path", pa.string())])))
    schema = pa.schema(fields)
    features = {field.name: _feature(field, pa, dataset) for field in schema}
    return schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})


def _feature(field: Any, pa: Any, dataset: UtteranceDataset) -> dict[str, Any]:
    """Return the feature of ``datasets`` for a field, as its versions 2 to 5 read it."""
    if field.name == "audio":
        return {"sampling_rate": dataset.sample_rate, "_type": "Audio"}
    if pa.types.is_fixed_size_list(field.type):
        inner = _feature(field.type.value_field, pa, dataset)
        return {"feature": inner, "length": field.type.list_size, "_type": "Sequence"}
    if pa.types.is_list(field.type):
        return {"feature": _feature(field.type.value_field, pa, dataset), "_type": "Sequence"}
    names = {"double": "float64", "float": "float32"}
    return {"dtype": names.get(str(field.type), str(field.type)), "_type": "Value"}


def _values(row: ExportRow, sample_rate: int) -> dict[str, Any]:
    utterance = row.utterance
    values = {
        "id": utterance.id,
        "text": utterance.text,
        "phoneme_text": utterance.phoneme_text,
        "speaker": utterance.speaker,
        **row.meta,
        **({"language": row.language} if row.language else {}),
        "phonemes": utterance.phonemes,
        "mel": list(utterance.mel),
    }
    if utterance.waveform is not None:
        values["audio"] = {"bytes": wav_bytes(utterance.waveform, sample_rate), "path": f"{row.name}.wav"}
    return values


LAYOUT: Final = Layout(
    "parquet",
    export_parquet,
    "`data/train-*.parquet`",
    '`datasets.load_dataset("parquet", …)`, with `audio` as `Audio`',
    needs="pyarrow (`[parquet]`)",
    system="Hugging Face's datasets",
    other_names=("hf", "huggingface", "hugging-face", "datasets", "arrow"),
)
