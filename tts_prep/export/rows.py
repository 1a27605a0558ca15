"""The rows of a store for export: valid file names, plain values, recordings as WAV."""

import io
import math
import re
import struct
import tarfile
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import NO_WAVEFORMS, ConfigurationError
from tts_prep.export.layout import ExportFolder
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import Utterance, UtteranceDataset

CODES: Final = "audio_codes"
"""The array of codes, if a store has several of integers."""

_UNSAFE = re.compile(r"[^\w.-]")


@dataclass(frozen=True)
class ExportRow:
    """A row of an export.

    Attributes:
        name: the unique stem of its files: letters, digits, ``_``, ``-`` and ``.``.
        utterance: the utterance.
        columns: the names of the additional columns in the export; see `corpus_columns`.
        names_of_arrays: those of the added arrays in the export; see `added_arrays`.
        language: the code of the language of its text; empty if it is unknown, or texts are not spoken.
    """

    name: str
    utterance: Utterance
    columns: Mapping[str, str]
    names_of_arrays: Mapping[str, str]
    language: str = ""

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The values of the added arrays that the utterance has, by their names in the export."""
        of, meta, names = self.utterance.store.arrays, self.utterance.meta, self.names_of_arrays
        return {new: self.utterance.arrays[old] for old, new in names.items() if not meta.get(of[old].failures)}

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
    dataset: UtteranceDataset,
    written: Collection[str] = (),
    *,
    reserved: Collection[str] = (),
    dots: bool = True,
    max_bytes: int = 200,
) -> Iterator[ExportRow]:
    """Yield the rows of a dataset in order, with names that differ.

    Args:
        written: the columns that the layout itself writes; see `corpus_columns`.
        reserved: further names that arrays cannot have.
        dots: whether a name can have ``.``.
        max_bytes: the maximum length of a name in UTF-8.
    """
    names = unique_names(dataset.id, dots=dots, max_bytes=max_bytes)
    columns, arrays = corpus_columns(dataset, written), added_arrays(dataset, {*written, *reserved})
    default = language_of_texts(dataset)
    for name, utterance in zip(names, dataset, strict=True):
        yield ExportRow(name, utterance, columns, arrays, str(utterance.meta.get("language") or default))


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
    return _free_names([name for name in dataset[0].meta if name not in of_arrays], written)


def added_arrays(dataset: UtteranceDataset, written: Collection[str] = ()) -> dict[str, str]:
    """Return array → name in the export, for the added arrays of a dataset; see `corpus_columns`."""
    taken = {*written, "id", "text", "speaker", *corpus_columns(dataset, written).values()}
    return _free_names([name for name, spec in dataset.arrays.items() if spec.added], taken)


def _free_names(given: Collection[str], written: Collection[str]) -> dict[str, str]:
    names = {}
    for one in given:
        name = one
        while name in written or (name != one and name in given):
            name = f"corpus_{name}"
        names[one] = name
    return names


def having(dataset: UtteranceDataset, folder: ExportFolder, *arrays: str) -> UtteranceDataset:
    """Return the utterances that have values of all of these arrays, which are exported; a line counts the others.

    Raises:
        ConfigurationError: no utterance has them.
    """
    folder.carried.update(arrays)
    found, what = dataset.having(*arrays), " and ".join(arrays)
    if not len(found):
        raise ConfigurationError(f"{dataset.path}: no utterance has {what}; there is nothing to export")
    if left_out := len(dataset) - len(found):
        folder.report(f"{left_out:,} of {len(dataset):,} utterances left out: without {what}")
    return found


def require_array(dataset: UtteranceDataset, system: str, name: str, axis: str, kinds: str, ndim: int | None) -> str:
    """Return the name of an array, or raise a `ConfigurationError` if a store has none with these properties.

    Args:
        kinds: those of its dtype: ``iu`` or ``f``.
        ndim: the number of axes of a row; None allows any.
    """
    spec = dataset.arrays.get(name)
    fits = spec and spec.axis == axis and spec.numpy_dtype.kind in kinds
    if not fits or ndim not in (None, len(spec.row_shape if spec else ())):
        one = {None: "", 0: ", one each", 1: ", a vector each"}[ndim]
        raise ConfigurationError(
            f"{dataset.path}: {system} needs the array '{name}', {'integers' if 'i' in kinds else 'floats'} with the "
            f"axis '{axis}'{one}; add it by 'tts-prep add {dataset.path} --feature MODULE:CLASS' or "
            f"--array {name}@{axis}=PATH"
        )
    return name


def find_codes(dataset: UtteranceDataset, system: str, n_codebooks: int | None = None, *, needed: bool = True) -> str:
    """Return the array of codes, integers with a length of their own; empty if the store has none and needs none.

    Raises:
        ConfigurationError: there is none, or with another number of codebooks; or several arrays can be the codes, and
            none is called ``audio_codes``.
    """
    found = [name for name, spec in dataset.arrays.items() if spec.axis == "own" and spec.numpy_dtype.kind in "iu"]
    if len(found) > 1 and CODES not in found:
        raise ConfigurationError(
            f"{dataset.path}: {', '.join(sorted(found))} can be the {CODES} of {system}; 'tts-prep remove "
            f"{dataset.path} --array NAME' removes the others"
        )
    name = CODES if CODES in found or not found else found[0]
    if name not in found:
        return require_array(dataset, system, CODES, "own", "iu", None) if needed else ""
    if n_codebooks not in (None, n := math.prod(dataset.arrays[name].row_shape)):
        raise ConfigurationError(
            f"{dataset.path}: {system} needs codebooks: {n_codebooks}, and {name} has {n}; remove it, and add one "
            f"of that size: tts-prep remove {dataset.path} --array {name}"
        )
    return name


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


def int16(waveform: npt.NDArray[np.generic]) -> npt.NDArray[np.int16]:
    """Return a waveform, [n_samples] int16 or float32, as int16."""
    if waveform.dtype == np.int16:
        return waveform.astype(np.int16, copy=False)
    return np.clip(np.rint(waveform.astype(np.float64) * 32_768), -32_768, 32_767).astype(np.int16)


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


def add_member(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    """Append a file to a tar archive, without a time and an owner."""
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def npy_bytes(values: npt.NDArray[Any]) -> bytes:
    """Return an array as the bytes of a ``.npy`` file."""
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()
