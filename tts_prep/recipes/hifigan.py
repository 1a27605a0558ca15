"""HiFi-GAN's dataset, reading a store instead of wav files.

In its ``train.py``, import `HiFiGANDataset` as ``MelDataset`` and `hifigan_filelists` as ``get_dataset_filelist``, and
pass the store as ``--input_wavs_dir``.
"""

import math
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tts_prep.batches.epoch_draws import EpochDraws
from tts_prep.errors import ConfigurationError
from tts_prep.loader.batching.tensors import to_tensors
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.randomness import check_seed
from tts_prep.preprocess.audio.presets import DESCRIPTIONS
from tts_prep.recipes.accepted import HIFI_GAN, Lack, Recipe, Settings, check_store
from tts_prep.recipes.stores import (
    ListedExamples,
    ListedUtterances,
    Missing,
    RandomExamples,
    no_lacks,
    read_list,
    read_npy,
)

_COMPARED = 64
"""The number of utterances whose waveforms are compared."""


@dataclass(frozen=True)
class LossMels:
    """Where the mels of the loss are.

    Attributes:
        array: the array of the store that has them.
        rows: in a second store, the row of each row of the store; −1 for those that it lacks.
        second: the second store.
    """

    array: str = "mel"
    rows: npt.NDArray[np.int64] | None = None
    second: UtteranceDataset | None = None

    def __call__(self, utterance: Utterance) -> npt.NDArray[Any]:
        """Return the mel of the loss of an utterance, [n_frames, n_mels]."""
        if self.second is None or self.rows is None:
            return utterance.mel if self.array == "mel" else utterance.arrays[self.array]
        return self.second[int(self.rows[utterance.index])].mel

    def check(self, row: int, uid: str) -> None:
        """Check that there is the mel of a row of the store.

        Raises:
            ConfigurationError: the second store lacks the utterance.
        """
        if self.second is not None and self.rows is not None and self.rows[row] < 0:
            raise ConfigurationError(f"{self.second.path}: the utterance '{uid}' is missing")


def find_loss(
    recipe: Recipe, store: UtteranceDataset, given: Mapping[str, Any], settings: Settings, path: str | Path | None
) -> LossMels | None:
    """Return where the mels of the loss of a store are; None if they are nowhere.

    Args:
        given: the settings of the loss.
        path: the second store, or None.

    Raises:
        ConfigurationError: the second store has other settings, or is not of the same recordings.
    """
    if path is None:
        if store.metadata.audio_settings.get("fmax", given["fmax"]) == given["fmax"]:
            return LossMels()
        if (array := _array(recipe, store, given)) is not None:
            return LossMels(array)
        beside = store.path.with_name(store.path.name + "-loss")
        if not beside.exists():
            return None
        path = beside
    if not Path(path).exists():
        raise ConfigurationError(f"loss_store: {path}: no such folder; expected a store of the same recordings")
    second = UtteranceDataset(path)
    check_store(replace(recipe, needs=()), second.metadata, given, settings)
    return LossMels(rows=_same_recordings(store, second), second=second)


def lack_of_loss(
    recipe: Recipe, store: UtteranceDataset, given: Mapping[str, Any], found: LossMels | None
) -> Iterator[Lack]:
    """Yield what a store lacks that has no mels of the loss."""
    if found is not None:
        return
    fmax = given["fmax"]
    end = store.metadata.audio_settings.get("fmax", fmax)
    phrase = f"its mels end at {end:g} Hz, and it has none to {fmax:g} Hz for the loss"
    for name in (*recipe.presets, *DESCRIPTIONS):
        preset = DESCRIPTIONS[name]
        narrower = [replace(preset.config, fmax=fmax)] if fmax <= preset.config.mel_rate / 2 else []
        for own in (preset.config, *narrower):
            if not recipe.differences({**own.as_dict(), **preset.reading.as_dict()}, given):
                fmax_option = f",fmax={fmax:g}" if own != preset.config else ""
                yield Lack(phrase, (f"--feature mel:preset={name}{fmax_option}",), added=True)
                return
    loss = store.path.with_name(store.path.name + "-loss")
    yield Lack(phrase, (f"and once more with {' '.join(recipe.options(given))} as the store {loss}",))


