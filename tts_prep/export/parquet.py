"""Parquet files: for Hugging Face ``datasets`` with a dataset card as the Hub reads it, and ``croissant.json``."""

from __future__ import annotations

import importlib.resources
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import MissingPackageError
from tts_prep.export.layout import ExportFolder
from tts_prep.export.rows import ExportRow, added_arrays, corpus_columns, export_rows, language_of_texts, wav_bytes
from tts_prep.format.decoding import Record
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.layout import MANIFEST
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.format.records.provenance import RIGHTS
from tts_prep.loader import UtteranceDataset

_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B")
"""The Hub's categories of numbers of rows; each ends with ten times as many as the one before, the first with 1,000."""

_MAX_ROWS = 20
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}")


@dataclass(frozen=True)
class Licence:
    """The licences of a dataset.

    Attributes:
        texts: as they were given: the Hub's identifier, such as ``cc-by-4.0``, or any text; none if none was named.
    """

    texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, dataset: UtteranceDataset, given: str) -> Licence:
        """Return the one that is given, or those of the rows, of which one without has that of the store."""
        of_rows = {*dataset.column("license")} if "license" in dataset.columns else {""}
        texts = [given] if given else [str(text) or dataset.metadata.licence for text in of_rows]
        return cls(tuple(sorted({text.strip() for text in texts} - {""})))

    @property
    def identifiers(self) -> list[str]:
        """The Hub's identifiers, ``other`` for another text."""
        words = [text.lower() for text in self.texts]
        return sorted({word if _IDENTIFIER.fullmatch(word) else "other" for word in words})

    @property
    def file(self) -> str:
        """The text for a file beside the card; empty if the identifiers say all."""
        return "\n".join(f"{text}\n" for text in self.texts if not _IDENTIFIER.fullmatch(text.lower()))


def dataset_card(dataset: UtteranceDataset, languages: Collection[str], licence: Licence) -> str:
    """Return a dataset card with its metadata.

    Args:
        languages: the codes of the languages of the texts, such as ``en-us``.
    """
    manifest = read_manifest(dataset.path)
    # Nothing of the corpus is put into the text unescaped: names of folders and speakers may have any characters.
    title = dataset.path.name
    metadata = _metadata(title, len(dataset), languages, licence)
    return "\n".join(["---", *metadata, "---", "", f"# {_plain(title)}", "", *_body(dataset, manifest, licence)]) + "\n"


def _metadata(title: str, n_rows: int, languages: Collection[str], licence: Licence) -> list[str]:
    codes = sorted({code for text in languages if _LANGUAGE.fullmatch(code := text.lower().partition("-")[0])})
    # Quoted, because YAML takes a bare `no`, Norwegian, for false.
    lines = ["language:", *(f"- {_quoted(code)}" for code in codes)] if codes else []
    if names := licence.identifiers:
        lines += (
            ["license:", *(f"- {_quoted(name)}" for name in names)] if names[1:] else [f"license: {_quoted(names[0])}"]
        )
    if licence.file:
        lines += [f"license_name: {_quoted('other')}", f"license_link: {_quoted('LICENSE')}"]
    return [
        *lines,
        f"pretty_name: {_quoted(title)}",
        "task_categories:",
        "- text-to-speech",
        "size_categories:",
        f"- {_quoted(size_category(n_rows))}",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        "    path: data/train-*.parquet",
    ]


def size_category(n_rows: int) -> str:
    """Return the Hub's category for a number of rows."""
    return next((name for power, name in enumerate(_SIZES, 3) if n_rows < 10**power), "n>1B")


