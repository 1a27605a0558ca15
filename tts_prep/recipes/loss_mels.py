"""The mels of HiFi-GAN's and BigVGAN's loss: an array of the store, or the mels of a second store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.preprocess.audio.presets import DESCRIPTIONS
from tts_prep.recipes.accepted import Lack, Recipe, Settings, check_store

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
    phrase = (
        f"its mels end at {store.metadata.audio_settings.get('fmax', fmax):g} Hz, and it has none to {fmax:g} Hz for "
        "the loss"
    )
    for name in (*recipe.presets, *DESCRIPTIONS):
        preset = DESCRIPTIONS[name]
        for own in (
            preset.config,
            *([replace(preset.config, fmax=fmax)] if fmax <= preset.config.mel_rate / 2 else []),
        ):
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
