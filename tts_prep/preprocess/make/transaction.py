"""A store transaction: one change of a store, from the lock on its folder until the change is complete.

A new or unfinished store is built in its own folder. A complete store is never modified: its replacement is built in a
folder beside it, and the two folders are exchanged at the end. An interrupted change is resumed, see
`tts_prep.preprocess.make.resuming`.
"""

from __future__ import annotations

import contextlib
import filecmp
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

from tts_prep.errors import CorruptStoreError, StoreError, WriteError
from tts_prep.format.files.atomic import check_own_folder, remove_folder, replace_store, replacement_folder, writing
from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.files.lock import Lock, locked
from tts_prep.format.files.paths import array_files, shard_files
from tts_prep.format.files.temporary import holding_temporary_files
from tts_prep.format.layout import ADDED_ARRAYS, FAILURES, INDEX, MANIFEST, PLAN, PROVENANCE, SHARDS, shard_name
from tts_prep.format.records.manifest import Manifest, read_manifest
from tts_prep.format.records.provenance import Provenance, read_provenance, write_provenance
from tts_prep.format.records.sources import read_sources, write_sources
from tts_prep.format.records.store_plan import plan_sha256, read_plan, write_plan
from tts_prep.preprocess.make import folder as store_folder
from tts_prep.preprocess.make.asked import Asked
from tts_prep.preprocess.plan.planned_store import PlannedStore
from tts_prep.preprocess.plan.shard_plans import OldShard


class Change(Enum):
    """What is asked of a store."""

    NEW = "new"
    """Make the store, or resume it."""
    PART = "part"
    """Make some of its shards, while other processes make others."""
    FINISH = "finish"
    """Complete the store, all of whose parts are made."""
    OVERWRITE = "overwrite"
    """Replace the store, and take nothing over."""
    UPDATE = "update"
    """Replace the store, and take over what is still up to date."""
    REPAIR = "repair"
    """Replace the store by the same one, and take over what is intact."""
    ADD = "add"
    """Replace the store by the same one with more arrays, and take over everything."""

    @property
    def replaces(self) -> bool:
        """Whether a complete store is replaced."""
        return self in (Change.OVERWRITE, Change.UPDATE, Change.REPAIR, Change.ADD)

    @property
    def takes_over(self) -> bool:
        """Whether files of the replaced store are taken over."""
        return self in (Change.UPDATE, Change.REPAIR, Change.ADD)


