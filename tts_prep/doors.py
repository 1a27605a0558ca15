"""Doors: the kinds of things that can be brought, and one table of what is there.

A *row* names a thing, such as a corpus, by ``module:object``; the module is imported when the thing is used. The rows
of the core are in ``core.json``. A *room* is a folder of this package with a file ``room.json``, which has its rows:
the core does not name it, and works without it. Another package brings rows in the same form, as entry points of the
group ``tts_prep.DOOR``.
"""

import importlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from tts_prep.errors import ConfigurationError, MissingPackageError, described, one_line

_FOLDER: Final = Path(__file__).parent

ANY: Final = "*"
"""The name of a row for the names that no other row has, such as the schemes of URLs."""


@dataclass(frozen=True)
class Row:
    """A thing that is brought.

    Attributes:
        name: its name, as users type it.
        place: ``module:object``.
        about: what it is, in a line.
        group: the title above it in lists.
        keys: what it is chosen by besides its name, such as languages.
        first: whether it comes before the others of its group.
        is_foreign: whether another package brings it.
    """

    name: str
    place: str
    about: str = ""
    group: str = ""
    keys: tuple[str, ...] = ()
    first: bool = False
    is_foreign: bool = False

    def load(self) -> Any:
        """Import the module, and return the object."""
        module, _, name = self.place.partition(":")
        return attrgetter(name)(importlib.import_module(module))


@dataclass(frozen=True)
class Room:
    """What a folder of this package brings.

    Attributes:
        rows: rows by door.
        needs: the rooms that it imports.
        libraries: the extra that installs each library, by the library's import name.
    """

    rows: Mapping[str, Sequence[Row]]
    needs: tuple[str, ...]
    libraries: Mapping[str, str]


@cache
def kinds(what: str = "rows") -> Mapping[str, str]:
    """Return what the rows of each door name; ``typed``: what users type that needs a door, or a name of it."""
    return dict(json.loads((_FOLDER / "doors.json").read_text("utf-8"))[what])


@lru_cache(maxsize=1)
def rooms() -> Mapping[str, Room]:
    """Return the core, whose name is ``core``, and the rooms that are there, by name."""
    files = {path.parent.name: path for path in sorted(_FOLDER.glob("*/room.json"))}
    found = {name: _room(path, f"{__package__}.{name}") for name, path in files.items()}
    return {"core": _room(_FOLDER / "core.json", f"{__package__}"), **found}


def _room(file: Path, package: str) -> Room:
    """Return what a file says that a package brings, in whose modules its places are.

    A place without a module, ``:object``, is in the package itself. A row ``[FILE]`` stands for one of each section of
    a file of TOML, in its order: tomllib takes 10 ms to be imported.
    """
    said = json.loads(file.read_text("utf-8"))
    rows: dict[str, list[Row]] = {}
    for door, of in said.pop("rows", {}).items():
        rows[door] = found = []
        for name, row in of.items():
            told: dict[str, Any] = {"place": row} if isinstance(row, str) else row
            place = f"{package}.{told['place']}".replace(".:", ":") if "place" in told else ""
            told = {**told, "place": place, "keys": tuple(told.get("keys", ()))}
            names = [name]
            if name.startswith("["):
                sections = file.with_name(name.strip("[]")).read_text("utf-8")
                names = re.findall(r"^\[([a-z0-9_]+)\]$", sections, re.MULTILINE)
            found += [Row(one, **{**told, "place": place.format(name=one)}) for one in names]
    return Room(rows, tuple(said.get("needs", ())), said.get("libraries", {}))


@cache
def rows(door: str) -> Mapping[str, Row]:
    """Return the rows of a door by name: those of the core, then those of the rooms."""
    assert door in kinds(), door
    return {row.name: row for room in rooms().values() for row in room.rows.get(door, ())}


