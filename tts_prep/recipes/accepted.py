"""What each recipe accepts: stores whose mels, waveforms and ids are those that its system makes.

`check_store` compares the complete settings of a store with those of the recipe's preset. Settings that agree in part
do not suffice: mels of another preset of the same shape train without an error, and to nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.utterance import Utterance
from tts_prep.preprocess.audio.config import DEFAULT_RESAMPLER, MelConfig, ReadingConfig
from tts_prep.preprocess.audio.presets import DESCRIPTIONS, Preset, get_preset
from tts_prep.preprocess.text.symbols import get_table

Settings = Literal["preset", "any"]
"""``"preset"`` accepts a store with the settings of the recipe's preset; ``"any"`` accepts every store."""

_OF_WAVEFORM: Final = frozenset(
    (
        *("sample_rate", "channel", "resampler", "clips", "through", "written", "peak", "peak_mode"),
        *("framing", "edge_zeros", "length_multiple", "least_length"),
    )
)
"""The settings that determine the stored waveform. Of framings, only ``ceil`` changes it."""

_SHOWN = 4
_REMEMBERED = 32

_OPTIONS: Final = {
    **{name: name.replace("_", "-") for name in ("sample_rate", "n_fft", "win_length", "hop_length", "n_mels")},
    **{name: name for name in ("fmin", "fmax", "peak", "channel")},
}
"""The settings that have an option of their own, without its dashes."""


@dataclass(frozen=True)
class Needed:
    """An array that a recipe reads.

    Attributes:
        name: the name of the array.
        option: the option that makes it.
        settings: those that its values must have; settings that an array does not have, such as an imported one, are
            not compared.
    """

    name: str
    option: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_added(self) -> bool:
        """Whether ``tts-prep add`` can add it to a complete store."""
        return self.option.startswith("--feature")


@dataclass(frozen=True)
class Lack:
    """Something that a store lacks.

    Attributes:
        phrase: what, for a message.
        options: those of the command that makes the store, with which it has it.
        added: whether ``tts-prep add`` with these options adds it to the complete store.
        arrays: the arrays in its place, which are removed first.
        crashes: whether the recipe cannot do without, also with ``settings="any"``.
    """

    phrase: str
    options: tuple[str, ...]
    added: bool = False
    arrays: tuple[str, ...] = ()
    crashes: bool = True


WAVEFORM: Final = Needed("waveform", "--waveform int16")


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
        frontend: the frontend that gives the symbols of the table; None if the default one does.
        needs: the arrays that it reads besides mels and phonemes.
    """

    system: str
    presets: tuple[str, ...]
    array: Literal["mel", "waveform"] = "mel"
    converted: frozenset[str] = frozenset()
    symbols: str | None = None
    ids: Mapping[str, Any] = field(default_factory=dict)
    frontend: str | None = None
    needs: tuple[Needed, ...] = ()

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

    def options(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the options that make a store with the recipe's mels and waveforms."""
        expected = flat_settings(_expected(self.presets[0], given))
        for name in (*self.presets, *DESCRIPTIONS):
            if not self._unequal(flat_settings(_settings(get_preset(name))), expected):
                return (f"--preset {name}",)
        own = flat_settings(_settings(get_preset(self.presets[0])))
        others = {name: value for name, value in expected.items() if own.get(name) != value}
        if others.keys() <= _OPTIONS.keys():
            return (
                f"--preset {self.presets[0]}",
                *(f"--{_OPTIONS[name]} {_shown(value)}" for name, value in others.items()),
            )
        changed = ", ".join(f"{name} = {_shown(value)}" for name, value in others.items())
        return (f"--config FILE (that of 'tts-prep presets {self.presets[0]}' with {changed})",)

    @property
    def options_of_ids(self) -> tuple[str, ...]:
        """The options that make a store with the ids of the recipe's system."""
        return (
            *((f"--frontend {self.frontend}",) if self.frontend else ()),
            *((f"--symbols {self.symbols}",) if self.symbols else ()),
            *((f"--blanks {self.ids['blanks']}",) if self.ids.get("blanks") else ()),
        )