def _body(dataset: UtteranceDataset, manifest: Manifest, licence: Licence) -> list[str]:
    audio, text = (_mapping(manifest.configuration.get(name)) for name in ("audio", "text"))
    hop, window, low, high = (_plain(audio.get(name)) for name in ("hop_length", "win_length", "fmin", "fmax"))
    hours = Record(f"{dataset.path / MANIFEST}: totals", {"seconds": 0, **manifest.totals}).number("seconds", 0) / 3600
    made_by = ", ".join(f"{name} {version}" for name, version in manifest.software.items())
    recordings = "with recordings" if dataset.metadata.has_waveform else "without recordings"
    conditions = [f"`{name}`" if name != "other" else "See the file `LICENSE`." for name in licence.identifiers] or [
        "No licence was named. Name that of the recordings and texts before this is published."
    ]
    return [
        f"Utterances: {len(dataset):,}; hours: {hours:.2f}; speakers: {len(manifest.speakers):,}; {recordings}.",
        "Made for training text-to-speech.",
        "",
        "## Columns",
        "",
        f"- `mel`: frames of {dataset.n_mels} bins, {_plain(audio.get('sample_rate'))} Hz, n_fft "
        f"{_plain(audio.get('n_fft'))}, window {window}, hop {hop}, {low} to {high} Hz"
        if dataset.n_mels
        else "- no mels",
        f"- `phonemes`, `phoneme_text`: of the frontend {_plain(text.get('frontend'))}, language "
        f"{_plain(text.get('language'))}",
        *[
            f"- `{new}`: {spec.dtype}, lists for each {f'of {spec.rate:g} per second' if spec.rate else spec.axis}"
            for name, new in added_arrays(dataset, _ARRAYS).items()
            for spec in [dataset.arrays[name]]
        ],
        "- `audio`: the recording as it was used for the mel, where the dataset has recordings",
        "- `id`, `text`, `speaker`, and the columns of the corpus",
        "",
        "```python",
        "import datasets",
        "",
        'dataset = datasets.load_dataset("USER/NAME", split="train")',
        "```",
        "",
        "## How it was made",
        "",
        *([f"Recordings and texts: {_plain(dataset.metadata.origin)}", ""] if dataset.metadata.origin else []),
        f"By tts-prep, from a store with the fingerprint `{_plain(manifest.fingerprint)}`.",
        f"Computed by {_plain(made_by)}.",
        f"Settings: `{_plain(json.dumps(dict(audio), sort_keys=True))}`.",
        "",
        "## Licence",
        "",
        " ".join(conditions),
        *_rights(dataset),
    ]


def _rights(dataset: UtteranceDataset) -> Iterator[str]:
    """Yield what is said of rows: licences, consents and origins by the time that they cover, and those of models."""
    for name in (name for name in RIGHTS if name in dataset.columns):
        found: dict[str, list[float]] = {}
        of_store = {"license": dataset.metadata.licence, "origin": dataset.metadata.origin}.get(name) or ""
        for value, seconds in zip(dataset.column(name), np.asarray(dataset.seconds).tolist(), strict=True):
            found.setdefault(str(value) or of_store, []).append(seconds)
        yield from ("", f"| {name} | utterances | hours |", "| --- | --- | --- |")
        for value in sorted(found, key=lambda value: (-sum(found[value]), value))[:_MAX_ROWS]:
            shown, seconds = _plain(value).replace("|", "/") or "not said", found[value]
            yield f"| {shown} | {len(seconds):,} | {sum(seconds) / 3600:.2f} |"
        if len(found) > _MAX_ROWS:
            yield f"| {len(found) - _MAX_ROWS:,} more | | |"
    models: dict[str, list[str]] = {}
    for name, spec in dataset.arrays.items():
        if licence := _mapping(spec.settings.get("model")).get("license"):
            models.setdefault(str(licence), []).append(f"`{name}`")
    if models:
        yield ""
    yield from (f"- {', '.join(names)}: made by a model under {_plain(of)}" for of, names in models.items())


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _quoted(text: str) -> str:
    """Return a text as a string of YAML, in one line."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'


def _plain(value: object) -> str:
    """Return a value of the store for Markdown, in one line and without marks that end code or start HTML."""
    text = "".join(c if c.isprintable() else " " for c in str(value))
    return text.replace("`", "'").replace("<", "&lt;").replace("[", "(").replace("]", ")")


_GROUP_BYTES = 200_000_000
"""The size in memory of a row group, the smallest unit that a reader can read. The Hub recommends 100 to 300 MB, and
its viewer refuses more."""

_FILE_GROUPS = 3
_ARRAYS = ("phonemes", "mel", "audio")


def export_parquet(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``data/train-00000.parquet`` and so on, with row groups of about 200 MB.

    ``README.md`` is the card of the dataset, ``croissant.json`` the same for other tools than the Hub's, and
    ``LICENSE`` its licence, unless the card names it.

    Columns are ``id``, ``text``, ``phoneme_text``, ``speaker``, ``phonemes`` (list of int32), ``mel`` (list of lists of
    float32, one per frame), the additional columns of the corpus, ``language`` and, if the store has waveforms,
    ``audio``, a struct of ``bytes`` (WAV) and ``path``. The metadata of the schema make it an ``Audio`` of Hugging Face
    ``datasets``. Arrays of the store are lists, or lists of lists, and null where a value is missing.

    Raises:
        MissingPackageError: pyarrow is not installed.
    """
    pa = import_pyarrow("parquet files")
    languages: set[str] = set()
    rows = (_row_values(row, dataset.sample_rate, languages) for row in export_rows(dataset, _ARRAYS))
    schema = _schema(pa, dataset)
    write_files(folder, schema, rows)
    licence = Licence.of(dataset, folder.licence)
    folder.write("README.md", dataset_card(dataset, languages, licence))
    about = dataset.metadata.origin or "Recordings and texts for text-to-speech."
    folder.write("croissant.json", croissant(dataset.path.name, about, licence.texts, folder, schema))
    if licence.file:
        folder.write("LICENSE", licence.file)


