"""The rows of a store for export: valid file names, plain values, recordings as WAV."""

from __future__ import annotations

import io
import math
import re
import struct
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import NO_WAVEFORMS, ConfigurationError
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import Utterance, UtteranceDataset

_UNSAFE = re.compile(r"[^\w.-]")


@dataclass(frozen=True)
class ExportRow:
    """A row of an export.

    Attributes:
        name: the unique stem of its files: letters, digits, ``_``, ``-`` and ``.``.
        utterance: the utterance.
        columns: the names of the additional columns in the export; see `corpus_columns`.
        language: the code of the language of its text; empty if it is unknown, or texts are not spoken.
    """

    name: str
    utterance: Utterance
    columns: Mapping[str, str]
    language: str = ""

    @property
    def meta(self) -> dict[str, Any]:
        """The additional columns that have values."""
        values = ((self.columns[name], self.utterance.meta[name]) for name in self.columns)
        return {name: value for name, value in values if value != "" and not _is_nan(value)}

    @property
    def json_meta(self) -> dict[str, Any]:
        """The additional columns that have values, as JSON holds them: infinite numbers are the texts inf and -inf."""
        return {
            name: str(value) if isinstance(value, float) and math.isinf(value) else value
            for name, value in self.meta.items()
        }


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _file_name(text: str) -> str:
    """Return a text with ``_`` for all characters but letters, digits, ``_``, ``-`` and ``.``."""
    return _UNSAFE.sub("_", text).lstrip(".") or "_"


def export_rows(
    dataset: UtteranceDataset, written: Collection[str] = (), *, dots: bool = True, max_bytes: int = 200
) -> Iterator[ExportRow]:
    """Yield the rows of a dataset in order, with names that differ.

    Args:
        written: the columns that the layout itself writes; see `corpus_columns`.
        dots: whether a name can have ``.``.
        max_bytes: the maximum length of a name in UTF-8.
    """
    names = unique_names(dataset.id, dots=dots, max_bytes=max_bytes)
    columns = corpus_columns(dataset, written)
    default = language_of_texts(dataset)
    for name, utterance in zip(names, dataset, strict=True):
        yield ExportRow(name, utterance, columns, str(utterance.meta.get("language") or default))


def language_of_texts(dataset: UtteranceDataset) -> str:
    """Return the language of texts without a language of their own; empty if texts are not spoken."""
    text = read_manifest(dataset.path).configuration.get("text")
    if not isinstance(text, dict) or text.get("frontend") == "none":
        return ""
    language = text.get("language")
    return language if isinstance(language, str) else ""


def corpus_columns(dataset: UtteranceDataset, written: Collection[str]) -> dict[str, str]:
    """Return column → name in the export, for the additional columns of a dataset.

    ``corpus_`` precedes the name of a column that the layout itself writes. What says where values of an array are in
    the store, and which utterances have none, is no column of an export, which does not have the array.
    """
    of_arrays = {name for spec in dataset.arrays.values() for name in (*spec.own_columns, spec.failures)}
    columns = [name for name in dataset[0].meta if name not in of_arrays]
    names = {}
    for column in columns:
        name = column
        while name in written or (name != column and name in columns):
            name = f"corpus_{name}"
        names[column] = name
    return names


def unique_names(texts: Iterable[str], *, dots: bool = True, max_bytes: int = 200) -> Iterator[str]:
    """Yield names for the files of texts, as `export_rows` does.

    They differ on disks, too, for which upper and lower case are equal, and all Unicode forms of a character.
    """
    seen: set[str] = set()
    for position, text in enumerate(texts):
        # Ids may contain paths; no file may be written outside the folder.
        stem = _file_name(text) if dots else _file_name(text).replace(".", "_")
        name, suffix = _shortened(stem, max_bytes), ""
        while (on_disk := _on_disk(name)) in seen:
            suffix += f"_{position}"
            name = _shortened(stem, max_bytes - len(suffix)) + suffix
        seen.add(on_disk)
        yield name


def _on_disk(name: str) -> str:
    """Return what is equal for all names that are one file on some disks."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _shortened(text: str, max_bytes: int) -> str:
    return text.encode()[:max_bytes].decode(errors="ignore")


def require_waveforms(dataset: UtteranceDataset, system: str) -> None:
    """Raise a `ConfigurationError` if a store has no waveforms."""
    if not dataset.metadata.has_waveform:
        raise ConfigurationError(f"{dataset.path}: {system} needs waveforms, and {NO_WAVEFORMS}")


def wav_bytes(samples: npt.NDArray[Any], sample_rate: int) -> bytes:
    """Return a mono WAV file of 16-bit integers or 32-bit floats, depending on the dtype of the samples.

    Args:
        samples: [n_samples] int16 or float32.
    """
    is_float = samples.dtype.kind == "f"
    width = 4 if is_float else 2
    data = samples.astype("<f4" if is_float else "<i2", copy=False).tobytes()
    # Float formats require a chunk 'fact' with the number of samples.
    kind = struct.pack("<HHIIHH", 3 if is_float else 1, 1, sample_rate, sample_rate * width, width, 8 * width)
    chunks = [(b"fmt ", kind), *([(b"fact", struct.pack("<I", len(samples)))] if is_float else []), (b"data", data)]
    body = b"".join(name + struct.pack("<I", len(content)) + content for name, content in chunks)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


def npy_bytes(values: npt.NDArray[Any]) -> bytes:
    """Return an array as the bytes of a ``.npy`` file."""
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()
