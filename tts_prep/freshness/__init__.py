"""Whether a store is older than its sources: the command that made it is kept beside it, and compared with it again."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tts_prep.cli.output import say
from tts_prep.errors import StoreError, TtsPrepError, one_line
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.layout import MANIFEST
from tts_prep.format.records.arrays import EXTERNAL, EXTERNAL_TEXTS
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.format.records.sources import read_sources, write_sources

if TYPE_CHECKING:
    from tts_prep.preprocess.configuration.records import Configuration
    from tts_prep.preprocess.features.feature import Feature

_OF_A_RUN: Final = {"overwrite": False, "update": True, "reread": False, "part": None}
"""Options of a comparison that say what is done with a store, not what it is made from."""

_PATH: Final = "path"

_MAX_HISTORY: Final = 999

_BUILT_IN: Final = ("pitch", "energy", "durations", "spectrogram", "mel")


def record_command(store: Path, options: Mapping[str, Any], part: str = "", **command: Any) -> None:
    """Keep beside a store how it was made, and what was imported into it before.

    Args:
        options: the options of the corpus command.
        part: the name of the part that was made; empty for a whole store.
        command: the other arguments of `tts_prep.cli.preparing.prepare_and_report`.
    """
    before = read_sources(store, part).command
    imports, columns = _with_imports(before.get("imports", []), options), before.get("columns", [])
    made = {"folder": str(Path.cwd()), "options": {**options, **_OF_A_RUN}, **command}
    # What is incomplete has been said.
    _write(store, {**_as_json(made), "imports": imports, "columns": columns}, part, incomplete=())


def record_imports(store: Path, options: Mapping[str, Any], columns: Sequence[tuple[str, Path, bool]]) -> None:
    """Keep beside a store what was imported into it.

    Args:
        columns: name, the table from which it was added, and whether values of other tables stay in it.
    """
    command = read_sources(store).command
    if command:
        imports = _with_imports(command.get("imports", []), options)
        tables = command.get("columns", [])
        for name, path, is_shared in columns:
            rest = [table for table in tables if table[0] != name or (is_shared and table[1] != str(path.absolute()))]
            tables = [[name, str(path.absolute()), file_sha256(path)], *rest]
        _write(store, {**command, "imports": imports, "columns": tables}, "")


def forget_removed(store: Path) -> None:
    """Keep beside a store nothing of what was imported into it and is no longer there."""
    command, manifest = read_sources(store).command, read_manifest(store)
    if not command:
        return
    arrays = manifest.array_files.keys()
    of_models = [manifest.specs[name].settings.get("model") for name in arrays]
    models = {of_model.get("function") for of_model in of_models if isinstance(of_model, dict)}
    # Those of the command that made the store can also be what its mels and phonemes were made from.
    keeps_alignments = "durations" in arrays or command["options"]["alignments"] is not None
    imports = []
    for before in command.get("imports", []):
        kept = {
            **before,
            "arrays": [text for text in before["arrays"] if re.split("[@=]", text)[0] in arrays],
            "alignments": before["alignments"] if keeps_alignments else None,
            "features": before["features"] if keeps_alignments else [],
            "files": {text: of for text, of in before["files"].items() if ":".join(text.split(":")[:2]) in models},
        }
        imports += [kept] if kept["arrays"] or kept["alignments"] or kept["files"] else []
    _write(store, {**command, "imports": imports}, "")


def _with_imports(imports: list[Any], options: Mapping[str, Any]) -> list[Any]:
    """Return imports with those of one more command.

    Modules of models are never imported again, as a file names them: their sources and the files among their settings
    are compared instead.
    """
    models = [text for text in options["features"] if ":" in text and text.partition(":")[0] not in _BUILT_IN]
    if not options["arrays"] and not options["alignments"] and not models:
        return imports
    features = [text for text in options["features"] if text.partition(":")[0] == "durations"]
    given = {name: _whole(options[name]) for name in ("alignments", "arrays")}
    files = {text: {str(path): file_sha256(path) for path in _files_of(text)} for text in models}
    added = {"folder": str(Path.cwd()), **_as_json({**given, "features": features}), "files": files}
    return [*(before for before in imports if before != added), added]


def _whole(value: Any) -> Any:
    """Return the path of alignments, or the texts of arrays, with paths that do not depend on the working folder."""
    if isinstance(value, Path):
        return value.absolute()
    texts = [text.rpartition("=") for text in value or ()]
    return None if value is None else [f"{name}={Path(path).absolute()}" for name, _, path in texts]


def _files_of(model: str) -> Iterator[Path]:
    """Yield the source of the module of a model, and the files that its settings name."""
    module, _, settings = (*model.split(":", 2), "")[:3]
    names = [f"{module.replace('.', '/')}.py", *(setting.partition("=")[2] for setting in settings.split(","))]
    yield from (path.absolute() for name in names if name and (path := Path(name)).is_file())


def _write(store: Path, command: Mapping[str, Any], part: str, **more: Any) -> None:

    # Without it, nothing is compared later.
    with contextlib.suppress(TtsPrepError):
        write_sources(store, replace(read_sources(store, part), command=command, **more), part)


@contextlib.contextmanager
def recorded_in_history(store: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Keep beside a store, if a command has changed it during a block, a line about the command."""
    path = store / MANIFEST
    before = file_sha256(path) if path.is_file() else ""
    yield
    # Without it, the line is missing.
    with contextlib.suppress(TtsPrepError, OSError):
        if path.is_file() and file_sha256(path) != before:
            sources, time = read_sources(store), datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
            rows = read_manifest(store).index.rows
            line = {"time": time, "folder": str(Path.cwd()), "arguments": [*arguments], "rows": rows}
            write_sources(store, replace(sources, history=(*sources.history[-_MAX_HISTORY:], line)))


