"""Sorted files of ``id value`` lines: the data folders of Kaldi and ESPnet, and SpeeChain's tables."""

import os
import re
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.export.layout import ExportFolder
from tts_prep.export.rows import ExportRow, export_rows, int16, require_waveforms, unique_names, wav_bytes
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.loader import UtteranceDataset
from tts_prep.loader.dataset.columns import CategoryValues, TextValues
from tts_prep.recipes.kaldi_files import WAVEFORM, store_entry

_FORBIDDEN = re.compile(r"(?<!\w)(?:<s>|</s>|#0)(?!\w)", re.ASCII)
"""What Kaldi's ``validate_data_dir.sh`` refuses in a text: the symbols of its language models."""

_TABLES = ("dur", "lang", "num_frames", "num_samples", "spk", "uniq", "warp")
"""What ``utt2…`` is a table of Kaldi's."""


def export_espnet(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``wav.scp``, ``text``, ``utt2spk``, ``spk2utt``, ``utt2lang`` and ``wavs/``.

    ``phn_text`` has the phonemes, ``utt2num_samples`` the lengths of recordings. See `_DataFolder` for the ids.

    Raises:
        ConfigurationError: the store has no waveforms.
    """
    require_waveforms(dataset, "ESPnet")
    data = _DataFolder(dataset, folder)
    for row in export_rows(dataset):
        waveform = row.utterance.waveform
        assert waveform is not None
        name = data.add(row, row.utterance.text)
        data.add_recording(name, row, waveform)
    data.write()


def export_kaldi(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write a data folder that Kaldi's ``validate_data_dir.sh`` accepts.

    ``feats.ark`` has the mels, float32 matrices, and ``feats.scp`` their places; ``wav.scp`` and ``wavs/`` recordings
    of 16 bits, if the store has waveforms. Tables are ``text``, ``phn_text``, ``utt2spk``, ``spk2utt``,
    ``utt2lang``, ``utt2num_frames``, ``utt2dur``, and ``utt2COLUMN`` for each column of the corpus. Texts lose
    characters that do not print, and the words ``<s>``, ``</s>`` and ``#0``, which Kaldi refuses. See `_DataFolder` for
    the ids.
    """
    data = _DataFolder(dataset, folder)
    place = folder.place / "feats.ark"
    with folder.file("feats.ark").open("wb") as ark:
        for row in export_rows(dataset, _TABLES):
            utterance = row.utterance
            name = data.add(row, _FORBIDDEN.sub("", _printable(utterance.text)))
            data.tables["feats.scp"][name] = f"{place}:{_write_matrix(ark, name, utterance.mel)}"
            data.tables["utt2num_frames"][name] = str(len(utterance.mel))
            data.tables["utt2dur"][name] = repr(utterance.seconds)
            data.add_columns(name, row)
            if utterance.waveform is not None:
                data.add_recording(name, row, int16(utterance.waveform))
    data.write()


class _DataFolder:
    """The tables of a data folder.

    Kaldi's tools require that lines sorted by utterance are sorted by speaker too, in bytes. Therefore utterance ids
    start with the name of the speaker and ``-``: with ``_``, those of a speaker 103 would follow those of 1034. In the
    names of speakers, characters other than letters, digits, ``_`` and ``.`` become ``_``: with ``-``, those of anna
    would follow those of anna-2.
    """

    def __init__(self, dataset: UtteranceDataset, folder: ExportFolder) -> None:
        names = (speaker.replace("-", "_") for speaker in dataset.speakers)
        self._speakers = dict(zip(dataset.speakers, unique_names(names), strict=True))
        self._sample_rate = dataset.sample_rate
        self._folder = folder
        self.tables: dict[str, dict[str, str]] = defaultdict(dict)

    def add(self, row: ExportRow, text: str) -> str:
        """Add an utterance with its texts, and return its id."""
        speaker = self._speakers[row.utterance.speaker]
        name = row.name if row.name.startswith(f"{speaker}-") else f"{speaker}-{row.name}"
        # Of "1" and "anna-1" of the speaker anna, both would be "anna-1".
        while name in self.tables["utt2spk"]:
            name = f"{speaker}-{name}"
        self.tables["utt2spk"][name] = speaker
        if row.language:
            self.tables["utt2lang"][name] = row.language
        # Kaldi's scripts reject lines without text. A store without texts has no such file.
        for file, value in (("text", text), ("phn_text", row.utterance.phoneme_text)):
            if value.strip():
                self.tables[file][name] = " ".join(value.split())
        return name

    def add_columns(self, name: str, row: ExportRow) -> None:
        """Add the values of the columns of the corpus, but for languages, which have a table of their own."""
        for column, value in row.meta.items():
            if column != "language" and (text := " ".join(str(value).split())):
                self.tables[f"utt2{column}"][name] = text

    def add_recording(self, name: str, row: ExportRow, samples: npt.NDArray[np.generic]) -> None:
        """Write the recording of an utterance, [n_samples] int16 or float32."""
        path = self._folder.write(f"wavs/{row.name}.wav", wav_bytes(samples, self._sample_rate))
        self.tables["wav.scp"][name] = str(path)
        self.tables["utt2num_samples"][name] = str(len(samples))

    def write(self) -> None:
        """Write the tables, sorted in bytes as ``LC_ALL=C sort`` does."""
        speakers: dict[str, list[str]] = defaultdict(list)
        for name, speaker in self.tables["utt2spk"].items():
            speakers[speaker].append(name)
        self.tables["spk2utt"] = {
            speaker: " ".join(sorted(names, key=str.encode)) for speaker, names in speakers.items()
        }
        for file, values in self.tables.items():
            lines = sorted((f"{name} {value}\n" for name, value in values.items()), key=str.encode)
            self._folder.write(file, "".join(lines))


def _write_matrix(ark: BinaryIO, name: str, mel: npt.NDArray[np.floating]) -> int:
    """Append a binary matrix of Kaldi, [n_frames, n_mels], and return the offset of the byte behind its key.

    The format is that of ``Matrix<float>::Write`` in Kaldi's ``kaldi-matrix.cc``.
    """
    ark.write(f"{name} ".encode())
    offset = ark.tell()
    ark.write(b"\0BFM " + struct.pack("<bibi", 4, mel.shape[0], 4, mel.shape[1]))
    ark.write(np.ascontiguousarray(mel, "<f4").tobytes())
    return offset


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable() or character.isspace())


