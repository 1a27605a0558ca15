"""Configurations of other systems as files: JSON with comments, YAML with references and base files, with limits.

What the files of each system mean is in `tts_prep.vocoders.systems`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import ConfigurationError, MissingPackageError
from tts_prep.format.files.paths import read_regular
from tts_prep.preprocess.audio.config import MelConfig

_MAX_BYTES: Final = 1 << 17
"""The maximum length of a file, which PyYAML reads in some seconds; those of vocoders have some thousand bytes."""

_MAX_BASES: Final = 8
"""The maximum number of files that a file is based on."""

_MAX_FOLDERS: Final = 12
"""The number of folders around a file in which the file is looked for that it is based on."""

# The names of a setting in the files of all systems; two of them in one table must not contradict each other.
_NAMES: Final = {
    "sample_rate": ("sampling_rate", "sample_rate", "target_sample_rate", "audio_sample_rate", "sr"),
    "n_fft": ("n_fft", "filter_length", "fft_size"),
    "win_length": ("win_size", "win_length", "n_window_size"),
    "hop_length": ("hop_size", "hop_length", "n_window_stride"),
    "n_mels": ("num_mels", "n_mel_channels", "n_mels", "n_mel", "nfilt", "n_feats", "audio_num_mel_bins"),
    "fmin": ("fmin", "mel_fmin", "lowfreq", "f_min"),
    "fmax": ("fmax", "mel_fmax", "highfreq", "f_max"),
}
# A text or comment without an end reaches to that of the file, so that no later one is searched through it again.
_COMMENT: Final = re.compile(r'("(?:\\.|[^"\\])*(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING_COMMA: Final = re.compile(r'("(?:\\.|[^"\\])*(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)
_UNQUOTED: Final = re.compile(r'("(?:\\.|[^"\\])*(?:"|\Z))|(\b[A-Za-z_]\w*)(?=\s*:)', re.DOTALL)
_REFERENCE: Final = re.compile(r"\$\{([\w.]{1,200})\}|<([\w.]{1,200})>")
_MAX_REFERENCES: Final = 8


def read_table(path: Path) -> ConfigTable:
    """Return the settings of a file, over those of the files that it names as its ``base_config`` or ``defaults``.

    Raises:
        ConfigurationError: it is neither JSON nor YAML, or a file that it is based on is missing.
        MissingPackageError: it is YAML, and PyYAML is not installed.
    """
    value = _parsed(path)
    return ConfigTable(_with_bases(path, value, []) if isinstance(value, Mapping) else value)


def _with_bases(path: Path, value: Mapping[str, Any], read: list[Path]) -> Mapping[str, Any]:
    """Return settings over those of the file that they are based on, as Amphion, openvpi and Hydra join them.

    Args:
        read: the files that were read for the first one; those of this one are added.
    """
    merged: Mapping[str, Any] = {}
    for base in _bases(path, value):
        if len(read) == _MAX_BASES:
            raise ConfigurationError(f"{path}: based on more than {_MAX_BASES} files, or on itself")
        read.append(base)
        found = _parsed(base)
        if isinstance(found, Mapping):
            merged = _joined(merged, _with_bases(base, found, read))
    return _joined(merged, value)


def _bases(path: Path, value: Mapping[str, Any]) -> list[Path]:
    """Return the files that a file is based on, as far as they are there."""
    named = value.get("base_config")
    if isinstance(named, str | list):
        names = [named] if isinstance(named, str) else named
        paths = [_beside(path, name) for name in names[:_MAX_BASES] if isinstance(name, str) and name]
        return [base for base in paths if base]
    defaults = value.get("defaults")
    # Of Matcha-TTS: names of files beside this one. Others of Hydra's, which are tables, hold no mels.
    names = [name for name in defaults[:_MAX_BASES] if isinstance(name, str)] if isinstance(defaults, list) else []
    beside = [path.with_name(f"{name}.yaml") for name in names if re.fullmatch(r"[\w-]{1,100}", name)]
    return [base for base in beside if base.is_file()]


def _beside(path: Path, name: str) -> Path | None:
    """Return the file of a relative name, in the folder of a file or one around it; None if there is none."""
    relative = Path(name)
    if relative.is_absolute() or ".." in relative.parts or len(name) > 500:
        return None
    folders = path.absolute().parents[:_MAX_FOLDERS]
    return next((folder / relative for folder in folders if (folder / relative).is_file()), None)


def _joined(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    joined = dict(base)
    for name, value in over.items():
        under = joined.get(name)
        both = isinstance(under, Mapping) and isinstance(value, Mapping)
        joined[name] = _joined(under, value) if both else value  # type: ignore[arg-type]
    return joined


def _parsed(path: Path) -> Any:
    try:
        data = read_regular(path, _MAX_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror})") from error
    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    kind = "YAML" if is_yaml else "JSON"
    try:
        text = data.decode("utf-8-sig")
        if is_yaml:
            return safe_load(text)
        # Amphion and Coqui write comments, commas before brackets, and names without quotation marks.
        for pattern in (_COMMENT, _TRAILING_COMMA):
            text = pattern.sub(lambda found: found[1] or "", text)
        text = _UNQUOTED.sub(lambda found: found[1] or f'"{found[2]}"', text)
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigurationError(
            f"{path}: not {kind} ({reason}); expected the configuration file of a vocoder or model"
        ) from error


class ConfigTable:
    """A mapping of a configuration, whose values are checked when they are read.

    Args:
        value: the mapping.
        where: the names that lead to it, with dots.
        top: the whole configuration, which ``${name}`` refers to, as in NeMo's.
    """

    def __init__(self, value: Any, where: str = "", top: Mapping[str, Any] | None = None) -> None:
        self.value: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
        self.where = where
        self.top = self.value if top is None else top

    def table(self, *names: str) -> ConfigTable:
        """Return a table in this one; an empty one if it has none."""
        found: Any = self.value
        for name in names:
            found = found.get(name) if isinstance(found, Mapping) else None
        return ConfigTable(found, ".".join((*filter(None, [self.where]), *names)) + ".", self.top)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or the one that ``${name}``, ``${table.name}`` or ``<name>`` refers to."""
        value = self.value.get(name, default)
        for _ in range(_MAX_REFERENCES):
            reference = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
            if not reference:
                return value
            value = self.top
            for part in (reference[1] or reference[2]).split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
        raise ConfigurationError(f"'{self.where}{name}' refers to more than {_MAX_REFERENCES} others")

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number.

        Raises:
            ConfigurationError: it is another value.
        """
        value = self.get(name, default)
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+", value):
            value = float(value)  # YAML 1.1 reads 1e-05 as text
        if type(value) not in (int, float) or (type(value) is float and not math.isfinite(value)):
            raise ConfigurationError(f"expected a number for '{self.where}{name}', found {short(value)}")
        self._check_size(name, value)
        return float(value)

    def refuse(self, name: str, *accepted: Any) -> None:
        """Check that a setting is not there, or has a value that this reader knows.

        Raises:
            ConfigurationError: it has another value.
        """
        if (value := self.get(name)) not in (None, *accepted):
            raise ConfigurationError(
                f"'{self.where}{name}': {short(value)} is not supported; give the settings by --config"
            )

    def config(self, base: MelConfig, **defaults: Any) -> MelConfig:
        """Return ``base`` with the lengths, the rate and the band of this table.

        Raises:
            ConfigurationError: one is missing, no number, or given twice with different values.
        """
        found = {setting: self.named(setting) for setting in _NAMES}
        missing = [
            _usual_name(self.value, setting)
            for setting, name in found.items()
            if name is None and setting not in defaults
        ]
        if missing:
            names = ", ".join(self.where + name for name in missing)
            raise ConfigurationError(f"it has no mel, none of {names}")
        values: dict[str, Any] = {}
        for setting, name in found.items():
            if name is None or (self.get(name) is None and setting in defaults):
                values[setting] = defaults[setting]
            elif setting == "fmax" and self.get(name) is None:
                values[setting] = None
            elif setting in ("fmin", "fmax"):
                values[setting] = self.number(name)
            else:
                values[setting] = self._whole(name)
        if values["win_length"] is None:
            values["win_length"] = values["n_fft"]
        if values["fmax"] is None:
            values["fmax"] = values["sample_rate"] / 2
        return replace(base, **values)

    def named(self, setting: str) -> str | None:
        """Return the name that the table has for a setting; None if it has none."""
        names = [name for name in _NAMES[setting] if name in self.value]
        values = [self.get(name) for name in names]
        for name, value in zip(names, values, strict=True):
            if value != values[0]:
                raise ConfigurationError(
                    f"'{self.where}{names[0]}' is {short(values[0])} and '{self.where}{name}' is {short(value)}; "
                    "both are the same setting: correct the wrong one"
                )
        return names[0] if names else None

    def _whole(self, name: str) -> int:
        value = self.get(name)
        if type(value) is not int:
            raise ConfigurationError(f"expected a number for '{self.where}{name}', found {short(value)}")
        self._check_size(name, value)
        return value

    def _check_size(self, name: str, value: float) -> None:
        if isinstance(value, int) and abs(value) >= 1 << 63:
            raise ConfigurationError(f"'{self.where}{name}': a number of {value.bit_length()} bits is too large")


def _usual_name(table: Mapping[str, Any], setting: str) -> str:
    """Return the name of a missing setting in the system that the other names are of: HiFi-GAN, VITS or NeMo."""
    place = {"filter_length": 1, "n_window_size": -1, "n_window_stride": -1}
    return _NAMES[setting][next((number for name, number in place.items() if name in table), 0)]


def short(value: object) -> str:
    """Return a value for a message; a long one by its type."""
    text = repr(value)
    return text if len(text) <= 60 else f"a value of type {type(value).__name__}"


_MAX_MERGES: Final = 16
_MAX_MERGED: Final = 10_000
_MAX_VALUES: Final = 100_000
_MAX_NUMBER: Final = 400
"""The length of a number. PyYAML reads ``1:30:…`` in base 60, which takes quadratic time."""


def safe_load(text: str) -> Any:
    """Return the plain values of a text in YAML, also those that a tag such as ``!new:NAME`` would make something of.

    Raises:
        MissingPackageError: PyYAML is not installed.
        ValueError: the text is not YAML, or has references to references that make more than 100,000 values.
    """
    loader = safe_loader("configurations in YAML")
    import yaml

    loader.add_multi_constructor("!", _plain)
    try:
        value = yaml.load(text, loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    n_values, left = 0, [value]
    while left:
        n_values += 1
        if n_values > _MAX_VALUES:
            raise ValueError(f"more than {_MAX_VALUES:,} values")
        found = left.pop()
        left += found.values() if isinstance(found, dict) else found if isinstance(found, list | set | tuple) else ()
    return value


def _plain(loader: Any, _tag: str, node: Any) -> Any:
    """Return the values of a node, whatever its tag would make of them."""
    if node.id == "mapping":
        return loader.construct_mapping(node, deep=True)
    if node.id == "sequence":
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


def safe_loader(what: str) -> Any:
    """Return a new class of a loader of plain values.

    Merges (``<<``) can double a mapping in every line: 30 lines would fill the memory.

    Args:
        what: what needs PyYAML, for the message.

    Raises:
        MissingPackageError: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise MissingPackageError(
            f"{what} need PyYAML, which is not installed: pip install 'tts-prep[yaml]'"
        ) from error

    def fail(node: Any, problem: str) -> Exception:
        error: Exception = yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return error

    class Loader(yaml.SafeLoader):  # type: ignore[misc, unused-ignore]
        """Construct plain values, not more of them than the file is long."""

        n_merged = 0

        def flatten_mapping(self, node: Any) -> None:
            merged = [value for key, value in node.value if key.tag == "tag:yaml.org,2002:merge"]
            n_merges = sum(len(value.value) if isinstance(value, yaml.SequenceNode) else 1 for value in merged)
            if n_merges > _MAX_MERGES:
                raise fail(node, f"merges {n_merges:,} mappings, expected at most {_MAX_MERGES}")
            super().flatten_mapping(node)
            self.n_merged += len(node.value) if merged else 0
            if self.n_merged > _MAX_MERGED:
                raise fail(node, f"merges of more than {_MAX_MERGED:,} values")

    def number(construct: Any) -> Any:
        def limited(loader: Any, node: Any) -> Any:
            if len(node.value) > _MAX_NUMBER:
                raise fail(node, f"a number of {len(node.value):,} characters")
            return construct(loader, node)

        return limited

    Loader.add_constructor("tag:yaml.org,2002:int", number(yaml.SafeLoader.construct_yaml_int))
    Loader.add_constructor("tag:yaml.org,2002:float", number(yaml.SafeLoader.construct_yaml_float))
    return Loader
