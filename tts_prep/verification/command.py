"""``tts-prep verify`` and ``reindex``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tts_prep import doors
from tts_prep.cli.options import WRITTEN_STORE, store_or_url, with_options
from tts_prep.cli.output import make_progress, quiet_option, say, verbosity_options
from tts_prep.errors import CannotReadError, TtsPrepError, one_line
from tts_prep.format.files.paths import without_secret
from tts_prep.preprocess.option import OptionTable
from tts_prep.quantities import bytes_text, count_text

if TYPE_CHECKING:
    from tts_prep.format.records.manifest import FileEntry, Manifest


_OPTIONS: Final = OptionTable(__file__)
"""Those of a repair have the names of the keywords of `repair_store`."""


@click.command()
@store_or_url
@with_options(_OPTIONS, "repair")
@verbosity_options
def verify(
    store: Path | str, cache: Path | None, cache_size: int | None, corpus: Path | None, jobs: int | None, **given: Any
) -> int:
    r"""Verify the checksum and the number of rows of every file of STORE; repair broken files.

    If there are broken files, they are listed, and the exit status is 1. It is 3 if a file cannot be read here, because
    a process was killed, a library is missing, or too many files are open. Files that are not part of the store, such
    as those that a killed command left, are listed too. --repair makes only broken files again, with
    the settings of the store. A store does not record paths: give all paths that it was made from.

    \b
    Examples:
      tts-prep verify store
      tts-prep verify store --repair LJSpeech-1.1
      tts-prep verify s3://bucket/store --cache cache
    """
    if corpus is not None:
        # Refuses a URL, and says why.
        return _repair(WRITTEN_STORE.convert(store, None, None), corpus, jobs, given)
    for one in _OPTIONS["repair"]:
        if given.get(one.name):
            raise click.UsageError(f"{one.all_flags[0]} requires --repair CORPUS.")
    return _verify(store, cache, cache_size)


def _verify(store: Path | str, cache: Path | None, cache_size: int | None) -> int:
    """Verify a store, print what is broken, and return the exit status."""
    from tts_prep.format.records.manifest import read_manifest
    from tts_prep.verification.files import verify_store

    sizes, faults = [], []
    folder, bring = _at_hand(store, cache, cache_size)
    for entry, fault in verify_store(folder, fetch=bring):
        sizes.append(entry.size)
        if fault:
            faults.append(f"{entry.file}: {fault}")
            say(one_line(faults[-1]))
    if bring is not None:
        # A small cache may have removed it meanwhile.
        bring(read_manifest(folder).index)
    if not faults and (fault := _unusable(folder)):
        faults.append(fault)
        say(one_line(fault))
    if faults:
        shown = without_secret(store)
        again = f"; 'tts-prep verify {shown} --repair CORPUS' makes them again" if cache is None else ""
        found = f"{shown}: {len(faults)} of {len(sizes)} files are broken{again}"
        click.echo(one_line(f"tts-prep: error: {found}"), err=True)
        return 1
    _say_intact(store, folder, read_manifest(folder), f"{len(sizes)} files, {bytes_text(sum(sizes))}")
    return 0


def _unusable(store: Path) -> str | None:
    """Return why a store whose files are intact cannot be opened for training; None if it can."""
    from tts_prep.loader import UtteranceDataset

    try:
        UtteranceDataset(store)
    except CannotReadError:
        raise
    except TtsPrepError as error:
        return str(error)
    return None


def _at_hand(
    store: Path | str, cache: Path | None, cache_size: int | None
) -> tuple[Path, Callable[[FileEntry], None] | None]:
    """Return the folder of a store, and what downloads a file of it that lies behind a URL."""
    if cache is None:
        return Path(store), None
    from tts_prep.format.records.manifest import read_manifest

    cached = doors.need("schemes", str(store).partition(":")[0])(str(store), cache, cache_size)
    files = read_manifest(cached.folder).files
    if cache_size is None or sum(entry.size for entry in files) <= cache_size:
        # Several at a time; what this cannot do is done, or named, file by file.
        missing = [entry for entry in files if not cached.has(entry)]
        cached.map_each(missing if len(missing) > 1 else [], lambda *_: None)
    return cached.folder, cached.fetch


def _say_intact(store: Path | str, folder: Path, manifest: Manifest, what: str) -> None:
    """Print the files that are not part of an intact store, and a line about it."""
    from tts_prep.preprocess.make.folder import is_store_file
    from tts_prep.verification.files import other_files

    others = other_files(folder, manifest)
    for name in others:
        what = (
            "what a killed command left; it can be removed"
            if is_store_file(name)
            else "tts-prep does not write such files; move it to another folder, as 'tts-prep add' and --update require"
        )
        say(one_line(f"{name}: not part of the store, {what}"))
    rest = f"; {count_text(len(others), 'other file')}" if others else ""
    say(one_line(f"{without_secret(store)}: {what}, all intact{rest}"))


def _repair(store: Path, corpus: Path, jobs: int | None, given: dict[str, Any]) -> int:
    from tts_prep.cli.preparing import split_lists
    from tts_prep.preprocess.corpora.corpus import import_reader
    from tts_prep.preprocess.run import available_jobs
    from tts_prep.verification.repair import repair_store

    with make_progress(sys.stderr) as progress:
        given["splits"] = split_lists(given["splits"])
        # Never the function that the store names: a store may come from anywhere.
        given["reader"] = import_reader(given["reader"]) if given["reader"] else None
        result, broken = repair_store(store, corpus, jobs=jobs or available_jobs(), progress=progress, **given)
    doors.asked("sources", "outdated")(store)
    if not broken:
        count = len(result.manifest.files) + 1 if result.manifest else 0
        say(f"{store}: all {count} files are intact; nothing to repair")
        return 0
    say(f"{store}: {', '.join(broken)} broken; made again, with {count_text(result.shards_made, 'shard')}")
    return 0


@click.command()
@click.argument("store", type=WRITTEN_STORE)
@quiet_option
def reindex(store: Path) -> None:
    r"""Rebuild the index, the failure list and the manifest of STORE from its shards.

    Every shard is checked first. Repairing a broken shard needs the corpus: see 'tts-prep verify --help'.

    \b
    Example:
      tts-prep reindex store
    """
    from tts_prep.format.reindexing import reindex_store

    totals = reindex_store(store).totals
    shards = count_text(totals["shards"], "shard")
    say(f"{store}: index, failures and manifest of {shards}, {count_text(totals['utterances'], 'row')}")