@dataclass
class StoreTransaction:
    """One change of a store, created by `begin`; `build` does it.

    Attributes:
        store: the folder of the store.
        folder: the folder in which the store is built, absolute; that of the store itself, or one beside it.
        change: what is done.
        asked: what else is asked for.
    """

    store: Path
    folder: Path
    change: Change
    lock: Lock
    asked: Asked

    @classmethod
    @contextlib.contextmanager
    def begin(cls, store: Path, change: Change, asked: Asked = Asked()) -> Iterator[StoreTransaction]:
        """Hold the lock of a store, and a folder for temporary files, during a block.

        Raises:
            StoreError: the folder has other contents, cannot be written, or is in use by another process; or the
                change is for complete stores, and there is none.
        """
        if change is Change.ADD:
            # Before the store is locked, which would make its folder.
            read_manifest(store)
        with store_folder.locked_folder(store, shared=change is Change.PART) as lock, holding_temporary_files():
            yield cls(store, store.absolute(), change, lock, asked)

    @property
    def is_complete(self) -> bool:
        """Whether the store is complete at the moment."""
        return (self.store / MANIFEST).exists()

    @cached_property
    def old(self) -> Manifest | None:
        """The manifest of a complete store that is updated; None for every other change."""
        return read_manifest(self.store) if self.change is Change.UPDATE and self.is_complete else None

    @property
    def source(self) -> Path | None:
        """The old store, if files are taken over from it."""
        return self.store if self.change.takes_over and self.folder != self.store.absolute() else None

    @property
    def _unfinished(self) -> Mapping[str, Any] | None:
        """The settings of an unfinished store; None if it has no intact shard."""
        if next(iter(shard_files(self.store)), None) is None:
            return None
        from tts_prep.preprocess.make import resuming

        return resuming.unfinished_settings(self.store)

    def old_shards(self, keys: Sequence[str], broken: Collection[str]) -> Mapping[str, OldShard]:
        """Return the shards of the old store by key.

        Args:
            keys: the keys of the planned shards, which a store that is repaired has too.
            broken: files that must not be taken over.
        """
        plan, source = None, self.source
        if source is None:
            return {}
        if self.change is not Change.REPAIR:
            with contextlib.suppress(CorruptStoreError):
                plan = read_plan(self.store)
        return {
            key: OldShard(source, number, shard_name(number) in broken)
            for number, key in enumerate(plan.shards if plan else keys)
        }

    def provenance(self) -> Provenance:
        """Return licence and origin of the store as it is to be: what is asked for, and for the rest what it says now.

        Raises:
            StoreError: another part says something else.
        """
        given = self.asked.provenance.checked()
        if self.change is Change.OVERWRITE:
            return given
        said = self._said
        if self.change is Change.PART and not self.is_complete and said.completed(given) != given.completed(said):
            raise StoreError(
                f"{self.store}: another part names another licence or origin; give the same to all parts, or say it "
                f"once the store is complete, with 'tts-prep add {self.store} --license … --origin …'"
            )
        return given.completed(said)

    @property
    def _said(self) -> Provenance:
        """Licence and origin of the store as it is."""
        if self.is_complete:
            with contextlib.suppress(StoreError):
                return Provenance.parse(MANIFEST, read_manifest(self.store, checked=False).provenance)
        return read_provenance(self.store)

    def with_known(self, planned: PlannedStore) -> PlannedStore:
        """Return a planned store with what a complete one knows of its recordings.

        They are read if their sizes or times have changed and nothing else has; otherwise when shards are made.
        """
        if not self.is_complete or self.change is Change.OVERWRITE:
            return planned
        from tts_prep.preprocess.make import resuming

        planned = planned if self.asked.rereads else planned.with_known(read_sources(self.store))
        if all(planned.known) or planned.keys != resuming.planned_keys(self.store, read_manifest(self.store)):
            return planned
        return planned.with_contents()

    def up_to_date(self, planned: PlannedStore) -> Manifest | None:
        """Return the manifest of the store if it is complete and has the planned shards, else None.

        Raises:
            StoreError: the store has other settings, rows, corrections, licence or origin, and is not to be replaced.
        """
        if self.change in (Change.OVERWRITE, Change.REPAIR):
            return None
        manifest = read_manifest(self.store) if self.is_complete else None
        is_said = self.provenance() == self._said
        if not (found := vars(manifest) if manifest else self._unfinished):
            return None
        from tts_prep.preprocess.make import resuming

        # With the same keys, the list of corrections, licence and origin can differ, which an update replaces.
        corrections = planned.corrections
        is_same = self.change is not Change.UPDATE or (is_said and resuming.has_corrections(self.store, corrections))
        if manifest and is_same and self._has_rows_of(manifest, planned):
            if self.change is Change.PART:
                raise StoreError(f"{self.store}: already complete; there is no part to make")
            # A text that is corrected may have become another one, or the one that the correction has.
            resuming.check_corrections(self.store, corrections)
            if not is_said:
                raise StoreError(
                    f"{self.store}: complete, with another licence or origin; 'tts-prep add {self.store} --license … "
                    "--origin …' replaces them"
                )
            # Where this fails, recordings are read once more.
            with contextlib.suppress(WriteError):
                write_sources(self.store, read_sources(self.store).with_shards_of(planned.sources))
            return manifest
        if self.change is not Change.UPDATE:
            resuming.check_settings(
                self.store, found, planned.recipe.settings, "give another path, or --update to replace what differs"
            )
            resuming.check_corrections(self.store, corrections)
            if manifest:
                resuming.check_recordings(self.store, planned)
                raise StoreError(
                    f"{self.store}: complete, but the corpus has changed since it was made; give another path, or "
                    "--update or --overwrite to replace it"
                )
        return None

    def _has_rows_of(self, manifest: Manifest, planned: PlannedStore) -> bool:
        is_same = manifest.plan == plan_sha256(planned.known)
        return is_same and planned.has_places_of(self.store, manifest.failures.rows)

    @contextlib.contextmanager
    def build(self, purpose: object = None, configuration: Mapping[str, Any] | None = None) -> Iterator[Path]:
        """Yield the folder in which to build the store. When the block ends, the change is complete.

        If the block raises, a complete store is unchanged, and what was built is kept for the next transaction with
        the same purpose.

        Args:
            purpose: what determines a replacement, as JSON. A replacement with another purpose is not resumed.
            configuration: the configuration of the run. An unfinished store that has the same is resumed, not replaced.

        Raises:
            StoreError: the store cannot be replaced, or another process is replacing it.
        """
        if self.change.replaces and not self._is_resumed(configuration):
            with self._replacement(json_sha256([self.change.value, purpose])) as folder:
                self.folder = folder.absolute()
                yield self.folder
        else:
            with self._own_folder():
                yield self.folder

    def _is_resumed(self, configuration: Mapping[str, Any] | None) -> bool:
        """Return whether the store has nothing to replace: it is empty, or an unfinished one of this configuration."""
        if self.is_complete:
            return False
        found = self._unfinished
        return found is None or found["configuration"] == configuration

    @contextlib.contextmanager
    def _own_folder(self) -> Iterator[None]:
        _refuse_links(self.folder)
        if self.change is Change.PART:
            # Temporary files may belong to other processes.
            with writing(self.folder):
                (self.folder / SHARDS).mkdir(exist_ok=True)
            yield
            return
        self.lock.begun = True
        with store_folder.tidied(self.folder):
            yield
        self.lock.begun = False

    @contextlib.contextmanager
    def _replacement(self, purpose: str) -> Iterator[Path]:
        """Yield the folder beside the store; afterwards exchange the two."""
        folder = replacement_folder(self.store)
        _make_replacement(self.store, folder, purpose)
        try:
            with locked(folder) as lock:
                _refuse_links(folder)
                lock.begun = True
                with store_folder.tidied(folder):
                    yield folder
                lock.begun = False
        except BaseException:
            if not _holds_work(folder, self.store):
                remove_folder(folder)
            raise
        with writing(folder):
            (folder / store_folder.PURPOSE).unlink()
        replace_store(self.store)

    def plan(self, keys: Sequence[str], arrays: Iterable[str]) -> None:
        """Write the plan of the store before its first shard is made.

        Args:
            keys: the keys of the planned shards.
            arrays: the names of the planned added arrays.

        Raises:
            StoreError: other parts of the store have another plan.
        """
        names = sorted(arrays)
        if self.change is Change.PART:
            from tts_prep.preprocess.make import resuming

            resuming.check_other_parts(self.store, keys, names)
        else:
            store_folder.remove_unplanned_files(self.folder, len(keys), names)
        write_plan(self.folder, keys, names)

    def take_over(self, manifest: Manifest) -> None:
        """Take over the shards, array files and other texts of the old store, and what its manifest says."""
        for entry in manifest.files:
            if entry.file not in (INDEX, FAILURES, PLAN, PROVENANCE):
                is_missing = (self.store / entry.file).is_file() and not (self.folder / entry.file).exists()
                if is_missing:
                    store_folder.take_over_file(self.store, self.folder, entry.file)
        sources = read_sources(self.store)
        incomplete = sources.incomplete_of(manifest.array_files.keys())
        write_sources(self.folder, replace(sources, incomplete=incomplete))
        write_provenance(self.folder, Provenance.parse(MANIFEST, manifest.provenance))