BIGVGAN: Final = Recipe("BigVGAN", ("bigvgan-22k-80",), needs=(WAVEFORM,))
F5_TTS: Final = Recipe("F5-TTS", ("f5-tts", "vocos"))
"""The recipe raises the floor of Vocos' mels to that of F5-TTS."""
F5_TTS_BIGVGAN: Final = Recipe("F5-TTS with BigVGAN's mels", ("bigvgan-24k-100",))
FASTPITCH: Final = Recipe(
    "FastPitch",
    ("fastpitch",),
    needs=(Needed("pitch", "--feature pitch:algorithm=pyin", {"unvoiced": "zero", "unit": "hz"}),),
)
FASTSPEECH2: Final = Recipe(
    "FastSpeech 2",
    ("fastspeech2",),
    symbols="fastspeech2",
    ids={"blanks": None, "ends": False},
    frontend="arpabet",
    needs=(
        Needed("durations", "--feature durations"),
        Needed("pitch", "--feature pitch:unvoiced=interpolated", {"unvoiced": "interpolated", "unit": "hz"}),
        Needed("energy", "--feature energy", {"of": "magnitude"}),
    ),
)
HIFI_GAN: Final = Recipe("HiFi-GAN", ("hifigan",), needs=(WAVEFORM,))
MATCHA: Final = Recipe(
    "Matcha-TTS", ("matcha",), converted=frozenset({"compression.scale", "compression.offset"}), symbols="vits"
)
PARAKEET: Final = Recipe("Parakeet", ("parakeet",))
PIPER: Final = Recipe(
    "Piper", ("piper",), "waveform", symbols="piper", ids={"blanks": "between", "ends": True}, needs=(WAVEFORM,)
)
STYLETTS2: Final = Recipe(
    "StyleTTS2", ("styletts2",), symbols="styletts2", ids={"blanks": None, "ends": False}, needs=(WAVEFORM,)
)
VITS: Final = Recipe("VITS", ("vits",), "waveform", symbols="vits", needs=(WAVEFORM,))
VOCOS: Final = Recipe("Vocos", ("vocos",), "waveform", needs=(WAVEFORM,))
WAVENET: Final = Recipe("Parakeet's WaveNet", ("parakeet-wavenet",), needs=(WAVEFORM,))
ZIPVOICE: Final = Recipe("ZipVoice", ("zipvoice",), ids={"blanks": None, "ends": False})
RECIPES: Final = (
    *(BIGVGAN, F5_TTS, F5_TTS_BIGVGAN, FASTPITCH, FASTSPEECH2, HIFI_GAN, MATCHA, PARAKEET, PIPER),
    *(STYLETTS2, VITS, VOCOS, WAVENET, ZIPVOICE),
)
"""All recipes."""


def check_store(
    recipe: Recipe,
    store: StoreMetadata,
    given: Mapping[str, Any] | None = None,
    settings: Settings = "preset",
    *,
    can_choose: bool = True,
    lacks: Iterable[Lack] = (),
    without: Collection[str] = (),
) -> None:
    """Check that a store has what a recipe needs.

    The message names all that differs or is missing at once, and one command with which the store has it.

    Args:
        recipe: the recipe.
        store: the metadata of the store.
        given: settings of the system's own configuration, which replace those of the preset.
        settings: ``"any"`` accepts every store that has the arrays.
        can_choose: whether the caller has these settings to choose from, so that the message names them.
        lacks: what the store lacks besides.
        without: the names of arrays that the recipe can do without.

    Raises:
        ConfigurationError: settings of mels, waveforms or ids differ; an array is missing; or `settings` has another
            value.
    """
    if settings not in ("preset", "any"):
        raise ConfigurationError(f"settings: expected 'preset' or 'any', found {settings!r}")
    recipe = replace(recipe, needs=tuple(needed for needed in recipe.needs if needed.name not in without))
    found = [*_lacks(recipe, store, given or {}), *lacks]
    if settings == "any":
        found = [lack for lack in found if lack.crashes]
    if found:
        can_be_used = can_choose and not any(lack.crashes for lack in found)
        otherwise = ', or pass settings="any" to use it as it is' if can_be_used else ""
        raise ConfigurationError(
            f"{store.path}: not made for {recipe.system}: {', '.join(lack.phrase for lack in found)}; "
            f"{_command(recipe, store, given or {}, found, settings)}{otherwise}"
        )


