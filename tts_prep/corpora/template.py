"""Templates of lines and paths, such as ``{id}|{text}`` and ``{speaker}/wav/{id}.wav``: read from texts, and written.

A template is no regular expression: a text is read from both ends without going back, in time that grows with its
length, whoever wrote the template and the text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PureWindowsPath
from typing import Final

from tts_prep.errors import ConfigurationError

_PLACE: Final = re.compile(r"\{(?P<name>[a-z_][a-z0-9_]*|)(?::(?P<change>[a-z]+))?\}|(?P<any>\*)")
_CHANGES: Final[Mapping[str, Callable[[str], str]]] = {
    "lower": str.lower,
    "upper": str.upper,
    "joined": lambda text: "".join(text.split()),
    "name": lambda path: PureWindowsPath(path).name,
    "stem": lambda path: PureWindowsPath(path).stem,
    "base": lambda path: path.rpartition(".")[0] or path,
}
_SEPARATORS: Final = ("|", "\t")
_SPACE: Final = re.compile(r"\s+")
_WHOLE: Final = "text"
"""The placeholder that may contain what separates the others."""


@dataclass(frozen=True)
class Template:
    """A text with placeholders ``{name}``; ``{}`` and ``*`` are values without a name.

    A space stands for any white space, and values have none at their ends. Values other than ``{text}`` end at the
    first place where what follows them is found; bars and tabs that separate values are in none of them. When a
    template is written, ``{name:lower}``, ``{name:upper}``, ``{name:joined}`` (without white space), and of a path
    ``{name:name}``, ``{name:stem}`` (its name without suffix) and ``{name:base}`` (the path without it) change a value.
    """

    source: str

    @cached_property
    def _parts(self) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """What is between the placeholders, one more than these; and names and changes."""
        found = [*_PLACE.finditer(self.source)]
        ends = [0, *(place.end() for place in found)]
        starts = [*(place.start() for place in found), len(self.source)]
        between = tuple(self.source[end:start] for end, start in zip(ends, starts, strict=True))
        return between, tuple((place["name"] or "", place["change"] or "") for place in found)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the placeholders."""
        return tuple(name for name, _ in self._parts[1] if name)

    def check(self, where: str) -> None:
        """Check the form of a template.

        Raises:
            ConfigurationError: a brace is no part of a placeholder, a change is unknown, or nothing is between two.
        """
        between, places = self._parts
        if any("{" in text or "}" in text for text in between):
            raise ConfigurationError(f"{where}: expected placeholders such as {{id}} or {{}}, found {self.source!r}")
        if wrong := [change for _, change in places if change and change not in _CHANGES]:
            raise ConfigurationError(f"{where}: expected one of {', '.join(_CHANGES)} after ':', found {wrong[0]!r}")
        if "" in between[1:-1]:
            raise ConfigurationError(f"{where}: expected something between two placeholders, found {self.source!r}")

    def read(self, text: str) -> dict[str, str] | None:
        """Return the values of the placeholders in a text, or None if it has another form."""
        between, places = self._parts
        if not places:
            return {} if text.strip() == self.source.strip() else None
        rest = _without_start(text, between[0])
        rest = None if rest is None else _without_end(rest, between[-1])
        if rest is None:
            return None
        # What a change has made of a value is not the value.
        names = ["" if change else name for name, change in places]
        whole = names.index(_WHOLE) if _WHOLE in names else len(names) - 1
        before, after = [], []
        for separator in between[1 : whole + 1]:
            value, rest = _split(rest, separator)
            if rest is None:
                return None
            before.append(value)
        for separator in reversed(between[whole + 1 : -1]):
            value, rest = _split_last(rest, separator)
            if rest is None:
                return None
            after.append(value)
        values = [value.strip() for value in (*before, rest, *reversed(after))]
        if any(mark in value for mark in _SEPARATORS if mark in self.source for value in values):
            return None
        found: dict[str, str] = {}
        for name, value in zip(names, values, strict=True):
            if name and found.setdefault(name, value) != value:
                return None
        return found

    def write(self, values: Mapping[str, str], quoted: Callable[[str], str] = str) -> str:
        """Return the text with values; what has none is ``*``."""
        between, places = self._parts
        between = between if quoted is str else tuple(map(quoted, between))
        texts = [
            quoted(_CHANGES[change](values[name]) if change else values[name]) if name in values else "*"
            for name, change in places
        ]
        return between[0] + "".join(text + after for text, after in zip(texts, between[1:], strict=True))

    def is_filled_by(self, values: Mapping[str, str]) -> bool:
        """Return whether there is a value for each placeholder that is not empty."""
        return all(values.get(name) for name, _ in self._parts[1])


def _without_start(text: str, start: str) -> str | None:
    for part in start.split(" "):
        text = text.lstrip() if " " in start else text
        if not text.startswith(part):
            return None
        text = text[len(part) :]
    return text


def _without_end(text: str, end: str) -> str | None:
    for part in reversed(end.split(" ")):
        text = text.rstrip() if " " in end else text
        if not text.endswith(part):
            return None
        text = text[: len(text) - len(part)]
    return text


def _split(text: str, separator: str) -> tuple[str, str | None]:
    """Split at the first place of a separator; the second part is None if there is none."""
    core = separator.strip(" ")
    if not core:
        found = _SPACE.search(text, len(text) - len(text.lstrip()))
        return (text[: found.start()], text[found.end() :]) if found else ("", None)
    value, mark, rest = text.partition(core)
    return value, rest if mark else None


def _split_last(text: str, separator: str) -> tuple[str, str | None]:
    """Split at the last place of a separator; return what is behind it, and what is before it."""
    core = separator.strip(" ")
    if not core:
        parts = text.rsplit(maxsplit=1)
        return (parts[1], parts[0]) if len(parts) == 2 else ("", None)
    rest, mark, value = text.rpartition(core)
    return value, rest if mark else None