def others(door: str) -> Mapping[str, Row]:
    """Return the rows that other packages bring by entry points, sorted by name; no name of `rows` is replaced."""
    own = rows(door)
    return {name: Row(name, place, is_foreign=True) for name, place in _points(door) if name not in own}


def _points(door: str) -> list[tuple[str, str]]:
    """Return names and places of the entry points of a door, sorted."""
    return _points_of(f"{__package__}.{door}", tuple(sys.path))


@lru_cache(maxsize=64)
def _points_of(group: str, _: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the entry points of a group; finding them takes 20 ms for each search path."""
    # Imported here, because a run with built-in components alone does without.
    from importlib.metadata import entry_points

    return sorted((point.name, point.value) for point in entry_points(group=group))


def row(door: str, name: str) -> Row | None:
    """Return the row of a name, or the one for all other names; None if there is none."""
    own = rows(door)
    return own.get(name) or others(door).get(name) or own.get(ANY)


def load(
    door: str, found: Row, what: str = "", is_valid: Callable[[Any], bool] = callable, expected: str = "a function"
) -> Any:
    """Import what a row names.

    Args:
        what: the kind of the thing, the first words of error messages.
        is_valid: whether an object can be such a thing.
        expected: what such an object is, for error messages.

    Raises:
        ConfigurationError: two packages bring the name, its package cannot be imported, or the object is invalid.
    """
    if not found.is_foreign:
        return found.load()
    where = f"{what or door} {found.name!r}"
    if len(same := sorted({place for name, place in _points(door) if name == found.name})) > 1:
        raise ConfigurationError(
            f"{where} is registered more than once, as {' and '.join(same)}; uninstall all but one"
        )
    try:
        thing = found.load()
    except (Exception, SystemExit) as error:  # what the package does while it is imported
        reason = described(error) if isinstance(error, SystemExit) else error
        raise ConfigurationError(one_line(f"{where} of {found.place} cannot be loaded ({reason})")) from error
    if not is_valid(thing):
        raise ConfigurationError(
            f"{where} of {found.place}: expected {expected}, found an object of type {type(thing).__name__}"
        )
    return thing


def lacks(door: str, name: str) -> str:
    """Return, where there is no row of a name, what this installation lacks, as users type it; else nothing."""
    typed = kinds("typed").get(f"{door} {name}", kinds("typed").get(door, door)).format(name=name)
    return "" if row(door, name) else f"{typed}: no part of this installation; install all of tts-prep"


def need(door: str, name: str, *, is_record: bool = False) -> Any:
    """Return what the row of a name names, without which a caller cannot go on.

    Raises:
        MissingPackageError: there is no such row.
        ConfigurationError: see `load`.
    """
    found = row(door, name)
    if found is None:
        raise MissingPackageError(lacks(door, name))
    return load(door, found, is_valid=(lambda _: True) if is_record else callable)


def asked(door: str, name: str) -> Callable[..., Any]:
    """Return what the row of a room names, or a function that does nothing if the room is not there."""
    # Not of another package: what hints and records sources for all commands must not end one.
    found = rows(door).get(name)
    return load(door, found) if found else lambda *_, **__: None


@lru_cache(maxsize=1)
def libraries() -> Mapping[str, str]:
    """Return the extra that installs each library, by the library's import name."""
    return {library: extra for room in rooms().values() for library, extra in room.libraries.items()}


def import_named(path: str, what: str) -> Any:
    """Return the object that a user names as ``MODULE:NAME``; the working folder is searched too.

    Args:
        what: the option, the first word of error messages.

    Raises:
        ConfigurationError: there is none.
    """
    module, _, name = path.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        # The last one, so that no file of the working folder replaces a module of Python or of a library.
        sys.path.append(folder)
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"{what}: {path!r} cannot be loaded ({error})") from error
    except (Exception, SystemExit) as error:  # what the module does while it is imported
        raise ConfigurationError(one_line(f"{what}: {path!r} cannot be loaded ({described(error)})")) from error