def _array(recipe: Recipe, store: UtteranceDataset, given: Mapping[str, Any]) -> str | None:
    """Return the name of an array with the mels of the loss; None if there is none."""
    for name, spec in store.arrays.items():
        audio, reading = spec.settings.get("audio"), spec.settings.get("reading")
        if not isinstance(audio, Mapping) or not isinstance(reading, Mapping):
            continue
        if not recipe.differences({**audio, **reading}, given):
            return name
    return None


def _same_recordings(store: UtteranceDataset, second: UtteranceDataset) -> npt.NDArray[np.int64]:
    """Return the row in a second store of each row of a store, and check that both are of the same recordings.

    Raises:
        ConfigurationError: recordings were cut or cleaned in another way, or have other durations or samples.
    """
    advice = f"repeat the command that made {store.path} for {second.path}, with another --fmax alone"
    a, b = store.metadata.cleaning, second.metadata.cleaning
    if different := [name for name in sorted({*a, *b}) if a.get(name) != b.get(name)]:
        name = different[0]
        raise ConfigurationError(
            f"{second.path}: not of the same recordings as {store.path}: {name} is {b.get(name, 'none')} instead of "
            f"{a.get(name, 'none')}; {advice}"
        )
    row_of = {uid: row for row, uid in enumerate(second.id)}
    rows = np.array([row_of.get(uid, -1) for uid in store.id], np.int64)
    there = np.flatnonzero(rows >= 0)
    if not len(there):
        raise ConfigurationError(f"{second.path}: it has none of the utterances of {store.path}; {advice}")
    found = np.asarray(second.seconds)[rows[there]]
    others = np.flatnonzero((found != store.seconds[there]) | (second.n_frames[rows[there]] != store.n_frames[there]))
    if len(others):
        one = int(there[others[0]])
        raise ConfigurationError(
            f"{second.path}: not of the same recordings as {store.path}: {len(others):,} of {len(there):,} utterances "
            f"have another duration, such as '{store.id[one]}' with {found[others[0]]:.3f} s instead of "
            f"{store.seconds[one]:.3f} s; {advice}"
        )
    if store.has_waveform and second.has_waveform:
        for row in there[:: -(-len(there) // _COMPARED)].tolist():
            if not np.allclose(store[row].audio, second[int(rows[row])].audio, atol=2**-14):
                raise ConfigurationError(
                    f"{second.path}: not of the same recordings as {store.path}: '{store.id[row]}' has other samples; "
                    f"{advice}"
                )
    return rows


_SHUFFLE_SEED = 1234
"""HiFi-GAN, BigVGAN and VITS shuffle their file lists with this seed of Python's ``random``."""

Float32Array = npt.NDArray[np.float32]


def hifigan_filelists(a: Any) -> tuple[list[str], list[str]]:
    """Return the training and the validation files of HiFi-GAN's options.

    Args:
        a: options with `input_wavs_dir` (here the store), `input_training_file` and `input_validation_file`.

    Raises:
        ConfigurationError: a file list cannot be read.
    """
    lists = [read_list(path) for path in (a.input_training_file, a.input_validation_file)]
    training, validation = ([os.path.join(a.input_wavs_dir, f"{line[0]}.wav") for line in lines] for lines in lists)  # noqa: PTH118
    return training, validation


class HiFiGANDataset(ListedExamples, RandomExamples):
    """Segments of waveforms with their mels, as HiFi-GAN's ``MelDataset``.

    An example is ``(mel [num_mels, F], audio [samples], filename, mel_loss [num_mels, F])``, float32 tensors. With
    `split` the waveform has `segment_size` samples; without, for validation, it is the full recording.

    Segments start at frame boundaries, and their mels are slices of the stored mels. HiFi-GAN cuts at any sample and
    computes the mel of the segment, so that its first and last two frames depend on reflected padding instead of the
    neighbouring samples. With `fine_tuning`, HiFi-GAN also cuts at frame boundaries. Where a recording is shorter than
    a segment, the mel is padded with silence, and differs in up to two frames before the end of the recording and
    three behind it.

    Args:
        training_files: paths ``STORE/ID.wav``, see `hifigan_filelists`.
        segment_size: samples, a multiple of `hop_size`.
        n_fft: samples. This and the following settings up to `fmax` must equal those of the store.
        num_mels: mel bins.
        hop_size: samples per frame.
        win_size: samples.
        sampling_rate: Hz.
        fmin: Hz.
        fmax: Hz.
        split: cut segments.
        shuffle: shuffle the files once, as HiFi-GAN does.
        n_cache_reuse: ignored: no audio is decoded.
        device: ignored: tensors are in host memory.
        fmax_loss: ``fmax`` of `mel_loss`, Hz; None is half of the sample rate. If it is not the ``fmax`` of the store,
            these mels are those of the store that ``--feature mel:preset=hifigan,fmax=…`` adds, or of `loss_store`.
        fine_tuning: read mels from `base_mels_path` instead of the store. The waveform has the level of the store, and
            HiFi-GAN's has that of the file, which a store made with ``peak = "none"`` keeps.
        base_mels_path: the folder of ``ID.npy`` files, [num_mels, n_frames] or [1, num_mels, n_frames].
        loss_store: a store of the same recordings with ``fmax_loss``, or one for each store of the file list, in order;
            defaults to the folder ``STORE-loss`` of each, if the store has no such mels itself.
        seed: the seed of the segments.
        missing: ``"leave_out"`` leaves out files whose utterances are not in the store, and `utterances` names them.
        settings: ``"preset"`` requires a store with all settings of the preset ``hifigan``, or with `fine_tuning` of
            ``hifigan-unscaled``, but for those given above; ``"any"`` accepts every store.

    Raises:
        ConfigurationError: the store has other settings or no waveforms, the mels of the loss are missing or of other
            recordings, or the store has no utterance for a file.
    """

    _recipe: ClassVar[Recipe] = HIFI_GAN
    _has_ids = False

    def __init__(
        self,
        training_files: Iterable[str],
        segment_size: int,
        n_fft: int,
        num_mels: int,
        hop_size: int,
        win_size: int,
        sampling_rate: int,
        fmin: float,
        fmax: float | None,
        split: bool = True,
        shuffle: bool = True,
        n_cache_reuse: int = 1,  # noqa: ARG002
        device: Any = None,  # noqa: ARG002
        fmax_loss: float | None = None,
        fine_tuning: bool = False,
        base_mels_path: str | None = None,
        *,
        loss_store: str | Path | Sequence[str | Path] | None = None,
        seed: int = 0,
        settings: Settings = "preset",
        missing: Missing = "error",
    ) -> None:
        if hop_size < 1 or segment_size < 1:
            raise ConfigurationError(
                f"segment_size, hop_size: expected integers >= 1, found {segment_size} and {hop_size}"
            )
        files = list(training_files)
        if shuffle:
            random.Random(_SHUFFLE_SEED).shuffle(files)
        self.utterances = ListedUtterances(files, missing)
        self.audio_files = self.utterances.paths
        given: dict[str, Any] = {
            "sample_rate": sampling_rate,
            "n_fft": n_fft,
            "win_length": win_size,
            "hop_length": hop_size,
            "n_mels": num_mels,
            "fmin": fmin,
            "fmax": fmax or sampling_rate / 2,
            **({"peak": None} if fine_tuning else {}),
        }
        of_loss = {**given, "fmax": fmax_loss or sampling_rate / 2}
        recipe = self._recipe
        losses = {
            store: find_loss(recipe, store, of_loss, settings, path)
            for store, path in zip(self.utterances.stores, self._loss_paths(loss_store), strict=True)
        }
        # A store whose own mels are to be those of the loss lacks nothing else once it has them.
        own = settings == "preset" and of_loss == given
        self.utterances.check(
            recipe,
            given,
            settings,
            lacks=no_lacks if own else lambda store: lack_of_loss(recipe, store, of_loss, losses[store]),
        )
        self._losses = [losses[store] or LossMels() for store, _ in self.utterances.places]
        for (store, row), mels in zip(self.utterances.places, self._losses, strict=True):
            mels.check(row, store.id[row])
        self.frames = math.ceil(segment_size / hop_size)
        self.segment_size = segment_size
        self.hop_size = hop_size
        self.split = split
        self.fine_tuning = fine_tuning
        self.base_mels_path = base_mels_path
        self._draws = EpochDraws(check_seed(seed))
        if fine_tuning and base_mels_path is None:
            raise ConfigurationError("fine_tuning: expected base_mels_path, found None")
        if split and segment_size % hop_size:
            raise ConfigurationError(
                f"segment_size: expected a multiple of hop_size = {hop_size}, found {segment_size}"
            )
        self._of_loss = of_loss["fmax"]

    def _loss_paths(self, given: str | Path | Sequence[str | Path] | None) -> Sequence[str | Path | None]:
        """Return the path of the loss store of each store, None for those that have none of their own."""
        n = len(self.utterances.stores)
        if given is None:
            return [None] * n
        paths = [given] if isinstance(given, str | Path) else list(given)
        if len(paths) != n:
            raise ConfigurationError(f"loss_store: expected one for each of {n} stores, found {len(paths)}")
        return paths

    def _fingerprint_settings(self) -> dict[str, Any]:
        names = ("segment_size", "hop_size", "split", "fine_tuning")
        return {name: getattr(self, name) for name in names} | {"seed": self._draws.seed, "fmax_loss": self._of_loss}

    def _example(self, i: int, epoch: int | None) -> tuple[Any, ...]:
        utterance = self.utterances[i]
        mel = self._base_mel(utterance) if self.fine_tuning else utterance.mel
        mel_loss = self._losses[i](utterance)
        assert utterance.waveform is not None
        if not self.split:
            audio = self._audio(utterance, slice(None))
        else:
            hop = self.hop_size
            start = self._start(utterance, mel, epoch, i)
            audio = self._audio(utterance, slice(start * hop, (start + self.frames) * hop))
            fill = 0.0 if self.fine_tuning else utterance.store.silence
            mel = _padded(mel[start : start + self.frames], self.frames, fill)
            mel_loss = _padded(mel_loss[start : start + self.frames], self.frames, utterance.store.silence)
            if len(audio) < self.segment_size:
                audio = np.pad(audio, (0, self.segment_size - len(audio)))
        audio, mel, mel_loss = self._scaled(audio, mel, mel_loss)
        return to_tensors((_transposed(mel), audio, self.audio_files[i], _transposed(mel_loss)))  # type: ignore[no-any-return]

    def _start(self, utterance: Utterance, mel: Float32Array, epoch: int | None, i: int) -> int:
        assert utterance.waveform is not None
        last = min(len(mel), len(utterance.waveform) // self.hop_size) - self.frames
        return int(self._draws.words(1, i, epoch)[0]) % (max(0, last) + 1)

    def _audio(self, utterance: Utterance, interval: slice) -> Float32Array:
        assert utterance.waveform is not None
        samples = utterance.waveform[interval]
        floats = samples.astype(np.float32)
        return floats / np.float32(32768) if samples.dtype == np.int16 else floats

    def _scaled(
        self, audio: Float32Array, mel: Float32Array, mel_loss: Float32Array
    ) -> tuple[Float32Array, Float32Array, Float32Array]:
        """Return waveform and mels at their level in training. Here it is that of the store, scaled by its preset."""
        return audio, mel, mel_loss

    def _base_mel(self, utterance: Utterance) -> Float32Array:
        path = Path(str(self.base_mels_path)) / f"{utterance.id}.npy"
        mel = read_npy(path, "a mel spectrogram")
        bins = utterance.mel.shape[1]
        if mel.shape[-2:-1] != (bins,) or mel.shape[:-2] not in ((), (1,)) or mel.dtype.kind not in "iuf":
            raise ConfigurationError(
                f"{path}: expected a mel spectrogram of the shape [{bins}, n_frames] or [1, {bins}, n_frames], found "
                f"the shape {list(mel.shape)} of {mel.dtype}"
            )
        return np.asarray(mel.reshape(mel.shape[-2:]).T, np.float32)


def _padded(frames: Float32Array, n: int, fill: Any) -> Float32Array:
    if len(frames) == n:
        return frames
    padded = np.empty((n, *frames.shape[1:]), np.float32)
    padded[: len(frames)] = frames
    padded[len(frames) :] = fill
    return padded


def _transposed(mel: Float32Array) -> Float32Array:
    return np.array(mel.T, np.float32, order="C")


def collate_hifigan(examples: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Stack examples of segments with torch's default collate function, as HiFi-GAN does.

    Returns ``[mels [B, num_mels, F], audios [B, samples], filenames, mel_losses [B, num_mels, F]]``.
    """
    from torch.utils.data import default_collate

    return default_collate(list(examples))  # type: ignore[no-any-return]
