"""Matcha-TTS' dataset and collate function, reading a store instead of wav files.

In its ``data/text_mel_datamodule.py`` or your own module, import `TextMelDataset` and `TextMelBatchCollate` from
`tts_prep.recipes` instead of ``matcha.data.text_mel_datamodule``. The lines of the file lists are
``STORE/ID.wav|text`` or ``STORE/ID.wav|speaker|text``.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.format.blanks import with_blanks
from tts_prep.loader.batching.padding import pad_sequences, pad_spectrograms
from tts_prep.loader.batching.tensors import import_torch, to_tensors
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.quantities import count_text
from tts_prep.recipes.accepted import MATCHA, Lack, Settings
from tts_prep.recipes.stores import ListedExamples, ListedUtterances, Missing, read_npy, read_numbered_list
from tts_prep.recipes.vits import ids_without_blanks

_MULTIPLE = 4
"""The U-Net halves the number of frames twice."""


class TextMelDataset(ListedExamples):
    """Phoneme ids and normalized mels, as Matcha-TTS' ``TextMelDataset``.

    An example is a dict: ``x`` [L] int32 and ``y`` [n_mels, T] float32, tensors; ``spk``, an integer or None;
    ``filepath``; ``x_text``, the text form of the phonemes; ``durations`` [L] int64 or None.

    Args:
        filelist_path: ``STORE/ID.wav|text``, or with `n_spks` above 1 ``STORE/ID.wav|speaker|text``.
        n_spks: the number of speakers.
        cleaners: ignored: the store has the phonemes.
        add_blank: insert a 0 between all symbols and at both ends.
        n_fft: samples. This and the following settings up to `f_max` must equal those of the store.
        n_mels: mel bins.
        sample_rate: Hz.
        hop_length: samples.
        win_length: samples.
        f_min: Hz.
        f_max: Hz.
        data_parameters: ``mel_mean`` and ``mel_std``, numbers, for normalizing log-mels. A normalization by the preset
            of the store is reverted first.
        seed: the seed of the order, which is shuffled once; None shuffles differently every time, as in Matcha-TTS.
        load_durations: read durations from ``durations/ID.npy`` beside the store, as Matcha-TTS does beside the folder
            of recordings; without such a folder, the durations are those of the store, see `at_least_one_frame`.
        settings: ``"preset"`` requires a store with all settings of the preset ``matcha``, but for those given above
            and its mean and standard deviation, and with the symbols of Matcha-TTS; ``"any"`` accepts every store.
        missing: ``"leave_out"`` leaves out lines whose utterances are not in the store, and `utterances` names them.

    Raises:
        ConfigurationError: the list cannot be read, a speaker is not a number, the store has other settings, or
            durations are missing or differ in number from symbols, or an utterance has fewer frames than symbols.
    """

    def __init__(
        self,
        filelist_path: str | Path,
        n_spks: int,
        cleaners: Any,  # noqa: ARG002
        add_blank: bool = True,
        n_fft: int = 1024,
        n_mels: int = 80,
        sample_rate: int = 22050,
        hop_length: int = 256,
        win_length: int = 1024,
        f_min: float = 0.0,
        f_max: float = 8000,
        data_parameters: Mapping[str, float] | None = None,
        seed: int | None = None,
        load_durations: bool = False,
        *,
        settings: Settings = "preset",
        missing: Missing = "error",
    ) -> None:
        numbered = read_numbered_list(filelist_path)
        n_fields = 3 if n_spks > 1 else 2
        for number, line in numbered:
            if len(line) < n_fields:
                raise ConfigurationError(f"{filelist_path}:{number}: expected {n_fields} fields, found {len(line)}")
            if n_spks > 1 and not (line[1].isascii() and line[1].isdecimal()):
                raise ConfigurationError(f"{filelist_path}:{number}: expected a speaker number, found {line[1]!r}")
        lines = [line for _, line in numbered]
        random.Random(seed).shuffle(lines)
        self.n_spks = n_spks
        self.add_blank = add_blank
        self.load_durations = load_durations
        self.data_parameters = dict(data_parameters or {"mel_mean": 0, "mel_std": 1})
        self.utterances = ListedUtterances((line[0] for line in lines), missing)
        self.filepaths_and_text = [lines[position] for position in self.utterances.kept]
        given = {
            "sample_rate": sample_rate,
            "n_fft": n_fft,
            "win_length": win_length,
            "hop_length": hop_length,
            "n_mels": n_mels,
            "fmin": f_min,
            "fmax": f_max,
        }
        self.utterances.check(MATCHA, given, settings, lacks=self._lacks)
        if load_durations:
            self._check_frames()

    def _fingerprint_settings(self) -> dict[str, Any]:
        speakers = [line[1] for line in self.filepaths_and_text] if self.n_spks > 1 else []
        return {
            "add_blank": self.add_blank,
            "data_parameters": {name: float(value) for name, value in self.data_parameters.items()},
            "load_durations": self.load_durations,
            "speakers": speakers,
        }

    def _lacks(self, store: UtteranceDataset) -> Iterator[Lack]:
        if self.load_durations and "durations" not in store.arrays and not _folder(store.path).is_dir():
            phrase = f"it has no durations, and there is no folder {_folder(store.path)}"
            yield Lack(phrase, ("--feature durations",), added=True)

    def get_example(self, i: int) -> dict[str, Any]:
        """Return the example at a position."""
        line = self.filepaths_and_text[i]
        utterance = self.utterances[i]
        plain = ids_without_blanks(utterance)
        ids = with_blanks(plain.astype(np.int64), 0, "around") if self.add_blank else plain
        compression = utterance.store.audio_settings.get("compression", {})
        # mel = scale · log + offset in the store; y = (log − mean) / std.
        scale, offset = float(compression.get("scale", 1)), float(compression.get("offset", 0))
        mean, std = float(self.data_parameters["mel_mean"]), float(self.data_parameters["mel_std"])
        mel = utterance.mel.T
        if (scale, offset, mean, std) != (1, 0, 0, 1):
            mel = (mel - np.float32(offset + scale * mean)) * np.float32(1 / (scale * std))
        return {
            "x": to_tensors(ids.astype(np.int32)),
            "y": to_tensors(np.array(mel, np.float32, order="C")),
            "spk": int(line[1]) if self.n_spks > 1 else None,
            "filepath": line[0],
            "x_text": utterance.phoneme_text,
            "durations": self._durations(Path(line[0]), utterance, len(ids)) if self.load_durations else None,
        }

    def _durations(self, path: Path, utterance: Utterance, n: int) -> Any:
        folder = _folder(path.parent)
        if "durations" in utterance.arrays and not folder.is_dir():
            return to_tensors(at_least_one_frame(self._own_durations(utterance)))
        place = folder / f"{path.stem}.npy"
        durations = read_npy(place, "durations")
        if durations.dtype.kind not in "iuf":
            raise ConfigurationError(f"{place}: expected numbers as durations, found the type {durations.dtype}")
        durations = durations.astype(np.int64)
        if durations.shape != (n,):
            raise ConfigurationError(f"{place}: expected {n} durations, found the shape {list(durations.shape)}")
        return to_tensors(durations)

    def _own_durations(self, utterance: Utterance) -> npt.NDArray[np.int64]:
        """Return the durations of the symbols of an example; those of a blank that it lacks go to its neighbour."""
        own = np.asarray(utterance.arrays["durations"], np.int64)
        blanks = utterance.store.blanks
        if blanks is not None and not self.add_blank:
            first = own[:1] if blanks == "around" else own[:0]
            own = own[len(first) :]
            own = own[::2] + np.resize(np.append(own[1::2], 0), len(own[::2]))
            own[:1] += first
        if self.add_blank and blanks != "around":
            own = np.pad(own, 1) if blanks == "between" else with_blanks(own, 0, "around")
        return own

    def _check_frames(self) -> None:
        """Check that there is a frame for every symbol.

        Raises:
            ConfigurationError: utterances have more symbols than frames.
        """
        short = []
        for path, (store, row) in zip(self.utterances.paths, self.utterances.places, strict=True):
            n, blanks = int(store.n_phonemes[row]), store.metadata.blanks
            plain = n if blanks is None else (n + (blanks == "between")) // 2
            if (2 * plain + 1 if self.add_blank else plain) > int(store.n_frames[row]) and "durations" in store.arrays:
                short.append(path)
        if short:
            raise ConfigurationError(
                f"load_durations: {count_text(len(short), 'utterance')} with more symbols than frames, such as "
                f"{short[0]}; take the lines out{', or set add_blank to False' if self.add_blank else ''}"
            )


def _folder(store: Path) -> Path:
    """Return the folder of durations beside a store."""
    return store.parent / "durations"


def at_least_one_frame(durations: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return durations of at least one frame, as the monotonic alignment search of Matcha-TTS gives them.

    In a store, blanks, stress and length marks have no frames of their own. Matcha-TTS learns the logarithm of a
    duration and rounds up, so that a symbol of 0 frames would get one at inference that it did not have in training.
    The ends of symbols are moved back by as few frames as possible, and those at the end forward.

    Args:
        durations: [n] frames, n at most their sum.
    """
    n, n_frames = len(durations), int(durations.sum())
    numbers = np.arange(1, n + 1)
    ends = np.maximum.accumulate((np.cumsum(durations) - numbers).clip(0)) + numbers
    ends = np.minimum(ends, n_frames - n + numbers)
    return np.diff(ends, prepend=0)