def say_if_outdated(store: Path) -> None:
    """Print a line if a store is older than something that it was made from, as far as its sources are here."""
    command = read_sources(store.absolute()).command
    with _said(store):
        if command and (reason := _difference(store.absolute(), command) or _changed_imports(store, command)):
            say(one_line(reason.replace(str(store.absolute()), str(store))))


def say_if_imports_changed(store: Path) -> None:
    """Print a line if a complete store is older than a file that was imported into it, or a model that was called."""
    command = read_sources(store).command
    with _said(store):
        if command and (reason := _changed_imports(store, command)):
            say(one_line(reason))


@contextlib.contextmanager
def _said(store: Path) -> Iterator[None]:
    """Print why a store cannot be compared, as the command that asks has done its work."""
    try:
        yield
    except (TtsPrepError, OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        say(one_line(f"{store}: cannot be compared with what it was made from: {error}"))


def _changed_imports(store: Path, command: Mapping[str, Any]) -> str:
    from tts_prep.preprocess.configuration.records import Configuration

    manifest, imports = read_manifest(store), command.get("imports", [])
    added = [manifest.specs[name] for name in (EXTERNAL, EXTERNAL_TEXTS) if name in manifest.array_files]
    names = {name for spec in added for name in spec.own_names}
    for name, path, checksum in command.get("columns", []):
        if name in names and Path(path).is_file() and file_sha256(Path(path)) != checksum:
            return (
                f"{store}: has columns older than {path}; 'tts-prep add {store} --columns {path} --replace' adds them"
            )
    for of_command in imports:
        for name, checksum in (file for files in of_command["files"].values() for file in files.items()):
            if Path(name).is_file() and file_sha256(Path(name)) != checksum:
                return (
                    f"{store}: older than {name}, with which a model was called; remove what it has made with "
                    f"'tts-prep remove {store} …', and add it again"
                )
    here = [_from_json(of_command) for of_command in imports]
    here = [of_command for of_command in here if _are_here(of_command)]
    features = _imported(manifest, Configuration.from_dict(store, manifest.configuration), here)
    if not features:
        return ""
    from tts_prep.preprocess.make.array_files import outdated_arrays

    changed = sorted(outdated_arrays(store, manifest, features))
    if not changed:
        return ""
    return f"{store}: older than the files of {', '.join(changed)}; the same --array or --alignments reads them again"


def _imported(manifest: Manifest, config: Configuration, imports: Sequence[Mapping[str, Any]]) -> tuple[Feature, ...]:
    """Return the features of the arrays of a store that commands have imported; of one name the last one."""
    from tts_prep.cli.preparing import parse_features

    features: dict[str, Feature] = {}
    for of_command in imports:
        for feature in parse_features({**of_command, "part": None}, config).features:
            names = [spec.name for spec in feature.specs]
            if {*names} <= manifest.array_files.keys():
                features[names[0]] = feature
    return tuple(features.values())


def _are_here(of_command: Mapping[str, Any]) -> bool:
    paths = [of_command["alignments"], *(Path(text.rpartition("=")[2]) for text in of_command["arrays"])]
    return all(path.exists() for path in paths if path)


def _difference(store: Path, command: Mapping[str, Any]) -> str:
    """Return in what a store differs from its sources; empty if it does not, or if they are not on this machine."""
    made = _from_json(command)
    if not Path(made["folder"]).is_dir() or not (store / MANIFEST).is_file():
        return ""
    with _inside(Path(made["folder"])):
        if not made["corpus"].exists():
            return ""
        if not os.access(store, os.W_OK):
            return f"{store}: not writable, so it is not compared with what it was made from"
        return _compared(store, made)


def _compared(store: Path, made: Mapping[str, Any]) -> str:
    """Return in what a complete store differs from the sources of the command that made it; empty if in nothing."""
    from tts_prep.cli.preparing import chosen_settings, corrections_of, parse_features
    from tts_prep.preprocess.configuration.records import Configuration
    from tts_prep.preprocess.plan.planned_store import CorpusRows
    from tts_prep.preprocess.run import prepare
    from tts_prep.preprocess.text.symbols import AUTO

    manifest = read_manifest(store)
    corpus, root, options = made["corpus"], made["root"], made["options"]
    settings = chosen_settings(made["reader"], corpus, options, root, made["reader_options"])
    config, alignments = settings.config, None
    if config.text.symbols == AUTO:
        # Symbols are those of the rows, which are compared.
        config = replace(config, text=Configuration.from_dict(store, manifest.configuration).text)
    imports = [one for one in made["imports"] if _are_here(one)]
    features = _imported(manifest, config, imports)
    for parsed in (parse_features({**of_command, "part": None}, config) for of_command in imports):
        config, alignments = parsed.config, parsed.alignments or alignments
    corrections = corrections_of(store, options)
    rows = CorpusRows.read(config, corpus, root=root, splits=settings.splits, corrections=corrections)
    given: dict[str, Any] = {"corrections": rows.corrected, "alignments": alignments}
    try:
        prepare(rows.items, rows.root, store, config, features=features, **given)
    except StoreError as error:
        return str(error)
    return ""


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