_NAMES = {"speaker": "spk", "gender": "gen"}


def export_speechain(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write the files of SpeeChain's recipes without arrays.

    Lines are sorted by id. The path of the store is relative to the folder, so that both can be moved together. A
    column whose file would have the name of another file, such as ``feat_len``, gets ``idx2corpus_feat_len``.

    Raises:
        ConfigurationError: an id contains white space.
    """
    ids = list(dataset.id)
    for uid in ids:
        if not uid or any(character.isspace() for character in uid):
            raise ConfigurationError(
                f"{dataset.path}: the id {uid!r} contains white space, which files of 'id value' lines do not allow"
            )
    base = Path(os.path.relpath(dataset.path, folder.place))
    entries = [store_entry(base, row) for row in range(len(ids))]
    for name, values in _tables(dataset, entries).items():
        lines = sorted(zip(ids, values, strict=True))
        folder.write(name, "".join(f"{uid} {value}\n" for uid, value in lines))


def _tables(dataset: UtteranceDataset, entries: Sequence[str]) -> dict[str, Iterable[str]]:
    """Return the values of each file.

    Args:
        entries: the place of each mel in the store.
    """
    tables: dict[str, Iterable[str]] = {
        "idx2feat": entries,
        "idx2feat_len": (str(n) for n in dataset.n_frames.tolist()),
        "idx2text": (" ".join(text.split()) for text in dataset.text),
        "idx2phoneme_text": (" ".join(text.split()) for text in dataset.phoneme_text),
    }
    if dataset.metadata.has_waveform:
        tables["idx2wav"] = (entry + WAVEFORM for entry in entries)
        tables["idx2wav_len"] = (str(n) for n in dataset.n_samples.tolist())
    columns = [name for name in dataset.columns if name == "speaker" or name not in FIXED_COLUMNS]
    # The columns with names of SpeeChain first: a column "spk" may not take the name of the speakers' file.
    for name in sorted(columns, key=lambda name: name not in _NAMES):
        table = f"idx2{_NAMES.get(name, name)}"
        while table in tables:
            table = f"idx2corpus_{table.removeprefix('idx2')}"
        tables[table] = _values(dataset, name)
    return tables


def _values(dataset: UtteranceDataset, name: str) -> Iterator[str]:
    values = dataset.column(name)
    if isinstance(values, CategoryValues | TextValues):
        return (" ".join(value.split()) for value in values)
    return (str(value) for value in values)