def _lacks(recipe: Recipe, store: StoreMetadata, given: Mapping[str, Any]) -> Iterator[Lack]:
    if audio := recipe.differences(store.audio_settings, given):
        yield Lack(_listed(audio), recipe.options(given), crashes=False)
    if ids := list(_differences_of_ids(recipe, store)):
        yield Lack(_listed(ids), recipe.options_of_ids, crashes=False)
    if absent := [needed for needed in recipe.needs if needed.name not in store.arrays]:
        options = tuple(needed.option for needed in absent)
        phrase = f"it has no {', '.join(needed.name for needed in absent)}"
        yield Lack(phrase, options, all(needed.is_added for needed in absent))
    for needed in recipe.needs:
        found = store.arrays[needed.name].settings if needed.name in store.arrays else {}
        different = [
            f"{key} of {needed.name} is {_shown(found[key])} instead of {_shown(value)}"
            for key, value in needed.settings.items()
            if found.get(key, value) != value
        ]
        if different:
            yield Lack(_listed(different), (needed.option,), True, (needed.name,), crashes=False)


def _command(
    recipe: Recipe, store: StoreMetadata, given: Mapping[str, Any], found: Sequence[Lack], settings: Settings
) -> str:
    """Return the command with which a store has what it lacks."""
    options = [option for lack in found for option in lack.options]
    if all(lack.added for lack in found):
        # Durations are aligned on the mels of the store; other features need the recordings.
        corpus = "" if options == ["--feature durations"] else " --corpus CORPUS"
        # The voicing belongs to the pitch.
        arrays = " ".join(f"--array {name}" for lack in found for array in lack.arrays for name in _together(array))
        removing = f"tts-prep remove {store.path} {arrays} && " if arrays else ""
        return f"run: {removing}tts-prep add {store.path}{corpus} {' '.join(options)}"
    # All at once: what was added to the store for another system may not be what this one needs.
    of_system = [*recipe.options(given), *recipe.options_of_ids, *(needed.option for needed in recipe.needs)]
    every = dict.fromkeys([*(of_system if settings == "preset" else []), *options])
    return f"repeat the command that made it with --update {' '.join(every)}"


def _together(array: str) -> tuple[str, ...]:
    """Return the arrays that a feature makes together."""
    return (array, "voiced") if array == "pitch" else (array,)


def check_ids(recipe: Recipe, store: StoreMetadata) -> None:
    """Check that the ids of a store are those of a recipe's system.

    Raises:
        ConfigurationError: symbols or their arrangement differ.
    """
    if different := list(_differences_of_ids(recipe, store)):
        raise ConfigurationError(
            f"{store.path}: not made for {recipe.system}: {_listed(different)}; repeat the command that made it with "
            f"--update {' '.join(recipe.options_of_ids)}"
        )


def as_read(stores: Iterable[StoreMetadata], *, ids: bool) -> list[StoreMetadata]:
    """Return the metadata of stores as far as examples depend on it that have no speaker codes.

    Datasets of such examples can be chained whatever their speakers are, and without ids whatever their vocabularies.
    """
    known = [replace(store, speakers=()) for store in stores]
    return known if ids else [replace(store, symbols=(), pad_id=0, blank_id=0) for store in known]


class StoreCheck:
    """The check of a collate function: `check_store`, once for each store.

    Args:
        recipe: the recipe.
        settings: see `check_store`, as for the other argument.
        given: settings of the system's own configuration.
    """

    def __init__(self, recipe: Recipe, settings: Settings, given: Mapping[str, Any] | None = None) -> None:
        self._recipe, self._settings, self._given = recipe, settings, given or {}
        self._accepted: list[StoreMetadata] = []

    def __call__(self, examples: Iterable[Any]) -> None:
        """Check the stores of those examples that are utterances."""
        self.stores(example.store for example in examples if isinstance(example, Utterance))

    def stores(self, stores: Iterable[StoreMetadata]) -> None:
        """Check stores."""
        for store in stores:
            if not any(store is accepted for accepted in self._accepted):
                check_store(self._recipe, store, self._given, self._settings)
                # Those of the batches of another process are new objects each time.
                self._accepted = [*self._accepted[-_REMEMBERED:], store]


class ChecksStores:
    """Base class of collate functions that check the stores of their utterances."""

    _check: StoreCheck

    def check_stores(self, stores: Iterable[StoreMetadata]) -> None:
        """Check that stores have what the batches need; a `DataLoader` calls this once.

        Raises:
            ConfigurationError: a store lacks something.
        """
        self._check.stores(stores)


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
