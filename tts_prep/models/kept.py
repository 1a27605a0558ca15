"""Keep what a function of batches has returned for unchanged rows of an updated store."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from tts_prep.errors import CorruptStoreError
from tts_prep.format.assembly import StoredShard
from tts_prep.format.files.checksums import file_sha256
from tts_prep.format.layout import array_file_name
from tts_prep.format.records.manifest import FileEntry, Manifest
from tts_prep.format.records.sources import IncompleteArray
from tts_prep.models.outputs import PENDING, Outputs
from tts_prep.models.processes import Outcome
from tts_prep.preprocess.make.folder import take_over_file
from tts_prep.preprocess.update.kept_arrays import KeptArrays, OldPlaces, ShardRowsByValue


def keep_outputs(
    source: Path, folder: Path, manifest: Manifest, shards: Sequence[StoredShard], rows: OldPlaces
) -> Iterator[tuple[Collection[str], KeptArrays]]:
    """Yield the names of the arrays of each function of an old store, and these arrays in the new one."""
    for outputs in Outputs.recorded(manifest):
        yield outputs.specs.keys(), _KeptOutputs(source, folder, manifest, outputs, rows).keep(shards)


class _KeptOutputs:
    """The arrays of a function of batches, which says of each utterance whether it has a value."""

    def __init__(self, source: Path, folder: Path, manifest: Manifest, outputs: Outputs, rows: OldPlaces) -> None:
        self._source, self._folder, self._outputs, self._rows = source, folder, outputs, rows
        self._entries = manifest.array_files
        self._outcomes = lru_cache(maxsize=4)(self._read_outcomes)

    def keep(self, shards: Sequence[StoredShard]) -> KeptArrays:
        """Take over or write the files of the new shards; new and changed rows wait for the function."""
        names = self._outputs.specs
        n_pending, n_rows = sum(map(self._count_pending, shards)), sum(shard.header.rows for shard in shards)
        is_kept = n_pending < n_rows
        entries = [self._files(shard) for shard in shards] if is_kept else []
        files = {name: [of_shard[name] for of_shard in entries] for name in names} if is_kept else {}
        arrays = self._outputs.arrays or (self._outputs.texts,)
        incomplete = tuple(IncompleteArray(spec, n_pending, is_kept) for spec in arrays if n_pending)
        return KeptArrays(files, incomplete)

    def _count_pending(self, shard: StoredShard) -> int:
        return sum(outcome == PENDING for outcome in self._of(shard))

    def _files(self, shard: StoredShard) -> dict[str, FileEntry]:
        old = self._rows.old_numbers.get(shard.number)
        if old is not None and self._outcomes(old) is not None:
            return {name: self._taken_over(name, old, shard.number) for name in self._outputs.specs}
        rows = ShardRowsByValue.read(self._folder, shard.number).stored.rows
        return self._outputs.write(self._folder, rows, self._of(shard))

    def _taken_over(self, name: str, old: int, number: int) -> FileEntry:
        entry, file = self._entries[name][old], array_file_name(name, number)
        take_over_file(self._source, self._folder, entry.file, file)
        return replace(entry, file=file)

    def _of(self, shard: StoredShard) -> Sequence[Outcome]:
        """Return the outcome of each row of a new shard."""
        old = self._rows.old_numbers.get(shard.number)
        if old is not None:
            return self._outcomes(old) or [PENDING] * shard.header.rows
        found: list[Outcome] = []
        for place in self._rows.places(shard.number):
            outcomes = self._outcomes(place.shard) if place else None
            found.append(outcomes[place.position] if place and outcomes else PENDING)
        return found

    def _read_outcomes(self, number: int) -> Sequence[Outcome] | None:
        """Return the outcomes of an old shard; None if a file is broken."""
        entries = [self._entries[name][number] for name in self._outputs.specs]
        paths = [self._source / entry.file for entry in entries]
        are_intact = all(
            path.is_file() and file_sha256(path) == entry.sha256 for path, entry in zip(paths, entries, strict=True)
        )
        with contextlib.suppress(CorruptStoreError):
            return self._outputs.outcomes(self._source, self._rows.stored(number)) if are_intact else None
        return None
