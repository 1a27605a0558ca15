"""What each recipe accepts: stores whose mels, waveforms and ids are those that its system makes.

`check_store` compares the complete settings of a store with those of the recipe's preset. Settings that agree in part
do not suffice: mels of another preset of the same shape train without an error, and to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.preprocess.audio.config import DEFAULT_RESAMPLER, MelConfig, ReadingConfig
from tts_prep.preprocess.audio.presets import DESCRIPTIONS, Preset, get_preset
from tts_prep.preprocess.text.symbols.catalogue import get_table

Settings = Literal["preset", "any"]
"""``"preset"`` accepts a store with the settings of the recipe's preset; ``"any"`` accepts every store."""

_OF_WAVEFORM: Final = frozenset({"sample_rate", "channel", "resampler", "peak", "framing", "edge_zeros"})
"""The settings that determine the stored waveform. Of framings, only ``ceil`` changes it."""

_SHOWN = 4


@dataclass(frozen=True)
class Recipe:
    """A recipe's requirements.

    Attributes:
        system: the name of the system.
        presets: the presets whose mels its batches can have; the first one is its own.
        array: what its batches have of a store: ``"mel"`` with or without the waveform, or ``"waveform"`` alone.
        converted: the settings that the recipe converts to those of its system, whatever they are.
        symbols: the table of ids that its system has in its code, but for the sign of the padding; None if it has none.
        ids: how its system arranges ids: the values of ``blanks`` and ``ends`` of the store's vocabulary.
    """

    system: str
    presets: tuple[str, ...]
    array: Literal["mel", "waveform"] = "mel"
    converted: frozenset[str] = frozenset()
    symbols: str | None = None
    ids: Mapping[str, Any] = field(default_factory=dict)

    def differences(self, settings: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
        """Return a phrase for each setting of a store that differs from those of the nearest preset.

        Args:
            settings: those of the store, `StoreMetadata.audio_settings`.
            given: settings of the system's own configuration, which replace those of the preset.
        """
        found = flat_settings(settings)
        return min((self._unequal(found, flat_settings(_expected(name, given))) for name in self.presets), key=len)

    def _unequal(self, found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
        phrases = []
        for name in dict.fromkeys([*expected, *found]):
            if name in self.converted or (self.array == "waveform" and name not in _OF_WAVEFORM):
                continue
            a, b = found.get(name), expected.get(name)
            if self.array == "waveform" and name == "framing" and "ceil" not in (a, b):
                continue
            if a != b:
                phrases.append(f"{name} is {_shown(a)} instead of {_shown(b)}")
        return phrases

    def advice(self, given: Mapping[str, Any]) -> str:
        """Return what to build a store with."""
        expected = flat_settings(_expected(self.presets[0], given))
        for name in (*self.presets, *DESCRIPTIONS):
            if not self._unequal(flat_settings(_settings(get_preset(name))), expected):
                return f"build the store with --preset {name}"
        return (
            f"build the store with --config and these settings; 'tts-prep presets {self.presets[0]}' prints such a file"
        )


BIGVGAN: Final = Recipe("BigVGAN", ("bigvgan-22k-80",))
F5_TTS: Final = Recipe("F5-TTS", ("f5-tts", "vocos"))
"""The recipe raises the floor of Vocos' mels to that of F5-TTS."""
F5_TTS_BIGVGAN: Final = Recipe("F5-TTS with BigVGAN's mels", ("bigvgan-24k-100",))
FASTPITCH: Final = Recipe("FastPitch", ("fastpitch",))
FASTSPEECH2: Final = Recipe("FastSpeech 2", ("tacotron2",), symbols="fastspeech2", ids={"blanks": None, "ends": False})
HIFI_GAN: Final = Recipe("HiFi-GAN", ("hifigan",))
MATCHA: Final = Recipe(
    "Matcha-TTS", ("matcha",), converted=frozenset({"compression.scale", "compression.offset"}), symbols="vits"
)
PARAKEET: Final = Recipe("Parakeet", ("parakeet",))
PIPER: Final = Recipe("Piper", ("piper",), "waveform", symbols="piper", ids={"blanks": "between", "ends": True})
STYLETTS2: Final = Recipe("StyleTTS2", ("styletts2",), symbols="styletts2", ids={"blanks": None, "ends": False})
VITS: Final = Recipe("VITS", ("vits",), "waveform", symbols="vits")
VOCOS: Final = Recipe("Vocos", ("vocos",), "waveform")
WAVENET: Final = Recipe("Parakeet's WaveNet", ("parakeet-wavenet",))
RECIPES: Final = (
    *(BIGVGAN, F5_TTS, F5_TTS_BIGVGAN, FASTPITCH, FASTSPEECH2, HIFI_GAN, MATCHA, PARAKEET, PIPER),
    *(STYLETTS2, VITS, VOCOS, WAVENET),
)
"""All recipes."""


def check_store(
    recipe: Recipe,
    store: StoreMetadata,
    where: object,
    given: Mapping[str, Any] | None = None,
    settings: Settings = "preset",
) -> None:
    """Check that a store has what a recipe needs.

    Args:
        recipe: the recipe.
        store: the metadata of the store.
        where: the store's path, or another name of the place, for messages.
        given: settings of the system's own configuration, which replace those of the preset.
        settings: ``"any"`` accepts every store that has the arrays.

    Raises:
        ConfigurationError: settings of mels, waveforms or ids differ; or `settings` has another value.
    """
    if settings == "any":
        return
    if settings != "preset":
        raise ConfigurationError(f"settings: expected 'preset' or 'any', found {settings!r}")
    audio = recipe.differences(store.audio_settings, given or {})
    if audio:
        raise ConfigurationError(
            f"{where}: not made for {recipe.system}: {_listed(audio)}; {recipe.advice(given or {})}, or pass "
            'settings="any" to use it as it is'
        )
    check_ids(recipe, store, where, ', or pass settings="any" to use it as it is')


def check_ids(recipe: Recipe, store: StoreMetadata, where: object, otherwise: str = "") -> None:
    """Check that the ids of a store are those of a recipe's system.

    Args:
        otherwise: the end of the message.

    Raises:
        ConfigurationError: symbols or their arrangement differ.
    """
    different = list(_differences_of_ids(recipe, store))
    if different:
        blanks = f" --blanks {recipe.ids['blanks']}" if recipe.ids.get("blanks") else ""
        raise ConfigurationError(
            f"{where}: not made for {recipe.system}: {_listed(different)}; build the store with --symbols "
            f"{recipe.symbols}{blanks}{otherwise}"
        )


class StoreCheck:
    """The check of a collate function: `check_store`, once for each store in turn.

    Args:
        recipe: the recipe.
        settings: see `check_store`, as for the other argument.
        given: settings of the system's own configuration.
    """

    def __init__(self, recipe: Recipe, settings: Settings, given: Mapping[str, Any] | None = None) -> None:
        self._recipe, self._settings, self._given = recipe, settings, given or {}
        self._accepted: StoreMetadata | None = None

    def __call__(self, examples: Iterable[Any]) -> None:
        """Check the stores of those examples that are utterances."""
        for example in examples:
            if isinstance(example, Utterance) and example.store is not self._accepted:
                where = f"the store of utterance '{example.id}'"
                check_store(self._recipe, example.store, where, self._given, self._settings)
                self._accepted = example.store


def flat_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of audio with the names of nested ones joined by a dot, and defaults that stores leave out."""
    flat: dict[str, Any] = {"resampler": DEFAULT_RESAMPLER} if settings else {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat.update({f"{name}.{inner}": found for inner, found in value.items()})
        else:
            flat[name] = value
    return flat


def _settings(preset: Preset) -> dict[str, Any]:
    return {**preset.config.as_dict(), **preset.reading.as_dict()}


def _expected(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a preset with those given: fields of `MelConfig` and of `ReadingConfig`."""
    preset = get_preset(name)
    of_reading = {key: value for key, value in given.items() if key in ReadingConfig.__dataclass_fields__}
    of_mel = {key: value for key, value in given.items() if key in MelConfig.__dataclass_fields__}
    return _settings(
        replace(preset, config=replace(preset.config, **of_mel), reading=replace(preset.reading, **of_reading))
    )


def _differences_of_ids(recipe: Recipe, store: StoreMetadata) -> Iterator[str]:
    if recipe.symbols is not None:
        expected = get_table(recipe.symbols).symbols
        if store.pad_id != 0:
            yield f"the id of the padding is {store.pad_id} instead of 0"
        for number, (a, b) in enumerate(zip(store.symbols, expected, strict=False)):
            if a != b and number != 0:
                yield f"the symbol {number} is {a!r} instead of {b!r}"
                break
        if len(store.symbols) < len(expected):
            yield f"there are {len(store.symbols):,} symbols instead of {len(expected):,}"
    for name, value in recipe.ids.items():
        if getattr(store, name) != value:
            yield f"{name} is {_shown(getattr(store, name))} instead of {_shown(value)}"


def _shown(value: object) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _listed(phrases: list[str]) -> str:
    more = f" and {len(phrases) - _SHOWN} more" if len(phrases) > _SHOWN else ""
    return ", ".join(phrases[:_SHOWN]) + more