def import_pyarrow(files: str) -> Any:
    """Return pyarrow, or raise a `MissingPackageError` that says which files need it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"{files} need pyarrow, which is not installed: pip install 'tts-prep[parquet]'"
        ) from error
    return pa


def write_files(folder: ExportFolder, schema: Any, rows: Iterator[dict[str, Any]]) -> None:
    """Write ``data/train-00000.parquet`` and so on, and the metadata with which ``datasets`` reads them."""
    pa = import_pyarrow("parquet files")
    groups = _groups(rows)
    number = 0
    while first := next(groups, None):
        path = folder.file(f"data/train-{number:05d}.parquet")
        with pa.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for group in chain([first], islice(groups, _FILE_GROUPS - 1)):
                writer.write_table(pa.Table.from_pylist(group, schema), row_group_size=len(group))
        number += 1


def _groups(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of row groups."""
    group: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        of_row = sum(map(_size, row.values()))
        if group and size + of_row > _GROUP_BYTES:
            yield group
            group, size = [], 0
        group.append(row)
        size += of_row
    if group:
        yield group


def _size(value: Any) -> int:
    """Return about the size of a value in memory."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, Mapping | list):
        return sum(map(_size, value.values() if isinstance(value, Mapping) else value))
    return len(value) if isinstance(value, bytes) else len(value.encode()) if isinstance(value, str) else 8


def list_type(pa: Any, spec: ArraySpec) -> Any:
    """Return the type of the values of an array: lists of numbers, or of lists of as many as a row has."""
    found = pa.from_numpy_dtype(np.dtype(spec.dtype))
    for length in reversed(spec.row_shape):
        found = pa.list_(found, length)
    return found if spec.axis == "utterance" else pa.list_(found)


def lists_of(values: npt.NDArray[Any]) -> Any:
    """Return an array as the lists that pyarrow takes."""
    return values if values.ndim == 1 else [lists_of(one) for one in values] if values.ndim else values.item()


def _schema(pa: Any, dataset: UtteranceDataset) -> Any:
    fields = [(name, pa.string()) for name in ("id", "text", "phoneme_text", "speaker")]
    meta = dataset[0].meta
    for column, name in corpus_columns(dataset, _ARRAYS).items():
        # That of languages can be one of numbers, but `language` also has that of the store.
        is_number = isinstance(meta[column], float) and name != "language"
        fields.append((name, pa.float64() if is_number else pa.string()))
    if "language" not in meta and language_of_texts(dataset):
        fields.append(("language", pa.string()))
    fields.append(("phonemes", pa.list_(pa.int32())))
    if dataset.n_mels:
        fields.append(("mel", pa.list_(pa.list_(pa.float32(), dataset.n_mels))))
    if dataset.metadata.has_waveform:
        fields.append(("audio", pa.struct([("bytes", pa.binary()), ("path", pa.string())])))
    fields += [(new, list_type(pa, dataset.arrays[name])) for name, new in added_arrays(dataset, _ARRAYS).items()]
    return with_features(pa, dataset, fields)


def with_features(pa: Any, dataset: UtteranceDataset, fields: list[tuple[str, Any]]) -> Any:
    """Return the schema of fields, with the features of Hugging Face's ``datasets`` in its metadata."""
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
    names = {"double": "float64", "float": "float32", "halffloat": "float16"}
    return {"dtype": names.get(str(field.type), str(field.type)), "_type": "Value"}


