"""Presets: the mel settings of public vocoders and acoustic models.

All presets are data (``presets.json``) for the same code, `tts_prep.preprocess.audio.mel`.
``tests/preprocess/audio/test_presets.py`` compares each with an independent implementation, ``conformance/presets.py``
with the code of its source.
"""

import importlib.resources
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.config import Compression, MelConfig, ReadingConfig


@dataclass(frozen=True)
class Preset:
    """A preset: named settings of a system, with their source.

    Attributes:
        name: the name of the preset.
        config: the mel settings.
        source: the system, a colon, and the place of the settings in its code.
        reading: the system's settings for reading recordings.
        text: the system's settings of text, as in the table ``text`` of a configuration file; other settings have their
            defaults.
    """

    name: str
    config: MelConfig
    source: str
    reading: ReadingConfig = field(default_factory=ReadingConfig)
    text: Mapping[str, Any] = field(default_factory=dict)


def _presets() -> tuple[Preset, ...]:
    """Return the presets of ``presets.json``: by name, the source and the settings that differ from the defaults."""
    text = importlib.resources.files(__package__).joinpath("presets.json").read_text("utf-8")
    return tuple(_preset(name, **row) for name, row in json.loads(text).items())


def _preset(
    name: str,
    source: str,
    audio: Mapping[str, Any] = MappingProxyType({}),
    reading: Mapping[str, Any] = MappingProxyType({}),
    text: Mapping[str, Any] = MappingProxyType({}),
    note: str = "",  # noqa: ARG001 - why the settings are so, for readers of the file
) -> Preset:
    settings = dict(audio)
    if "compression" in settings:
        settings["compression"] = Compression(**settings["compression"])
    return Preset(name, MelConfig(**settings), source, ReadingConfig(**reading), dict(text))


_ALL: Final = _presets()
PRESETS: Final[Mapping[str, MelConfig]] = MappingProxyType({preset.name: preset.config for preset in _ALL})
DESCRIPTIONS: Final[Mapping[str, Preset]] = MappingProxyType({preset.name: preset for preset in _ALL})
DEFAULT_PRESET: Final = "parakeet"


def get_preset(name: str) -> Preset:
    """Return a preset by name.

    Raises:
        ConfigurationError: there is no preset of that name.
    """
    if name not in DESCRIPTIONS:
        near = _nearest(name)
        hint = f"did you mean {near!r}?" if near else "'tts-prep presets' lists them"
        raise ConfigurationError(f"preset: unknown preset {name!r}; {hint}")
    return DESCRIPTIONS[name]


def _nearest(name: str) -> str | None:
    """Return the name of the most similar preset, ignoring case and punctuation."""
    import difflib

    letters = {"".join(filter(str.isalnum, known)): known for known in DESCRIPTIONS}
    query = "".join(filter(str.isalnum, name.casefold()))
    near = difflib.get_close_matches(query, letters, 1) or [
        known for known in letters if len(query) > 2 and known.startswith(query)
    ]
    return letters[near[0]] if near else None
