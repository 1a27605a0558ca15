"""Remove rows from a complete store without its corpus, as if it had been made without them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tts_prep.additions.add_arrays import stored_shards
from tts_prep.additions.add_columns import index_values
from tts_prep.corrections.records import parse_merge, read_corrections, write_corrections
from tts_prep.errors import ConfigurationError
from tts_prep.format.assembly import StoredShard
from tts_prep.format.contents.shard import ShardHeader, inspect_shard
from tts_prep.format.files.checksums import json_sha256
from tts_prep.format.files.paths import stored_file
from tts_prep.format.hdf5.columns import column_datasets, column_kind
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.hdf5.writer import write_file
from tts_prep.format.layout import FIXED_COLUMNS, MANIFEST, NUMBER, OOD_TEXTS, shard_name
from tts_prep.format.records.failures import read_failures
from tts_prep.format.records.manifest import FileEntry, Manifest, read_manifest
from tts_prep.format.records.provenance import Provenance, write_provenance
from tts_prep.format.records.remarks import Remarks
from tts_prep.format.records.sources import IncompleteArray, Sources, read_sources, write_sources
from tts_prep.format.statistics import MelStatistics
from tts_prep.preprocess.audio.mel import mel_statistics
from tts_prep.preprocess.make.examples import Example
from tts_prep.preprocess.make.feature_inputs import StoredRows
from tts_prep.preprocess.make.folder import take_over_file
from tts_prep.preprocess.make.shards import MadeShard, write_rows
from tts_prep.preprocess.make.transaction import Change, StoreTransaction
from tts_prep.progress import Progress, ShowProgress, in_notebooks
from tts_prep.update.kept_arrays import complete_store


@dataclass(frozen=True)
class RemovedRows:
    """How much was removed from a store; files that copies elsewhere need again or must remove; lost arrays."""

    rows: int = 0
    failures: int = 0
    shards: int = 0
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    incomplete: tuple[IncompleteArray, ...] = ()


def ids_of(store: Path, speakers: Collection[str]) -> list[str]:
    """Return the ids of all rows of speakers; one that the store does not have is a ConfigurationError."""
    manifest = read_manifest(store)
    if missing := sorted({*speakers} - {*manifest.speakers}):
        raise ConfigurationError(f"{store}: no speaker '{missing[0]}'; it has {', '.join(manifest.speakers[:20])}")
    rows = zip(*(index_values(store, manifest, name) for name in ("id", "speaker")), strict=True)
    return [uid for uid, speaker in rows if speaker in speakers]


def remove_rows(store: Path, ids: Collection[str], *, progress: ShowProgress = in_notebooks) -> RemovedRows:
    """Remove rows, and failed rows, by their ids. If interrupted, the store is unchanged.

    Nothing of them remains in its files. Shards without such rows, and the ends of shards, stay as they are; a shard
    without any rows goes. A store that would have no rows is a ConfigurationError.
    """
    read_manifest(store)  # before the folder is locked, which would make it
    with StoreTransaction.begin(store, Change.UPDATE) as transaction:
        old = transaction.old
        assert old is not None
        corrections, unwanted = read_corrections(store), {*ids}
        for one in (*corrections, *reversed(corrections)):
            # A row goes with all that it has become, and a merged one with each that it is of.
            merged = {one.id, parse_merge(one.merge)[1]} - {""}
            unwanted |= merged | {*one.placed} if unwanted & merged else set()
        source = _Source(store, old, unwanted)
        corrections = tuple(one for one in corrections if unwanted.isdisjoint((one.id, *one.placed)))
        n_failed = sum(failure.id in source.unwanted for failure in read_failures(store, old.failures.rows))
        if not source.n_rows and not n_failed and len(corrections) == (old.corrections.rows if old.corrections else 0):
            return RemovedRows()
        if source.n_rows == old.index.rows:
            raise ConfigurationError(f"{store}: would have no rows; remove the folder instead")
        with transaction.build(["without", old.fingerprint, old.plan, sorted(ids)]) as folder:
            made: list[MadeShard] = []
            for number, shard in enumerate(stored_shards(store, old)):
                made += source.shard(folder, number, shard, len(made))
                progress(Progress(number + 1, len(old.shards), unit="shards"))
            write_corrections(folder, corrections)
            write_provenance(folder, Provenance.parse(MANIFEST, old.provenance))
            if old.ood_texts:
                take_over_file(store, folder, OOD_TEXTS)
            new, kept = complete_store(transaction, made, {})
            keys = {shard.stored.header.plan_key for shard in made}
            # Not the command that made the store: its corpus has the rows still.
            sources = read_sources(store)
            known = {key: item for key, item in sources.shards.items() if key in keys}
            # Options of earlier commands can name a speaker.
            history = tuple({**line, "arguments": line["arguments"][:1]} for line in sources.history)
            write_sources(folder, Sources(known, history=history))
    before, after = ({entry.file: entry.sha256 for entry in of.files} for of in (old, new))
    changed = (*sorted(file for file, sha256 in after.items() if before.get(file) != sha256), MANIFEST)
    n_new, gone = sum(shard.is_new for shard in made), tuple(sorted(before.keys() - after.keys()))
    return RemovedRows(source.n_rows, n_failed, n_new, changed, gone, kept.incomplete)


class _Source:
    """The store from which rows are removed; ``n_rows`` of the unwanted ones are there."""

    def __init__(self, store: Path, manifest: Manifest, unwanted: set[str]) -> None:
        self._store, self.unwanted = store, unwanted
        ids, starts = index_values(store, manifest, "id"), np.cumsum([0, *(entry.rows for entry in manifest.shards)])
        self._ids = [ids[start:stop] for start, stop in pairwise(starts.tolist())]
        self.n_rows = len(unwanted.intersection(ids))

    def shard(self, folder: Path, number: int, shard: StoredShard, new: int) -> list[MadeShard]:
        """Take over a shard, or write it with its new number; return it, or nothing if it would be empty."""
        if self.unwanted.isdisjoint([*self._ids[number], *(failure["id"] for failure in shard.header.failures)]):
            take_over_file(self._store, folder, shard.entry.file, shard_name(new))
            return [MadeShard(replace(shard, entry=replace(shard.entry, file=shard_name(new))), False)]
        checked = inspect_shard(stored_file(self._store, shard.entry.file), number, read_locations)
        stored = StoredRows(self._store, checked)
        kept = [position for position, uid in enumerate(stored.rows.ids) if uid not in self.unwanted]
        failures = tuple(failure for failure in checked.header.failures if failure["id"] not in self.unwanted)
        if not kept and not failures:
            return []
        datasets = column_datasets(checked.locations)
        # In the order in which they were written.
        names = sorted(datasets, key=lambda name: max(place.offset for place in datasets[name].values()))
        kinds = {name: column_kind(name, datasets[name]) for name in names}
        examples = _examples(stored, kinds, kept)
        header = _header(replace(checked.header, failures=failures), kept, examples)
        (folder / shard_name(new)).parent.mkdir(parents=True, exist_ok=True)
        own = {name: kind for name, kind in kinds.items() if name not in FIXED_COLUMNS}
        digest = write_file(folder / shard_name(new), partial(write_rows, own, header, examples))
        entry = FileEntry(shard_name(new), digest.size, header.rows, digest.sha256)
        return [MadeShard(StoredShard(entry, replace(header, mel_statistics={})), True)]


def _examples(stored: StoredRows, kinds: dict[str, str], kept: Sequence[int]) -> list[Example]:
    """Return the kept rows of a shard."""
    specs = stored.header.arrays
    arrays = {name: stored.array(name, spec["axis"]) for name, spec in specs.items()}
    columns: dict[str, Any] = {n: (stored.numbers if kind == NUMBER else stored.texts)(n) for n, kind in kinds.items()}
    offset, keys, examples = np.float32(specs["mel"].get("offset", 0.0)), stored.row_keys, []
    for position in kept:
        mel = np.ascontiguousarray(arrays["mel"][position], np.float32) + offset
        of_row = {name: values[position] for name, values in arrays.items()}
        row = {name: values[position] for name, values in columns.items()}
        examples.append(Example(of_row, row, mel_statistics(mel), key=keys[position]))
    return examples


def _header(header: ShardHeader, kept: Sequence[int], examples: Sequence[Example]) -> ShardHeader:
    """Return the header of a shard with its kept rows."""
    statistics: dict[str, MelStatistics] = {}
    remarks, row_remarks = Remarks(), {}
    for new, (position, example) in enumerate(zip(kept, examples, strict=True)):
        speaker, found = example.row["speaker"], example.statistics
        statistics[speaker] = statistics[speaker].merged(found) if speaker in statistics else found
        if kinds := header.row_remarks.get(str(position)):
            row_remarks[str(new)] = kinds
            for kind, symbols in kinds.items():
                for symbol, count in symbols.items():
                    remarks.add(kind, symbol, example.row["id"], count)
    # Other keys than those of a plan: the corpus is not here. An update finds the rows by their own keys.
    rest = [[example.key.hex() for example in examples], [failure["where"] for failure in header.failures]]
    return replace(
        header,
        key=json_sha256([header.key, rest]),
        planned=json_sha256([header.plan_key, rest]) if header.planned else "",
        rows=len(examples),
        seconds=float(sum(example.row["seconds"] for example in examples)),
        mel_statistics={speaker: found.as_dict() for speaker, found in statistics.items()},
        remarks=remarks.as_dict(),
        row_remarks=row_remarks,
    )