class TextMelBatchCollate:
    """Pad examples of `TextMelDataset` with zeros, mels to a multiple of four frames.

    Returns a dict: ``x`` [B, L] int64, ``x_lengths`` [B] int64, ``y`` [B, n_mels, T] float32, ``y_lengths`` [B] int64,
    ``spks`` [B] int64 or None, ``filepaths``, ``x_texts``, and ``durations`` [B, L] int64, or None if all are 0 or
    missing.

    Args:
        n_spks: the number of speakers; if it is 1, ``spks`` is None.
    """

    def __init__(self, n_spks: int) -> None:
        self.n_spks = n_spks

    def __call__(self, batch: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the batch."""
        x, x_lengths = pad_sequences([example["x"] for example in batch], 0, np.int64)
        y, y_lengths = pad_spectrograms([example["y"] for example in batch], pad_to_multiple=_MULTIPLE)
        durations = np.zeros_like(x)
        for row, example in zip(durations, batch, strict=True):
            if example["durations"] is not None:
                row[: len(example["durations"])] = example["durations"]
        torch = import_torch()
        return {
            **to_tensors({"x": x, "x_lengths": x_lengths, "y": y, "y_lengths": y_lengths}),
            "spks": torch.tensor([example["spk"] for example in batch]) if self.n_spks > 1 else None,
            "filepaths": [example["filepath"] for example in batch],
            "x_texts": [example["x_text"] for example in batch],
            "durations": to_tensors(durations) if durations.any() else None,
        }
