"""Parquet files for Hugging Face ``datasets`` and other readers of parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

from tts_prep.errors import MissingPackageError
from tts_prep.export.dataset_card import Licence, dataset_card
from tts_prep.export.folder import ExportFolder
from tts_prep.export.layout import Layout
from tts_prep.export.rows import ExportRow, corpus_columns, export_rows, language_of_texts, wav_bytes
from tts_prep.loader import UtteranceDataset

_GROUP_BYTES = 200_000_000
"""The size in memory of a row group, the smallest unit that a reader can read. The Hub recommends 100 to 300 MB, and
its viewer refuses more."""

_FILE_GROUPS = 3
_ARRAYS = ("phonemes", "mel", "audio")


def export_parquet(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``data/train-00000.parquet`` and so on, with row groups of about 200 MB.

    ``README.md`` is the card of the dataset, and ``LICENSE`` its licence, unless the card names it.

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
    schema = _schema(pa, dataset)
    languages: set[str] = set()
    groups = _groups(dataset, languages)
    number = 0
    while first := next(groups, None):
        path = folder.file(f"data/train-{number:05d}.parquet")
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for group in chain([first], islice(groups, _FILE_GROUPS - 1)):
                writer.write_table(pa.Table.from_pylist(group, schema), row_group_size=len(group))
        number += 1
    licence = Licence(folder.licence or dataset.metadata.licence)
    folder.write("README.md", dataset_card(dataset, languages, licence))
    if licence.file:
        folder.write("LICENSE", licence.file)


def _groups(dataset: UtteranceDataset, languages: set[str]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of row groups, and add the languages of their texts."""
    group: list[dict[str, Any]] = []
    size = 0
    for row in export_rows(dataset, _ARRAYS):
        values = _values(row, dataset.sample_rate)
        of_row = _size(values)
        if group and size + of_row > _GROUP_BYTES:
            yield group
            group, size = [], 0
        group.append(values)
        size += of_row
        languages.add(row.language)
    if group:
        yield group


def _size(values: Mapping[str, Any]) -> int:
    """Return about the size of a row in memory, which is that of its arrays."""
    arrays = (values["phonemes"], *values["mel"])
    texts = sum(len(value.encode()) for value in values.values() if isinstance(value, str))
    return (
        sum(int(array.nbytes) for array in arrays) + texts + (len(values["audio"]["bytes"]) if "audio" in values else 0)
    )


def _schema(pa: Any, dataset: UtteranceDataset) -> Any:
    fields = [(name, pa.string()) for name in ("id", "text", "phoneme_text", "speaker")]
    meta = dataset[0].meta
    for column, name in corpus_columns(dataset, _ARRAYS).items():
        # That of languages can be one of numbers, but `language` also has that of the store.
        is_number = isinstance(meta[column], float) and name != "language"
        fields.append((name, pa.float64() if is_number else pa.string()))
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
    "`data/train-*.parquet`, `README.md`",
    '`datasets.load_dataset("parquet", …)`, with `audio` as `Audio`',
    needs="pyarrow (`[parquet]`)",
    system="Hugging Face's datasets",
    takes_licence=True,
    other_names=("hf", "huggingface", "hugging-face", "datasets", "arrow"),
)
