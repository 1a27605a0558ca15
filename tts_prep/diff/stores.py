"""The differences of two stores: from their manifests, indexes and keys, and from arrays where those do not tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.format.decoding import Record, parse_json
from tts_prep.format.files.checksums import CHECKSUMS
from tts_prep.format.hdf5.columns import CategoryColumn, Column, TextColumn
from tts_prep.format.hdf5.datasets import Locations, map_file, read_string
from tts_prep.format.hdf5.process import hdf5_process
from tts_prep.format.layout import FIXED_COLUMNS, KEY_BYTES, ROW_KEYS
from tts_prep.format.records.manifest import Manifest
from tts_prep.loader.dataset.settings import setting_tables
from tts_prep.loader.dataset.store import Store

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Setting = tuple[str, str, str, str]
"""Table, name, and both values as texts; an empty text where a store has no such setting."""

CAUSES: Final = {
    "recording": "other recordings",
    "file": "the same values of another file or excerpt",
    "text": "other texts",
    "speaker": "other speakers",
    "dictionary": "other phones, by the dictionary",
    "table": "other ids of phones, by the symbol table",
    "settings": "other values, by settings",
    "library": "other values, by versions of libraries",
    "unknown": "other values of the same recordings, settings and versions",
}
"""Why rows differ, in the order in which they are shown."""

_CHUNK: Final = 1 << 14
_SECONDS: Final = 1e-3
"""Resampling moves the end of a recording by less than a sample of the lower rate."""


@dataclass(frozen=True)
class Changed:
    """A column or an array that differs.

    Attributes:
        what: in which way, if not by rows.
        ids: the common rows with other values.
    """

    what: str = ""
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class StoreDifference:
    """What differs between two stores.

    Attributes:
        settings, versions: settings, and versions of the format and of libraries.
        only_first, only_second: ids of rows that the other store does not have.
        failed: how many of them are failures of the other store.
        n_common: the number of common rows.
        rows: cause, one of `CAUSES` → ids of common rows that differ by it. A row can differ by several.
        columns, arrays: what differs of the corpus's columns and added ones, and of added arrays.
        statistics: name, and both values.
        files: other files that differ.
    """

    settings: tuple[Setting, ...]
    versions: tuple[Setting, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    failed: tuple[int, int]
    n_common: int
    rows: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, Changed]
    arrays: Mapping[str, Changed]
    statistics: tuple[tuple[str, str, str], ...]
    files: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return not any(value for name, value in vars(self).items() if name not in ("failed", "n_common"))


class _Side:
    """One of the stores: its rows that lie in shards of which the other store has no copy."""

    def __init__(self, store: Store, other: Manifest, find: Callable[[Path], Locations]) -> None:
        self.store, self._find = store, find
        self.manifest = store.manifest
        self.starts = np.cumsum([0, *(entry.rows for entry in self.manifest.shards)])
        copies = {entry.sha256 for entry in other.shards}
        self.changed = [n for n, entry in enumerate(self.manifest.shards) if entry.sha256 not in copies]
        ranges = [np.arange(self.starts[n], self.starts[n + 1]) for n in self.changed]
        self.rows: Rows = np.concatenate([np.empty(0, np.int64), *ranges])
        ids = store.column("id")
        assert isinstance(ids, TextColumn)
        self.ids = ids
        self._keys = np.zeros((len(self.rows), KEY_BYTES), np.uint8)

    def keys(self) -> npt.NDArray[np.uint8] | None:
        """Return the keys of `rows`, [n, 32]; None if a shard has none."""
        start = 0
        for number in self.changed:
            path, places = self._places("phonemes", number)
            if ROW_KEYS not in places:
                return None
            n_rows = self.manifest.shards[number].rows
            self._keys[start : start + n_rows] = map_file(path).dataset(places[ROW_KEYS])[:n_rows]
            start += n_rows
        return self._keys

    def checksum(self, array: str, number: int) -> str:
        """Return the checksum of an array of a shard, as the file has it."""
        path, places = self._places(array, number)
        where = f"{path}: {CHECKSUMS}"
        record = Record(where, parse_json(where, read_string(path, places, CHECKSUMS)))
        return record.text(array) if array in record else ""

    def _places(self, array: str, number: int) -> tuple[Path, Locations]:
        # Which fetches the file of a store behind a URL.
        self.store.array(array, number)
        path = self.store.path / self.manifest.file_of(array, number).file
        return path, self._find(path)

    def shards_of(self, rows: Rows) -> Rows:
        """Return the number of the shard of each row."""
        return np.searchsorted(self.starts, rows, side="right") - 1


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The rows that two stores have both, [n] of each.

    Attributes:
        is_copy: whether a row lies in a shard that both stores have.
    """

    one: _Side
    two: _Side
    first: Rows
    second: Rows
    is_copy: Mask

    @property
    def sides(self) -> tuple[tuple[_Side, Rows], tuple[_Side, Rows]]:
        return (self.one, self.first), (self.two, self.second)

    def ids(self, mask: Mask) -> tuple[str, ...]:
        return tuple(self.one.ids.take(self.first[mask]))

    def column(self, name: str, within: Mask) -> Mask:
        """Return which rows, of those of a mask, have other values of a column."""
        found, at = np.zeros_like(within), np.flatnonzero(within)
        a, b = self.one.store.column(name), self.two.store.column(name)
        for start in range(0, len(at), _CHUNK):
            part = at[start : start + _CHUNK]
            found[part] = _differ(a, b, self.first[part], self.second[part])
        return found

    def array(self, name: str, within: Mask) -> Mask:
        """Return which rows, of those of a mask, have other values of an array. They are read."""
        found = np.zeros_like(within)
        for part in self._by_shards(name, within):
            views = (side.store.views(name, rows[part]) for side, rows in self.sides)
            found[part] = [not _are_equal(a, b) for a, b in zip(*views, strict=True)]
        return found

    def _by_shards(self, name: str, within: Mask) -> Iterator[Rows]:
        """Yield the rows of a mask by pairs of shards, without those whose checksums say that all values are equal."""
        at = np.flatnonzero(within)
        shards = np.stack([side.shards_of(rows[at]) for side, rows in self.sides], axis=1)
        for part in np.split(at, np.flatnonzero(np.any(shards[1:] != shards[:-1], axis=1)) + 1):
            numbers = [int(side.shards_of(rows[part[:1]])[0]) for side, rows in self.sides if len(part)]
            of = [(side, n) for (side, _), n in zip(self.sides, numbers, strict=False)]
            is_whole = {side.manifest.shards[n].rows for side, n in of} == {len(part)}
            is_whole = is_whole and bool(np.all(np.diff(self.second[part]) == 1))
            checksums = [side.checksum(name, n) for side, n in of if is_whole]
            if not is_whole or not checksums[0] or checksums[0] != checksums[1]:
                yield from (part[first : first + _CHUNK] for first in range(0, len(part), _CHUNK))


