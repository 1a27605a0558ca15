"""Hints for words and options that have another name here, and for folders and recordings that are not as expected."""

import difflib
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import click

from tts_prep.format.files.paths import is_archive, is_store, store_around
from tts_prep.format.layout import SHARDS
from tts_prep.preprocess.corpora.corpus import CORPORA, all_corpora, get_corpus

_MAX_ENTRIES = 200_000
"""The maximum number of files of a folder that are searched for names like that of a missing recording."""

_FOLDERS = ("output", "output-dir", "out", "out-dir", "o", "store", "corpus", "input", "input-dir", "data", "data-dir")


def command_hint(name: str, commands: Iterable[str]) -> str:
    """Return a hint about a word that is not a command, which follows a message; empty if there is none."""
    if Path(name).exists():
        command = (*likely_commands(Path(name)), "ljspeech")[0]
        return f"; the command comes first, such as 'tts-prep {command} {name} STORE'"
    if name in ("prepare", "preprocess", "process", "make", "build", "create"):
        return f"; a corpus has a command of its own: {', '.join(CORPORA)}"
    near = difflib.get_close_matches(name, commands, 1)
    return f". Did you mean {near[0]!r}?" if near else ""


def option_hint(error: click.NoSuchOption) -> str:
    """Return what an unknown option is called here, or an empty string."""
    command = error.ctx.command if error.ctx else None
    if command is None:
        return ""
    name = error.option_name.lstrip("-").replace("_", "-").lower()
    for option in command.params:
        if name in getattr(option, "other_names", ()):
            return f"it is {_usage(option)} here"
    feature = _feature(name)
    if feature and any("--feature" in option.opts for option in command.params):
        return f"give it as a feature: --feature {feature}"
    arguments = [option for option in command.params if isinstance(option, click.Argument)]
    places = [str(option.metavar or option.name).upper() for option in arguments]
    if name in _FOLDERS and "STORE" in places:
        return f"paths are given without options: {error.ctx.command_path if error.ctx else ''} {' '.join(places)}"
    return ""


def _usage(option: click.Parameter) -> str:
    """Return an option with its value, as in a help text."""
    flag, value = option.opts[0], getattr(option, "metavar", None)
    if isinstance(option.type, click.Choice):
        value = "|".join(map(str, option.type.choices))
    return f"{flag} {value}" if value else flag


def _feature(name: str) -> str | None:
    """Return the feature that is called so here or elsewhere."""
    from tts_prep.preprocess.features.kinds import built_in_features

    return next((kind.name for kind in built_in_features() if name in (kind.name, *kind.other_names)), None)


def likely_commands(folder: Path) -> list[str]:
    """Return the commands that match the layout of a folder; [] if it does not exist, or is a store."""
    # A store has a .jsonl file too.
    if not folder.is_dir() or (folder / SHARDS).is_dir():
        return []
    return [
        corpus.name
        for corpus in all_corpora()
        if any(all(_matches(folder, pattern) for pattern in layout) for layout in corpus.layout)
    ]


def _matches(folder: Path, pattern: str) -> bool:
    try:
        return any(folder.glob(pattern))
    except OSError:
        # A folder below that was removed, or cannot be read.
        return False


def what_it_is(reader: str, corpus: Path) -> str:
    """Return a hint about a path that a reader does not recognize, or an empty string."""
    record = get_corpus(reader)
    needs_folder = record.is_folder
    if is_store(corpus):
        return f"{corpus} is a store that tts-prep has made; give the folder of the recordings and texts"
    if store := store_around(corpus):
        return f"{corpus} is a part of the store {store}; give the folder of the recordings and texts"
    if corpus.is_file():
        if is_archive(corpus):
            return f"{corpus} is an archive: unpack it, and give the folder"
        known = needs_folder and reader in likely_commands(corpus.parent)
        return f"{corpus} is a file: give its folder {corpus.parent}" if known else ""
    if needs_folder and reader in likely_commands(corpus.absolute().parent):
        return f"give {corpus.parent}"
    commands = [command for command in likely_commands(corpus) if command != reader]
    if commands:
        return f"{corpus} looks like a corpus for 'tts-prep {commands[0]}'"
    if not needs_folder and not record.sources and corpus.is_dir():
        return (
            f"{corpus} is a folder, expected a list with one recording per line; 'tts-prep recordings' reads a folder"
        )
    return ""


def missing_recording(root: Path, audio: str) -> str:
    """Return an error message for a missing recording.

    Args:
        root: the folder of relative audio paths.
        audio: the path of the recording in the corpus.
    """
    path = root / audio
    parent = next((parent for parent in Path(audio).parents if os.path.isdir(root / parent)), None)  # noqa: PTH112
    if parent is None:
        return f"{audio}: no such file; the folder of relative audio paths does not exist"
    if parent != Path(audio).parent:
        folder = parent / Path(audio).parts[len(parent.parts)]
        return f"{audio}: no such file, and no folder {folder}; are audio paths relative to another folder?"
    stem = path.stem.lower()
    try:
        with os.scandir(path.parent) as entries:
            names = sorted(entry.name for entry in islice(entries, _MAX_ENTRIES) if entry.name.lower().startswith(stem))
    except OSError:
        names = []
    if not names:
        return f"{audio}: no such file"
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return f"{audio}: no such file; its folder contains {shown}"
