"""StyleTTS2's loader, with its signature and its batches of eight fields, reading a store instead of wav files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.batches.epoch_draws import EpochDraws
from tts_prep.errors import ConfigurationError, one_line
from tts_prep.format.files.checksums import json_sha256
from tts_prep.loader.batching.padding import pad_sequences
from tts_prep.loader.batching.tensors import to_tensors
from tts_prep.loader.dataloader import DataLoader
from tts_prep.loader.dataset.identity import stores_of
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.randomness import check_seed, digest
from tts_prep.recipes.accepted import STYLETTS2, Lack, Settings, as_read, check_store
from tts_prep.recipes.stores import Missing, RandomExamples, absence, dataset_of, ood_texts, read_lines

_REFERENCE, _CROP, _TEXT = range(3)
MAX_MEL_LENGTH = 192
"""The maximum number of frames of a reference mel."""

OOD_FILE = "Data/OOD_texts.txt"
"""The path of StyleTTS2's out-of-domain texts."""


class FilePathDataset(RandomExamples):
    """The utterances of a file list, each with a random reference utterance of its speaker and an out-of-domain text.

    An example is ``(speaker, mel [80, T], text [L], ref_text [M], ref_mel [80, up to 192], ref_speaker, path,
    wave [samples])``. Random choices are a pure function of seed, epoch and position.

    Args:
        data_list: lines ``wav|phonemes|speaker``; the speaker is optional and defaults to 0. The file name without
            extension is the id in the store. If the phoneme field is empty, the phonemes of the store are used. None
            uses all utterances of the store.
        root_path: the store, or a chain of several.
        OOD_data: out-of-domain texts: a text file, a list of texts, or a list of arrays of ids. If the first field of
            the file's first line names a .wav file, the text is field 1 of every line, else field 0. None uses the
            texts of the store, and so does the default if the file does not exist.
        min_length: the minimum length of an out-of-domain text, in characters or ids.
        validation: has no effect on the examples, as in StyleTTS2.
        waveform: False returns None for every wave, for a store without waveforms.
        seed: a non-negative integer.
        sr: ignored, as in StyleTTS2, which always resamples to 24,000 Hz.
        data_augmentation: ignored, as in StyleTTS2, which does not augment.
        settings: ``"preset"`` requires a store with all settings of the preset ``styletts2`` and its symbols; ``"any"``
            accepts every store.
        missing: ``"leave_out"`` leaves out lines whose utterances are not in the store, and `left_out` has them.

    Raises:
        ConfigurationError: a line is malformed, names an utterance that is not in the store, or has a symbol that is
            not in the vocabulary; an out-of-domain text has other ids, or none is long enough; the store
            has other settings, or no waveforms.
    """

    def __init__(
        self,
        data_list: Iterable[str] | None,
        root_path: Any,
        OOD_data: Any = OOD_FILE,  # noqa: N803
        min_length: int = 50,
        validation: bool = False,
        waveform: bool = True,
        seed: int = 0,
        sr: int = 24_000,
        data_augmentation: bool = False,
        settings: Settings = "preset",
        missing: Missing = "error",
    ) -> None:
        del data_augmentation
        self.store = dataset_of(root_path)
        self._own_texts = [] if _is_given(OOD_data) else [text.phonemes for text in ood_texts(self.store)]
        lacks = []
        if not _is_given(OOD_data) and not self._own_texts:
            lacks.append(Lack("it has no out-of-domain texts", ("--ood-texts FILE",)))
        for one in stores_of(self.store):
            check_store(STYLETTS2, one, settings=settings, lacks=lacks, without=() if waveform else ("waveform",))
        self.validation = validation
        self.waveform = waveform
        self.sr = sr
        self._draws = EpochDraws(check_seed(seed))
        self._symbols, self._pad = stores_of(self.store)[0].symbols, stores_of(self.store)[0].pad_id
        self._code = {symbol: code for code, symbol in enumerate(self._symbols)}
        self._listed = data_list is not None
        self._read_list(data_list, missing)
        self.ptexts = self._read_texts(OOD_data, min_length)

    def _read_list(self, data_list: Iterable[str] | None, missing: Missing) -> None:
        self.data_list: list[tuple[str, str, str]] = []
        rows: list[int] = []
        ids = list(self.store.id)
        if data_list is None:
            self.data_list += [(uid, "", name) for uid, name in zip(ids, self.store.speaker, strict=True)]
            rows += range(len(self.store))
        row_of = {uid: row for row, uid in enumerate(ids)}
        absent: list[PurePath] = []
        for number, line in enumerate(data_list or (), 1):
            if not line.strip():
                continue
            fields = line.strip().split("|")
            if len(fields) not in (2, 3):
                raise ConfigurationError(
                    f"file list, line {number}: expected wav|phonemes|speaker, found {len(fields)} fields"
                )
            path, text, speaker = (*fields, "0")[:3]
            name = PurePath(path)
            row = next((row_of[uid] for uid in (path, name.name, name.stem) if uid in row_of), None)
            if row is None:
                absent.append(name)
                continue
            self.data_list.append((path, text, speaker.strip()))
            rows.append(row)
        if self._listed and len(row_of) < len(ids):
            raise ConfigurationError(
                f"root_path: {len(ids) - len(row_of):,} ids are in several stores of the chain, so that a file list "
                "does not say which of them is meant; pass None instead of the list"
            )
        if absent and (missing == "error" or not rows):
            raise ConfigurationError(absence(self.store, absent))
        self.left_out = [str(path) for path in absent]
        self.utterances = self.store[rows]
        if not self.data_list:
            raise ConfigurationError("the file list is empty")
        speakers = sorted({speaker for _, _, speaker in self.data_list})
        labels = {speaker: label for label, speaker in enumerate(speakers)}
        if all(speaker.isdecimal() and speaker.isascii() for speaker in speakers):
            labels = {speaker: int(speaker) for speaker in speakers}
        self._label = labels
        self._same_speaker: dict[str, list[int]] = {}
        for position, (_, _, speaker) in enumerate(self.data_list):
            self._same_speaker.setdefault(speaker, []).append(position)

    def _read_texts(self, source: Any, min_length: int) -> list[npt.NDArray[np.int64]]:
        where = "out-of-domain texts"
        texts: Sequence[Any] = source
        if self._own_texts:
            where = "out-of-domain texts of the store"
            texts = self._own_texts
        elif isinstance(source, str | Path):
            lines = read_lines(source, where)
            field = 1 if lines and ".wav" in lines[0].split("|")[0] else 0
            for number, line in enumerate(lines, 1):
                if line.count("|") < field:
                    raise ConfigurationError(f"{source}:{number}: expected a text after '|', found none")
            texts = [line.split("|")[field] for line in lines]
            where = str(source)
        encoded = [
            (self.encode if isinstance(text, str) else self._framed_ids)(text, f"{where}, line {number}")
            for number, text in enumerate(texts, 1)
            if len(text) >= min_length
        ]
        if not encoded:
            raise ConfigurationError(
                f"{where}: all texts are shorter than min_length = {min_length}; decrease it, or add longer texts"
            )
        return encoded

    def encode(self, text: str, where: str) -> npt.NDArray[np.int64]:
        """Return the ids of a text, with the pad id at both ends.

        Raises:
            ConfigurationError: a symbol is not in the store's vocabulary.
        """
        unknown = sorted({symbol for symbol in text if symbol not in self._code})
        if unknown:
            raise ConfigurationError(f"{where}: {unknown} are not in the vocabulary of {self.store}")
        return self._framed(np.array([self._code[symbol] for symbol in text], np.int64))

    def _framed_ids(self, text: Any, where: str) -> npt.NDArray[np.int64]:
        """Return ids that are given, with the pad id at both ends."""
        ids, n = np.asarray(text), len(self._symbols)
        if ids.ndim != 1 or (ids.size and (ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() >= n)):
            raise ConfigurationError(f"{where}: expected ids, integers from 0 to {n - 1}, found {one_line(str(text))}")
        return self._framed(ids)

    def _framed(self, ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        pad = self._pad
        inner = ids[1:-1] if len(ids) > 1 and ids[0] == ids[-1] == pad else ids
        return np.concatenate([[pad], inner, [pad]]).astype(np.int64)

    def __len__(self) -> int:
        return len(self.data_list)

    def _example(self, i: int, epoch: int | None) -> tuple[Any, ...]:
        path, text, speaker = self.data_list[i]
        utterance = self.utterances[i]
        mel = np.transpose(utterance.mel[: len(utterance.mel) - len(utterance.mel) % 2])
        ids = self.encode(text, f"file list, line {i + 1}") if text else self._framed(utterance.phonemes)
        words = self._draws.words(3, i, epoch)
        others = self._same_speaker[speaker]
        ref_mel = self.utterances[others[int(words[_REFERENCE]) % len(others)]].mel
        if len(ref_mel) > MAX_MEL_LENGTH:
            start = int(words[_CROP]) % (len(ref_mel) - MAX_MEL_LENGTH + 1)
            ref_mel = ref_mel[start : start + MAX_MEL_LENGTH]
        ref_text = self.ptexts[int(words[_TEXT]) % len(self.ptexts)]
        label = self._label[speaker] if self._listed else utterance.speaker_code
        return label, mel, ids, ref_text, np.transpose(ref_mel), label, path, self._wave(utterance)

    def _wave(self, utterance: Utterance) -> npt.NDArray[np.float32] | None:
        return utterance.audio if self.waveform else None

    def _bases(self) -> Sequence[Any]:
        return (self.utterances,)

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the stores; without speakers if these are those of a list."""
        return as_read(stores_of(self.store), ids=True) if self._listed else stores_of(self.store)

    def _over(self, change: Callable[[Any], Any]) -> FilePathDataset:
        dataset = copy(self)
        dataset.store, dataset.utterances = change(self.store), change(self.utterances)
        return dataset

    def _fingerprint_settings(self) -> dict[str, Any]:
        return {
            "seed": self._draws.seed,
            "lines": json_sha256([[text, speaker] for _, text, speaker in self.data_list]),
            "ood_texts": json_sha256([digest(text) for text in self.ptexts]),
            "waveform": self.waveform,
        }


def _is_given(source: Any) -> bool:
    """Return whether out-of-domain texts are given, other than StyleTTS2's default file, which may not be there."""
    return source is not None and not (isinstance(source, str) and source == OOD_FILE and not Path(source).exists())


class Collater:
    """Pad examples of `FilePathDataset`, the longest mel first.

    Args:
        return_wave: ignored, as in StyleTTS2: waves are always returned.
        output: ``"torch"`` tensors, or ``"numpy"`` arrays.
    """

    def __init__(self, return_wave: bool = False, output: str = "torch") -> None:
        self.text_pad_index = 0
        self.return_wave = return_wave
        if output not in ("torch", "numpy"):
            raise ConfigurationError(f"output: expected 'torch' or 'numpy', found {output!r}")
        self.output = output

    def __call__(self, batch: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return the batch of eight fields.

        ``(waves list, texts [B, L], input_lengths [B], ref_texts [B, M], ref_lengths [B], mels [B, 80, T],
        output_lengths [B], ref_mels [B, 80, 192])``
        """
        examples = sorted(batch, key=lambda example: -example[1].shape[1])
        texts, input_lengths = pad_sequences([example[2] for example in examples], self.text_pad_index, np.int64)
        ref_texts, ref_lengths = pad_sequences([example[3] for example in examples], self.text_pad_index, np.int64)
        n_mels = examples[0][1].shape[0]
        output_lengths = np.array([example[1].shape[1] for example in examples], np.int64)
        mels = np.zeros((len(examples), n_mels, int(output_lengths[0])), np.float32)
        ref_mels = np.zeros((len(examples), n_mels, MAX_MEL_LENGTH), np.float32)
        for row, ref_row, example in zip(mels, ref_mels, examples, strict=True):
            row[:, : example[1].shape[1]] = example[1]
            ref_row[:, : example[4].shape[1]] = example[4]
        waves = [example[7] for example in examples]
        arrays = texts, input_lengths, ref_texts, ref_lengths, mels, output_lengths, ref_mels
        return (waves, *(to_tensors(arrays) if self.output == "torch" else arrays))


def build_dataloader(
    path_list: Iterable[str] | None,
    root_path: Any,
    validation: bool = False,
    OOD_data: Any = OOD_FILE,  # noqa: N803
    min_length: int = 50,
    batch_size: int = 4,
    num_workers: int = 1,
    device: str = "cpu",
    collate_config: Mapping[str, Any] | None = None,
    dataset_config: Mapping[str, Any] | None = None,
) -> DataLoader[Any]:
    """Return StyleTTS2's loader. In training, it shuffles and drops a last, smaller batch.

    If a process group of ``torch.distributed`` is running, the batches are sharded among its ranks, so that nothing
    else must shard them: ``accelerator.prepare`` leaves this loader unchanged.

    Args:
        path_list: lines ``wav|phonemes|speaker``; None uses all utterances of the store.
        root_path: the store.
        validation: keep the order, and the last batch.
        OOD_data: out-of-domain texts, see `FilePathDataset`.
        min_length: the minimum length of an out-of-domain text.
        batch_size: utterances per batch.
        num_workers: the number of threads that make batches; 0 makes each batch on request.
        device: ignored: batches are in host memory.
        collate_config: settings of `Collater`.
        dataset_config: settings of `FilePathDataset`.

    Raises:
        ConfigurationError: see `FilePathDataset`.
    """
    del device
    dataset = FilePathDataset(
        path_list, root_path, OOD_data=OOD_data, min_length=min_length, validation=validation, **(dataset_config or {})
    )
    return DataLoader(
        dataset,
        batch_size,
        shuffle=not validation,
        drop_last=not validation,
        collate_fn=Collater(**(collate_config or {})),
        prefetch=2 * num_workers,
        threads=max(1, num_workers),
        rank="auto",
    )