def _differ(a: Column, b: Column, first: Rows, second: Rows) -> Mask:
    if isinstance(a, TextColumn) and isinstance(b, TextColumn):
        return np.array([x != y for x, y in zip(a.take(first), b.take(second), strict=True)], np.bool_)
    if isinstance(a, CategoryColumn) and isinstance(b, CategoryColumn):
        table = {text: code for code, text in enumerate(a.table)}
        codes = np.array([table.get(text, -1) for text in b.table], np.int64)
        return np.asarray(a.codes[first] != codes[np.clip(b.codes[second], 0, len(codes) - 1)])
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        x, y = a[first], b[second]
        return np.asarray((x != y) & ~((x != x) & (y != y)))
    return np.ones(len(first), np.bool_)


def _are_equal(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """Return whether arrays are equal; most of those that are not differ in their first row."""
    if a.shape != b.shape:
        return False
    return np.array_equal(a, b) if not a.ndim else np.array_equal(a[:1], b[:1]) and np.array_equal(a, b)


def compare_stores(first: Store, second: Store) -> StoreDifference:
    """Return what differs between two stores. Rows are the same if they have the same id.

    A shard that both stores have is not looked at. Of the others, the keys of rows tell which were made from other
    recordings or texts; mels and waveforms are read where a key differs, or the versions of libraries do.

    Raises:
        TtsPrepError: a store is broken.
    """
    with hdf5_process() as find:
        one, two = _Side(first, second.manifest, find), _Side(second, first.manifest, find)
        pairs, only = _matched(one, two)
        rows = _causes(pairs)
        columns, arrays = _columns(pairs), _arrays(pairs)
    tables = [*_settings(one.manifest, two.manifest)]
    versions = tuple(setting for setting in tables if setting[0] in ("format", "software"))
    files = ("failures", "corrections", "provenance_file", "ood_texts")
    failed = [{failure.id for failure in side.store.failures()} for side in (two, one)]
    return StoreDifference(
        settings=tuple(setting for setting in tables if setting not in versions),
        versions=versions,
        only_first=only[0],
        only_second=only[1],
        failed=(len(failed[0].intersection(only[0])), len(failed[1].intersection(only[1]))),
        n_common=len(pairs.first),
        rows={cause: pairs.ids(rows[cause]) for cause in CAUSES if rows[cause].any()},
        columns=columns,
        arrays=arrays,
        statistics=tuple(_statistics(one.manifest, two.manifest)),
        files=tuple(name for name in files if _sha256(one.manifest, name) != _sha256(two.manifest, name)),
    )


def _matched(one: _Side, two: _Side) -> tuple[_Pairs, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the rows that both stores have, in the order of the first, and the ids that only one of them has."""
    places = dict(zip(two.ids.take(two.rows), two.rows.tolist(), strict=True))
    ids = one.ids.take(one.rows)
    matched = np.fromiter((places.get(uid, -1) for uid in ids), np.int64, len(ids))
    only_first = tuple(uid for uid, row in zip(ids, matched.tolist(), strict=True) if row < 0)
    only_second = tuple(places.keys() - {*ids}) if len(places) > len(ids) - len(only_first) else ()
    partner = np.full(int(one.starts[-1]), -1, np.int64)
    partner[one.rows] = matched
    numbers = {entry.sha256: number for number, entry in enumerate(two.manifest.shards)}
    is_copy = np.zeros(len(partner), np.bool_)
    for number, entry in enumerate(one.manifest.shards):
        if (other := numbers.get(entry.sha256)) is not None:
            rows = slice(int(one.starts[number]), int(one.starts[number + 1]))
            partner[rows], is_copy[rows] = np.arange(two.starts[other], two.starts[other + 1]), True
    common = np.flatnonzero(partner >= 0)
    pairs = _Pairs(one, two, common, partner[common], is_copy[common])
    return pairs, (only_first, tuple(sorted(only_second, key=lambda uid: places[uid])))


def _audio_differs(one: Manifest, two: Manifest) -> bool:
    """Return whether settings differ that mels and waveforms depend on."""
    others = ("preset", "corpus", "text", "store")
    a, b = ({k: v for k, v in side.configuration.items() if k not in others} for side in (one, two))
    return a != b or any(one.arrays.get(name) != two.arrays.get(name) for name in ("mel", "waveform"))


def _causes(pairs: _Pairs) -> dict[str, Mask]:
    one, two = pairs.one.manifest, pairs.two.manifest
    within = ~pairs.is_copy
    found = {cause: np.zeros_like(within) for cause in CAUSES}
    if not within.any():
        return found
    is_other_library = one.software != two.software
    found["text"], found["speaker"] = (pairs.column(name, within) for name in ("text", "speaker"))
    own = [pairs.column(name, within) for name in _corpus_columns(pairs)]
    key, is_known = _other_keys(pairs, within)
    a, b = (np.asarray(side.store.column("seconds"))[rows] for side, rows in pairs.sides)
    seconds = within & (np.abs(a - b) > _SECONDS)
    _add_phones(pairs, found, within)
    if _audio_differs(one, two):
        found["settings"] |= True
        # What else the key is made of is seen in the columns.
        seen = np.any([found["text"], found["speaker"], found["dictionary"], *own], axis=0)
        found["recording"] = seconds | (key & ~seen)
        return found
    to_read = within if is_other_library or not is_known else within & key
    names = [name for name in ("mel", "waveform") if name in one.arrays and name in two.arrays]
    values_differ = np.any([pairs.array(name, to_read) for name in names], axis=0) | seconds
    found["recording"] = values_differ & (key | seconds)
    found["library"] = values_differ & ~found["recording"] & is_other_library
    found["unknown"] = values_differ & ~found["recording"] & ~found["library"]
    seen = [found[cause] for cause in ("recording", "text", "speaker", "dictionary")]
    found["file"] = key & ~np.any([*seen, *own], axis=0)
    if not one.arrays["mel"]["row_shape"][0] and "waveform" not in names:
        # Nothing is stored that another recording would change.
        found["recording"], found["file"] = found["recording"] | found["file"], np.zeros_like(within)
    return found


def _other_keys(pairs: _Pairs, within: Mask) -> tuple[Mask, bool]:
    """Return which rows have other keys, and whether both stores have keys."""
    keys = [side.keys() for side in (pairs.one, pairs.two)]
    found = np.zeros_like(within)
    if keys[0] is None or keys[1] is None:
        return found, False
    a, b = (np.searchsorted(side.rows, rows[within]) for side, rows in pairs.sides)
    found[within] = np.any(keys[0][a] != keys[1][b], axis=1)
    return found, True


def _add_phones(pairs: _Pairs, found: dict[str, Mask], within: Mask) -> None:
    """Add the rows with other phones of the same text, by what makes phones."""
    one, two = pairs.one.manifest, pairs.two.manifest
    others = pairs.column("phoneme_text", within & ~found["text"])
    if one.vocabulary != two.vocabulary:
        found["table"] = pairs.array("phonemes", within & ~found["text"] & ~others)
    if not others.any():
        return
    text, other_text = (dict(side.configuration.get("text", {})) for side in (one, two))
    lexicon, other_lexicon = ({tuple(entry) for entry in of.pop("lexicon", ())} for of in (text, other_text))
    words = sorted({str(word) for word, *_ in lexicon ^ other_lexicon})
    if words:
        word = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, words))})(?!\w)", re.IGNORECASE)
        at = np.flatnonzero(others)
        texts = pairs.one.store.column("text")
        assert isinstance(texts, TextColumn)
        has_word = [bool(word.search(of)) for of in texts.take(pairs.first[at])]
        found["dictionary"][at] = has_word
    rest = "settings" if text != other_text else "library" if one.software != two.software else "unknown"
    found[rest] |= others & ~found["dictionary"]


def _corpus_columns(pairs: _Pairs) -> list[str]:
    """Return the columns that both corpora have besides those of the format."""
    added = {column for side in (pairs.one, pairs.two) for column in _added_columns(side.manifest)}
    both = {*pairs.one.store.column_names} & {*pairs.two.store.column_names}
    return sorted(both - FIXED_COLUMNS.keys() - added)


def _added_columns(manifest: Manifest) -> set[str]:
    return {column for spec in manifest.specs.values() if spec.added for column in spec.own_columns}


def _columns(pairs: _Pairs) -> dict[str, Changed]:
    sides = (pairs.one, pairs.two)
    # Where the rows of an array lie is no value of a row.
    places = {column for side in sides for spec in side.manifest.specs.values() for column in spec.columns or ()}
    names = [{*side.store.column_names} - FIXED_COLUMNS.keys() - places for side in sides]
    found = {name: Changed(_only(name in names[0])) for name in names[0] ^ names[1]}
    for name in names[0] & names[1]:
        added = any(name in _added_columns(side.manifest) for side in sides)
        within = np.ones_like(pairs.is_copy) if added else ~pairs.is_copy
        if (mask := pairs.column(name, within)).any():
            found[name] = Changed(ids=pairs.ids(mask))
    return dict(sorted(found.items()))


def _only(in_first: bool) -> str:
    return "only in the first" if in_first else "only in the second"


def _arrays(pairs: _Pairs) -> dict[str, Changed]:
    one, two = pairs.one.manifest, pairs.two.manifest
    audio_differs = _audio_differs(one, two)
    specs = [{name: spec for name, spec in side.array_specs.items() if spec.added} for side in (one, two)]
    waveforms = {"waveform"} & (one.arrays.keys() ^ two.arrays.keys())
    found = {name: Changed(_only(name in one.arrays)) for name in {*(specs[0].keys() ^ specs[1].keys()), *waveforms}}
    for name in specs[0].keys() & specs[1].keys():
        if specs[0][name] != specs[1][name]:
            a, b = (side[name].as_dict() for side in specs)
            keys = sorted(key for key in {*a, *b} if a.get(key) != b.get(key))
            found[name] = Changed(f"made with other {' and '.join(keys)}")
        elif audio_differs:
            # Made from other mels or waveforms, or imported; the settings are named already.
            continue
        else:
            copies = {entry.sha256 for entry in two.array_files[name]}
            others = np.array([entry.sha256 not in copies for entry in one.array_files[name]], np.bool_)
            within: Mask = others[pairs.one.shards_of(pairs.first)]
            if (mask := pairs.array(name, within)).any():
                found[name] = Changed(ids=pairs.ids(mask))
    return dict(sorted(found.items()))


def _settings(one: Manifest, two: Manifest) -> Iterator[Setting]:
    """Yield the settings that differ; those of added arrays are differences of arrays."""
    first, second = (
        {name: values for name, values in setting_tables(side) if not name.startswith("array ")} for side in (one, two)
    )
    for table in {**first, **second}:
        a, b = first.get(table, {}), second.get(table, {})
        for key in {**a, **b}:
            # The fingerprint differs whenever anything does.
            if a.get(key) != b.get(key) and (table, key) != ("format", "fingerprint"):
                yield table, key, a.get(key, ""), b.get(key, "")


def _statistics(one: Manifest, two: Manifest) -> Iterator[tuple[str, str, str]]:
    a, b = (dict(_numbers(side)) for side in (one, two))
    for name in {**a, **b}:
        if a.get(name) != b.get(name):
            yield name, a.get(name, ""), b.get(name, "")


def _numbers(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield totals, and means of the statistics of arrays over their numbers, as texts."""
    yield from ((name, f"{value:,.10g}") for name, value in manifest.totals.items() if isinstance(value, int | float))
    of_arrays = {name: manifest.arrays[name].get("statistics", {}) for name in manifest.array_specs}
    for array, table in {**of_arrays, "mel": manifest.mel_statistics}.items():
        for key in ("mean", "std"):
            if values := table.get(key):
                yield f"{array} {key}", f"{np.mean(values):.6g}"


def _sha256(manifest: Manifest, name: str) -> str:
    entry = getattr(manifest, name)
    return entry.sha256 if entry else ""
