"""Configuration files: YAML with ``!ref``, read without constructing objects; groups, and checks of what they hold."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tts_prep.errors import ConfigurationError
from tts_prep.format.files.paths import read_regular
from tts_prep.vocoders.files import safe_loader

_KEY = re.compile(r"<([^<>]*)>")
_ELEMENT = re.compile(r"(.*)\[(\d+)\]")
_MAX_VALUES = 100_000
_MAX_CHARACTERS = 1 << 20
_MAX_BYTES = 1 << 18
"""The maximum length of a file, which PyYAML reads in some seconds."""


class _Reference(str):
    """The text after ``!ref``, not yet resolved."""


def read_yaml(source: str | Path) -> dict[str, Any]:
    """Read a YAML mapping and resolve its references.

    ``!ref <key>`` alone is replaced by the value of a key at the root, of any type; within a longer text,
    ``!ref <key>/rest``, the value is inserted as text. ``<key[0]>`` is the first element of a list. Values tagged
    ``!str``, ``!list`` or ``!tuple`` stay text or lists of text. Lines that consist of an indented ``...``, an ellipsis
    in documentation, are skipped.

    Args:
        source: a path, or a multi-line string of YAML.

    Raises:
        MissingPackageError: PyYAML is not installed.
        ConfigurationError: the file cannot be read, is not YAML, or has other tags; a reference has no key, is
            circular, or expands to more than 100,000 values.
    """
    loader = safe_loader("files of SpeeChain")
    import yaml

    where, text = _text_of(source)
    text = "\n".join("" if line.strip() == "..." and line[0] in " \t" else line for line in text.splitlines())
    try:
        value = yaml.load(text, _with_references(loader, where))
    # A number in base 60, such as 1:30, can be too large for a float.
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(f"{where}: invalid YAML ({' '.join(str(error).split())})") from error
    if not isinstance(value, dict):
        raise ConfigurationError(f"{where}: expected a mapping, found {type(value).__name__}")
    try:
        resolved: dict[str, Any] = _Resolver(where, value).resolve(value)
    except RecursionError as error:
        raise ConfigurationError(f"{where}: nested too deeply") from error
    return resolved


def _with_references(loader: Any, where: str) -> Any:
    """Return a loader of plain values and references only, which refuses repeated keys."""

    def construct_mapping(loader: Any, node: Any) -> dict[Any, Any]:
        value: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool) or key in value:
                line = key_node.start_mark.line + 1
                raise ConfigurationError(f"{where}:{line}: the key {key!r} is repeated or not a scalar")
            value[key] = loader.construct_object(value_node, deep=True)
        return value

    loader.add_constructor("!ref", _construct_reference)
    for tag in ("!str", "!list", "!tuple"):
        loader.add_constructor(tag, _construct_text)
    loader.add_constructor("tag:yaml.org,2002:map", construct_mapping)
    return loader


def _construct_reference(loader: Any, node: Any) -> _Reference:
    return _Reference(loader.construct_scalar(node))


def _construct_text(_: Any, node: Any) -> Any:
    return node.value if isinstance(node.value, str) else [child.value for child in node.value]


def _text_of(source: str | Path) -> tuple[str, str]:
    if isinstance(source, str) and "\n" in source:
        return "the YAML", source
    try:
        return str(source), read_regular(Path(source), _MAX_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{source}: cannot be read ({error})") from error


class _Resolver:
    """Replaces references by the values of root keys."""

    def __init__(self, where: str, root: Mapping[str, Any]) -> None:
        self._where = where
        self._root = root
        self._resolving: list[str] = []
        self._count = 0

    def resolve(self, value: Any) -> Any:
        # Aliases and references can expand a few lines to more values than fit into memory.
        self._count += 1
        if self._count > _MAX_VALUES or (isinstance(value, str) and len(value) > _MAX_CHARACTERS):
            raise ConfigurationError(
                f"{self._where}: aliases and references expand to more than {_MAX_VALUES:,} values or "
                f"{_MAX_CHARACTERS:,} characters"
            )
        if isinstance(value, _Reference):
            return self._follow(value)
        if isinstance(value, dict):
            return {key: self.resolve(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.resolve(item) for item in value]
        return value

    def _follow(self, reference: _Reference) -> Any:
        keys = _KEY.findall(reference)
        if not keys:
            raise ConfigurationError(f"{self._where}: '!ref {reference}' names no <key>")
        if _KEY.fullmatch(reference):
            return self._value(keys[0])
        return self.resolve(_KEY.sub(lambda match: str(self._value(match[1])), reference))

    def _value(self, key: str) -> Any:
        element = _ELEMENT.fullmatch(key)
        if element:
            elements = self._value(element[1])
            if not isinstance(elements, list) or int(element[2]) >= len(elements):
                raise ConfigurationError(f"{self._where}: !ref <{key}>: '{element[1]}' is no list with such an element")
            return elements[int(element[2])]
        if key not in self._root:
            raise ConfigurationError(f"{self._where}: !ref <{key}>: no key of this name at the root")
        if key in self._resolving:
            circle = " → ".join([*self._resolving, key])
            raise ConfigurationError(f"{self._where}: circular references: {circle}")
        self._resolving.append(key)
        try:
            return self.resolve(self._root[key])
        finally:
            self._resolving.pop()


GROUPS = ({"train", "valid", "test"}, {"train", "valid"}, {"test"})


def read_config(source: str | Path) -> dict[str, dict[str, Any]]:
    """Read the groups of a configuration: ``train``, ``valid`` and ``test``, with ``!ref`` resolved.

    The groups stand at the root, as in ``data_cfg/*.yaml``, or below ``data_cfg``, as in ``exp_cfg/*.yaml``. Other keys
    at the root may be plain values or lists for ``!ref``; beside ``data_cfg`` anything is allowed.

    Raises:
        ConfigurationError: the file is missing or is not such YAML, or its combination of groups is not allowed.
    """
    root = read_yaml(source)
    names = {"train", "valid", "test"}
    if isinstance(root.get("data_cfg"), dict):
        root = root["data_cfg"]
    for key, value in root.items():
        if key not in names and isinstance(value, dict):
            raise ConfigurationError(f"the key '{key}' is unknown; groups are train, valid and test")
    groups = {name: value for name, value in root.items() if name in names}
    if set(groups) not in GROUPS:
        raise ConfigurationError(
            f"expected the groups train, valid and test, train and valid, or test; found {', '.join(groups) or 'none'}"
        )
    for name, group in groups.items():
        if not isinstance(group, dict) or not group:
            raise ConfigurationError(f"{name}: expected an iterator, or several by name")
    return groups


def check_keys(where: str, config: Any, allowed: set[str], needed: set[str]) -> None:
    """Raise ConfigurationError unless `config` is a mapping of allowed keys that has all the needed ones."""
    if not isinstance(config, Mapping):
        raise ConfigurationError(f"{where}: expected keys {', '.join(sorted(needed))}, found {config!r}")
    for key in config:
        if key not in allowed:
            raise ConfigurationError(f"{where}: the key '{key}' is unknown; there are {', '.join(sorted(allowed))}")
    for key in sorted(needed):
        if config.get(key) is None:
            raise ConfigurationError(f"{where}: the key '{key}' is missing")


_INTEGERS = {"batch_len", "batch_size", "batches_per_epoch", "seed", "num_workers"}
_OPTIONAL = {"batch_len", "batch_size", "batches_per_epoch"}
_BOOLEANS = {"shuffle", "pin_memory", "distributed"}


def check_types(where: str, conf: Mapping[str, Any]) -> None:
    """Raise ConfigurationError where a number or a switch of an iterator has another type or is out of range."""
    for key, value in conf.items():
        if value is None and key in _OPTIONAL:
            continue
        lowest = 0 if key in ("seed", "num_workers") else 1
        if key in _INTEGERS and (type(value) is not int or value < lowest):
            raise ConfigurationError(f"{where}.{key}: expected an integer >= {lowest}, found {value!r}")
        if key in _BOOLEANS and type(value) is not bool:
            raise ConfigurationError(f"{where}.{key}: expected true or false, found {value!r}")


def check_paths(where: str, paths: Any) -> list[str]:
    """Return a path, or a list of them, as a list.

    Raises:
        ConfigurationError: it is neither.
    """
    found = [paths] if isinstance(paths, str | Path) else paths
    if not isinstance(found, list | tuple) or not found or not all(isinstance(path, str | Path) for path in found):
        raise ConfigurationError(f"{where}: expected a path or a list of paths, found {paths!r}")
    return [str(path) for path in found]
