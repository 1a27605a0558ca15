"""Whether a store is older than its sources: the command that made it is kept beside it, and compared with it again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tts_prep.cli.verbosity import say
from tts_prep.errors import TtsPrepError, one_line
from tts_prep.format.layout import MANIFEST

_OF_A_RUN: Final = {"overwrite": False, "update": True, "reread": False, "part": None}
"""Options of a comparison that say what is done with a store, not what it is made from."""

_PATH: Final = "path"


def record_command(store: Path, options: Mapping[str, Any], part: str = "", **command: Any) -> None:
    """Keep beside a store how it was made, and what was imported into it before.

    Args:
        options: the options of the corpus command.
        part: the name of the part that was made; empty for a whole store.
        command: the other arguments of `tts_prep.cli.preparing.prepare_and_report`.
    """
    from tts_prep.format.records.sources import read_sources

    imports = _with_imports(read_sources(store, part).command.get("imports", []), options)
    made = {"folder": str(Path.cwd()), "options": {**options, **_OF_A_RUN}, **command}
    _write(store, {**_as_json(made), "imports": imports}, part)


def record_imports(store: Path, options: Mapping[str, Any]) -> None:
    """Keep beside a store what was imported into it."""
    from tts_prep.format.records.sources import read_sources

    command = read_sources(store).command
    if command:
        _write(store, {**command, "imports": _with_imports(command.get("imports", []), options)}, "")


def _with_imports(imports: list[Any], options: Mapping[str, Any]) -> list[Any]:
    """Return imports with those of one more command."""
    if not options["arrays"] and not options["alignments"]:
        return imports
    # A feature that is not named here reads no files; modules that a file names are not imported.
    features = [text for text in options["features"] if text.partition(":")[0] == "durations"]
    given = {name: options[name] for name in ("alignments", "arrays")}
    added = {"folder": str(Path.cwd()), **_as_json({**given, "features": features})}
    return [*(before for before in imports if before != added), added]


def _write(store: Path, command: Mapping[str, Any], part: str) -> None:
    from tts_prep.format.records.sources import read_sources, write_sources

    # Without it, nothing is compared later.
    with contextlib.suppress(TtsPrepError):
        write_sources(store, replace(read_sources(store, part), command=command), part)


def say_if_outdated(store: Path) -> None:
    """Print a line if a store is older than something that it was made from, as far as its sources are here."""
    from tts_prep.format.records.sources import read_sources

    command = read_sources(store.absolute()).command
    try:
        if command and (reason := _difference(store.absolute(), command)):
            say(one_line(reason.replace(str(store.absolute()), str(store))))
    except (TtsPrepError, OSError, KeyError, TypeError, ValueError) as error:
        say(one_line(f"{store}: cannot be compared with what it was made from: {error}"))


def _difference(store: Path, command: Mapping[str, Any]) -> str:
    """Return in what a store differs from its sources; empty if it does not, or if they are not on this machine."""
    from tts_prep.cli.preparing import compare

    made = _from_json(command)
    if not Path(made["folder"]).is_dir() or not (store / MANIFEST).is_file():
        return ""
    with _inside(Path(made["folder"])):
        if not made["corpus"].exists():
            return ""
        if not os.access(store, os.W_OK):
            return f"{store}: not writable, so it is not compared with what it was made from"
        names = ("reader", "corpus", "root", "reader_options", "options")
        return compare(store, made["imports"], **{name: made[name] for name in names})


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Make a folder the working one during a block, because the paths of a command are relative to it."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _as_json(value: Any) -> Any:
    """Return a value of a command as JSON, in which a path is an object."""
    if isinstance(value, Path):
        return {_PATH: str(value)}
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    return [_as_json(item) for item in value] if isinstance(value, (list, tuple)) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Path(value[_PATH]) if {*value} == {_PATH} else {key: _from_json(item) for key, item in value.items()}
    return tuple(_from_json(item) for item in value) if isinstance(value, list) else value
