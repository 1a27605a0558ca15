"""YAML with ``!ref``, loaded safely: no object is ever constructed. PyYAML is imported when a file is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tts_prep.errors import ConfigurationError, MissingPackageError

_KEY = re.compile(r"<([^<>]*)>")
_MAX_VALUES = 100_000
_MAX_CHARACTERS = 1 << 20


class _Reference(str):
    """The text after ``!ref``, not resolved yet."""


def read_yaml(source: str | Path) -> dict[str, Any]:
    """Read a YAML mapping and resolve its references.

    ``!ref <key>`` alone stands for the value of a key at the root, of whatever type; within a longer text,
    ``!ref <key>/rest``, it becomes text. Lines of nothing but an indented ``...``, with which documents leave
    something out, are skipped.

    Args:
        source: a path, or the YAML itself where it has several lines.

    Raises:
        MissingPackageError: PyYAML is not installed.
        ConfigurationError: the file cannot be read, it is not YAML or has other tags, a
            reference has no key, or references go in a circle, or stand for
            more than 100,000 values.
    """
    try:
        import yaml
    except ImportError as error:
        raise MissingPackageError("reading YAML needs PyYAML: pip install 'tts-prep[yaml]'") from error
    where, text = _text_of(source)
    text = "\n".join("" if line.strip() == "..." and line[0] in " \t" else line for line in text.splitlines())

    class Loader(yaml.SafeLoader):  # type: ignore[misc, unused-ignore]
        """Constructs plain values and references only; refuses a key that stands twice."""

    def construct_mapping(loader: Any, node: Any) -> dict[Any, Any]:
        value: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool) or key in value:
                line = key_node.start_mark.line + 1
                raise ConfigurationError(f"{where}:{line}: the key {key!r} stands twice, or is not a plain one")
            value[key] = loader.construct_object(value_node, deep=True)
        return value

    Loader.add_constructor("!ref", _construct_reference)
    Loader.add_constructor("tag:yaml.org,2002:map", construct_mapping)
    try:
        value = yaml.load(text, Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(f"{where}: not YAML that can be used ({' '.join(str(error).split())})") from error
    if not isinstance(value, dict):
        raise ConfigurationError(f"{where}: expected a mapping, found {type(value).__name__}")
    try:
        resolved: dict[str, Any] = _Resolver(where, value).resolve(value)
    except RecursionError as error:
        raise ConfigurationError(f"{where}: nested too deeply") from error
    return resolved


def _construct_reference(loader: Any, node: Any) -> _Reference:
    return _Reference(loader.construct_scalar(node))


def _text_of(source: str | Path) -> tuple[str, str]:
    if isinstance(source, str) and "\n" in source:
        return "the YAML", source
    try:
        return str(source), Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{source}: cannot be read ({error})") from error


class _Resolver:
    """Puts the values of root keys in the place of references to them."""

    def __init__(self, where: str, root: Mapping[str, Any]) -> None:
        self._where = where
        self._root = root
        self._on_the_way: list[str] = []
        self._count = 0

    def resolve(self, value: Any) -> Any:
        # Aliases and references can make a few lines stand for more values than there is memory.
        self._count += 1
        if self._count > _MAX_VALUES or (isinstance(value, str) and len(value) > _MAX_CHARACTERS):
            raise ConfigurationError(
                f"{self._where}: aliases and references make more than {_MAX_VALUES:,} values or {_MAX_CHARACTERS:,} "
                "characters of it; no recipe has as many"
            )
        if isinstance(value, _Reference):
            return self._follow(value)
        if isinstance(value, dict):
            return {key: self.resolve(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.resolve(part) for part in value]
        return value

    def _follow(self, reference: _Reference) -> Any:
        keys = _KEY.findall(reference)
        if not keys:
            raise ConfigurationError(f"{self._where}: '!ref {reference}' names no <key>")
        if _KEY.fullmatch(reference):
            return self._value(keys[0])
        return self.resolve(_KEY.sub(lambda found: str(self._value(found[1])), reference))

    def _value(self, key: str) -> Any:
        if key not in self._root:
            raise ConfigurationError(f"{self._where}: !ref <{key}>: no key of this name at the root")
        if key in self._on_the_way:
            circle = " → ".join([*self._on_the_way, key])
            raise ConfigurationError(f"{self._where}: references go in a circle: {circle}")
        self._on_the_way.append(key)
        try:
            return self.resolve(self._root[key])
        finally:
            self._on_the_way.pop()