def _row_values(row: ExportRow, sample_rate: int, languages: set[str]) -> dict[str, Any]:
    """Return the values of a row, and add the language of its text."""
    utterance = row.utterance
    languages.add(row.language)
    values = {
        "id": utterance.id,
        "text": utterance.text,
        "phoneme_text": utterance.phoneme_text,
        "speaker": utterance.speaker,
        **row.meta,
        **({"language": row.language} if row.language else {}),
        "phonemes": utterance.phonemes,
        **({"mel": list(utterance.mel)} if utterance.store.n_mels else {}),
        **{name: lists_of(array) for name, array in row.arrays.items()},
    }
    if utterance.waveform is not None:
        values["audio"] = {"bytes": wav_bytes(utterance.waveform, sample_rate), "path": f"{row.name}.wav"}
    return values


_PARQUET: Final = {"encodingFormat": "application/x-parquet"}
_TYPES: Final = {"string": "sc:Text", "double": "sc:Float", "float": "sc:Float", "halffloat": "sc:Float"}


def croissant(name: str, about: str, licences: Sequence[str], folder: ExportFolder, schema: Any) -> str:
    """Return the metadata of an export's parquet files as JSON-LD.

    Lists of lists, such as mels, are left out: the format has no place for them.

    Args:
        name, about: the name of the dataset, and where it comes from.
        licences: identifiers or texts.
        schema: that of the files, by pyarrow.
    """
    template = json.loads(importlib.resources.files(__package__).joinpath("croissant.json").read_text("utf-8"))
    files = [
        {"@type": "cr:FileObject", "@id": file, "name": file, "contentUrl": file, **_PARQUET}
        | {"sha256": file_sha256(folder.path / file)}
        for file in folder.files
        if file.endswith(".parquet")
    ]
    of_all = {"@type": "cr:FileSet", "@id": "parquet-files", **_PARQUET, "includes": "data/train-*.parquet"}
    fields = [*_fields(schema, template.pop("descriptions"))]
    record = {
        **template,
        "name": name,
        "description": about,
        "distribution": [*files, of_all],
        **({"license": licences[0] if len(licences) == 1 else list(licences)} if licences else {}),
        "recordSet": [{"@type": "cr:RecordSet", "@id": "train", "name": "train", "field": fields}],
    }
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def _fields(schema: Any, descriptions: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the columns that the format has a type for."""
    for column in schema:
        source: dict[str, Any] = {"fileSet": {"@id": "parquet-files"}, "extract": {"column": column.name}}
        field = {"@type": "cr:Field", "@id": f"train/{column.name}", "name": column.name, "source": source}
        field |= {"description": descriptions[column.name]} if column.name in descriptions else {}
        is_list = hasattr(column.type, "value_type")
        kind = str(column.type.value_type if is_list else column.type)
        if column.name == "audio":
            source["transform"] = {"jsonPath": "bytes"}
            yield {**field, "dataType": "sc:AudioObject"}
        elif kind.startswith(("int", "uint")) or kind in _TYPES:
            yield {**field, "dataType": _TYPES.get(kind, "sc:Integer"), **({"repeated": True} if is_list else {})}