def _make_replacement(store: Path, folder: Path, purpose: str) -> None:
    """Create the folder of a replacement, unless one with this purpose was begun."""
    check_own_folder(folder)
    store_folder.refuse_foreign_files(folder)
    try:
        if (folder / MANIFEST).exists() or _purpose(folder) != purpose:
            remove_folder(folder)
        folder.mkdir(exist_ok=True)
        (folder / store_folder.PURPOSE).write_text(purpose, encoding="utf-8")
        if folder.stat().st_dev != store.stat().st_dev:
            remove_folder(folder)
            raise StoreError(f"{store}: is a mount point and cannot be replaced; give another path")
    except OSError as error:
        raise WriteError(
            f"{folder}: cannot be written ({error.strerror}); the replacement of a store is made in this folder"
        ) from error


def _purpose(folder: Path) -> str | None:
    try:
        return (folder / store_folder.PURPOSE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _holds_work(folder: Path, store: Path) -> bool:
    """Return whether an unfinished replacement has a shard or an array file that was not taken over."""
    with contextlib.suppress(OSError):
        old: dict[int, list[Path]] = {}
        for path in _data_files(store):
            old.setdefault(path.stat().st_size, []).append(path)
        # Where there are no hard links, files were copied.
        return any(
            not any(same.samefile(path) or filecmp.cmp(same, path, shallow=False) for same in beside)
            for path in _data_files(folder)
            for beside in [old.get(path.stat().st_size, ())]
        )
    return False


def _data_files(store: Path) -> Iterator[Path]:
    yield from (path for _, path in shard_files(store))
    yield from array_files(store)


def _refuse_links(store: Path) -> None:
    for folder in (store / SHARDS, store / ADDED_ARRAYS):
        if folder.is_symlink():
            raise StoreError(f"{folder}: a link to another folder, which could be another store's; expected a folder")
