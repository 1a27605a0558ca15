"""Decode the JSON records of a store: the only place that handles missing values and wrong types."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import CorruptStoreError, StoreError
from tts_prep.format.layout import OLDEST, VERSION, version_text

MAX_COUNT: Final = 1 << 60
"""The maximum of any size, number of rows or offset in a store."""

_MAX_SHOWN = 60


def shown(value: object) -> str:
    """Return a value as text for a message, in at most 60 characters."""
    try:
        text = ascii(value) if isinstance(value, str) and len(value) <= _MAX_SHOWN else ascii(reprlib.repr(value))[1:-1]
    except ValueError:  # an integer with more digits than Python converts
        text = f"an integer of {value.bit_length():,} bits" if isinstance(value, int) else "a value"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def parse_json(where: Path | str, text: str) -> Any:
    """Parse strict JSON, without NaN and infinities.

    Raises:
        CorruptStoreError: it is not JSON, or contains a lone surrogate, which has no UTF-8.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise CorruptStoreError(f"{where}: not JSON ({error})") from error
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


class Record:
    """A JSON object whose values are checked on access.

    Args:
        where: the file, and the place in it, for messages: ``"store/manifest.json"``, ``"shards/00000.h5: header"``.
        value: the parsed JSON.

    Raises:
        CorruptStoreError: it is not an object. Every method raises it for a missing key or a wrong type or range.
    """

    def __init__(self, where: Path | str, value: object) -> None:
        if not isinstance(value, dict):
            raise CorruptStoreError(f"{where}: expected a JSON object, found {shown(value)}")
        self.where = where
        self.values: Mapping[str, Any] = value

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def fault(self, key: str, expected: str) -> CorruptStoreError:
        """Return the error for a key whose value is not as expected."""
        name = shown(key)
        if key not in self.values:
            return CorruptStoreError(f"{self.where}: {name} is missing, expected {expected}")
        return CorruptStoreError(f"{self.where}: {name}: expected {expected}, found {shown(self.values[key])}")

    def text(self, key: str, *, limit: int = 1 << 20) -> str:
        """Return a text."""
        value = self.values.get(key)
        if not isinstance(value, str) or len(value) > limit:
            raise self.fault(key, f"a text of at most {limit:,} characters")
        return value

    def integer(self, key: str, low: int = 0, high: int = MAX_COUNT) -> int:
        """Return an integer from ``low`` to ``high``."""
        value = self.values.get(key)
        if type(value) is not int or not low <= value <= high:
            raise self.fault(key, f"an integer from {low:,} to {high:,}")
        return value

    def number(self, key: str, low: float = -1e300, high: float = 1e300) -> float:
        """Return a finite number from ``low`` to ``high``, as a float."""
        value = self.values.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise self.fault(key, f"a number from {low:g} to {high:g}")
        return float(value)

    def mapping(self, key: str) -> dict[str, Any]:
        """Return an object as a dict."""
        value = self.values.get(key)
        if not isinstance(value, dict):
            raise self.fault(key, "an object")
        return value

    def record(self, key: str) -> Record:
        """Return an object as a record."""
        return Record(f"{self.where}: '{shown(key)[1:-1]}'", self.mapping(key))

    def items(self, key: str) -> list[Any]:
        """Return a list of any items."""
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.fault(key, "a list")
        return value

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        value = self.items(key)
        if not all(isinstance(item, str) for item in value):
            raise self.fault(key, "a list of texts")
        return value

    def numbers(self, key: str, n: int, low: float = -1e100, high: float = 1e100) -> list[float]:
        """Return a list of ``n`` finite numbers from ``low`` to ``high``.

        With the default bounds, squares of the values times a count do not overflow.
        """
        value = self.items(key)
        if len(value) != n or not all(type(item) in (int, float) and low <= item <= high for item in value):
            raise self.fault(key, f"a list of {n:,} numbers from {low:g} to {high:g}")
        return value

    def text_mapping(self, key: str) -> dict[str, str]:
        """Return an object whose values are texts."""
        value = self.mapping(key)
        if not all(isinstance(item, str) for item in value.values()):
            raise self.fault(key, "an object whose values are texts")
        return value


def check_version(where: Path | str, version: object) -> None:
    """Parse a version; this minor version of the known major version and any later one are accepted.

    Raises:
        StoreError: the version is older, or the major version is unknown.
        CorruptStoreError: it is not a version.
    """
    text = version if isinstance(version, str) else ""
    major, dot, minor = text.partition(".")
    if not (dot and major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit() and len(text) < 20):
        raise CorruptStoreError(f"{where}: expected a version like '{version_text()}', found {shown(version)}")
    if int(major) != VERSION[0] or int(minor) < OLDEST[1]:
        raise StoreError(
            f"{where}: format version {text}; this tts-prep reads {version_text(OLDEST)} and later {VERSION[0]}.x: "
            "install the release that made the store, or make the store again"
        )
