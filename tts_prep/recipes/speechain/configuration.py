"""Configuration files: their groups, and checks of what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tts_prep.errors import ConfigurationError
from tts_prep.recipes.ref_yaml import read_yaml

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
