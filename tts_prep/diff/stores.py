"""The differences of two stores: from their manifests, indexes and keys, and from arrays where those do not tell."""

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
from tts_prep.inspection.settings import setting_tables
from tts_prep.loader.dataset.store import Store

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Changed = tuple[str, tuple[str, ...]]
Setting = tuple[str, str, str, str]
"""Table, name, and both values as texts; an empty text where a store has no such setting."""

CAUSES: Final = {
    "recording": "other recordings",
    "file": "the same values of another file or excerpt",
    "list": "other lists of numbers in the corpus",
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
_ONLY: Final = ("only in the second", "only in the first")
_SECONDS: Final = 1e-3
"""Resampling moves the end of a recording by less than a sample of the lower rate."""


@dataclass(frozen=True)
class StoreDifference:
    """What differs between two stores.

    Attributes:
        rows: cause, one of `CAUSES` → ids of common rows that differ by it. A row can differ by several.
        columns, arrays: in which way columns and added arrays differ, and ids of common rows with other values.
    """

    settings: tuple[Setting, ...]
    versions: tuple[Setting, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    n_common: int
    rows: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, Changed]
    arrays: Mapping[str, Changed]
    statistics: tuple[tuple[str, str, str], ...]
    files: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return not any(value for name, value in vars(self).items() if name != "n_common")


class _Side:
    """One of the stores; ``changed`` are its shards of which the other store has no copy."""

    def __init__(self, store: Store, other: Manifest, find: Callable[[Path], Locations]) -> None:
        self.store, self._find = store, find
        self.manifest = store.manifest
        self.starts = np.cumsum([0, *(entry.rows for entry in self.manifest.shards)])
        copies = {entry.sha256 for entry in other.shards}
        self.changed = [n for n, entry in enumerate(self.manifest.shards) if entry.sha256 not in copies]
        ids = store.column("id")
        assert isinstance(ids, TextColumn)
        self.ids = ids

    def keys(self) -> npt.NDArray[np.uint8] | None:
        """Return the keys of the rows of these shards, [n_rows, 32]; None if one has none."""
        keys = np.zeros((int(self.starts[-1]), KEY_BYTES), np.uint8)
        for number in self.changed:
            path, places = self._places("phonemes", number)
            rows = slice(self.starts[number], self.starts[number + 1])
            if ROW_KEYS not in places or places[ROW_KEYS].shape != keys[rows].shape:
                return None
            keys[rows] = map_file(path).dataset(places[ROW_KEYS])
        return keys

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
    """The rows that two stores have both, [n] of each; ``is_copy``: those in shards that both have."""

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
        found = np.zeros_like(within)
        values = (_values(side.store.column(name), rows[within]) for side, rows in self.sides)
        # A missing number is not equal to itself.
        found[within] = [x != y and (x == x or y == y) for x, y in zip(*values, strict=True)]
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


def _values(column: Column, rows: Rows) -> list[Any]:
    if isinstance(column, TextColumn):
        return column.take(rows)
    return [column[row] for row in rows.tolist()] if isinstance(column, CategoryColumn) else list(column[rows].tolist())


def _are_equal(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    # Most arrays that are not equal differ in their first row.
    return a.shape == b.shape and (not a.ndim or np.array_equal(a[:1], b[:1])) and np.array_equal(a, b)


def compare_stores(first: Store, second: Store) -> StoreDifference:
    """Return what differs between two stores, whose rows are matched by ids; one that is broken is a TtsPrepError.

    A shard that both stores have is not looked at. Of the others, the keys of rows tell which were made from other
    recordings or texts; mels and waveforms are read where a key differs, or the versions of libraries do.
    """
    with hdf5_process() as find:
        one, two = _Side(first, second.manifest, find), _Side(second, first.manifest, find)
        pairs, only = _matched(one, two)
        rows = _causes(pairs)
        columns, arrays = _columns(pairs), _arrays(pairs)
    tables = [*_different(one.manifest, two.manifest)]
    entries = {
        name: [getattr(side.manifest, name) for side in (one, two)]
        for name in ("failures", "corrections", "provenance_file", "ood_texts")
    }
    return StoreDifference(
        settings=tuple(setting for setting in tables if setting[0] not in ("format", "software", "statistics")),
        versions=tuple(setting for setting in tables if setting[0] in ("format", "software")),
        only_first=only[0],
        only_second=only[1],
        n_common=len(pairs.first),
        rows={cause: pairs.ids(rows[cause]) for cause in CAUSES if rows[cause].any()},
        columns=columns,
        arrays=arrays,
        statistics=tuple(setting[1:] for setting in tables if setting[0] == "statistics"),
        files=tuple(name for name, (x, y) in entries.items() if x != y),
    )


def _matched(one: _Side, two: _Side) -> tuple[_Pairs, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the rows that both stores have, in the order of the first, and the ids that only one of them has."""
    ids, others = (side.ids.take(np.arange(len(side.ids))) for side in (one, two))
    places = {uid: row for row, uid in enumerate(others)}
    partner = np.fromiter((places.get(uid, -1) for uid in ids), np.int64, len(ids))
    common, of_first = np.flatnonzero(partner >= 0), {*ids}
    is_copy = ~np.isin(one.shards_of(common), one.changed)
    only = (tuple(ids[row] for row in np.flatnonzero(partner < 0)), tuple(uid for uid in others if uid not in of_first))
    return _Pairs(one, two, common, partner[common], is_copy), only


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
    names = set.intersection(*(_columns_of(side, added=False) for side, _ in pairs.sides))
    own = [pairs.column(name, within) for name in names]
    keys = [side.keys() for side, _ in pairs.sides]
    key, is_known = np.zeros_like(within), keys[0] is not None and keys[1] is not None
    if keys[0] is not None and keys[1] is not None:
        key[within] = np.any(keys[0][pairs.first[within]] != keys[1][pairs.second[within]], axis=1)
    a, b = (np.asarray(side.store.column("seconds"))[rows] for side, rows in pairs.sides)
    seconds = within & (np.abs(a - b) > _SECONDS)
    _add_phones(pairs, found, within)
    # Arrays of a manifest with neither settings nor software are its lists, whose lengths can be all that a row has.
    given = one.array_specs.items() if one.configuration.get("corpus", {}).get("reader") == "manifest" else ()
    lists = [name for name, spec in given if spec.added and not (spec.settings or spec.software)]
    found["list"] = np.any([key & False, *(pairs.array(name, key) for name in lists if name in two.arrays)], axis=0)
    has_audio = one.arrays["mel"]["row_shape"][0] or ("waveform" in one.arrays and "waveform" in two.arrays)
    if not has_audio:
        seconds &= ~found["list"]
    if _audio_differs(one, two):
        found["settings"] |= True
        # What else the key is made of is seen in the columns.
        seen = np.any([*(found[cause] for cause in ("text", "speaker", "dictionary", "list")), *own], axis=0)
        found["recording"] = seconds | (key & ~seen)
        return found
    to_read = within if is_other_library or not is_known else within & key
    stored = [name for name in ("mel", "waveform") if has_audio and name in one.arrays and name in two.arrays]
    values_differ = np.any([pairs.array(name, to_read) for name in stored], axis=0) | seconds
    found["recording"] = values_differ & (key | seconds)
    found["library"] = values_differ & ~found["recording"] & is_other_library
    found["unknown"] = values_differ & ~found["recording"] & ~found["library"]
    seen = [found[cause] for cause in ("recording", "text", "speaker", "dictionary", "list")]
    found["file"] = key & ~np.any([*seen, *own], axis=0)
    if not has_audio:
        # Nothing is stored that another recording would change.
        found["recording"], found["file"] = found["recording"] | found["file"], np.zeros_like(within)
    return found


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


def _columns_of(side: _Side, *, added: bool) -> set[str]:
    """Return the columns besides those of the format: those of the corpus, or of added arrays."""
    specs = side.manifest.specs.values()
    of_arrays = {column for spec in specs if spec.added for column in spec.own_columns}
    # Where the rows of an array lie is no value of a row.
    own = {*side.store.column_names} - FIXED_COLUMNS.keys() - {name for spec in specs for name in spec.columns or ()}
    return own & of_arrays if added else own - of_arrays


def _columns(pairs: _Pairs) -> dict[str, Changed]:
    found: dict[str, Changed] = {}
    for added in (False, True):
        first, second = (_columns_of(side, added=added) for side, _ in pairs.sides)
        within = np.ones_like(pairs.is_copy) if added else ~pairs.is_copy
        found |= {name: (_ONLY[name in first], ()) for name in first ^ second}
        masks = ((name, pairs.column(name, within)) for name in first & second)
        found |= {name: ("", pairs.ids(mask)) for name, mask in masks if mask.any()}
    return dict(sorted(found.items()))


def _arrays(pairs: _Pairs) -> dict[str, Changed]:
    one, two = pairs.one.manifest, pairs.two.manifest
    audio_differs = _audio_differs(one, two)
    specs = [{name: spec for name, spec in side.array_specs.items() if spec.added} for side in (one, two)]
    waveforms = {"waveform"} & (one.arrays.keys() ^ two.arrays.keys())
    found: dict[str, Changed]
    found = {name: (_ONLY[name in one.arrays], ()) for name in {*(specs[0].keys() ^ specs[1].keys()), *waveforms}}
    for name in specs[0].keys() & specs[1].keys():
        if specs[0][name] != specs[1][name]:
            a, b = (side[name].as_dict() for side in specs)
            keys = sorted(key for key in {*a, *b} if a.get(key) != b.get(key))
            found[name] = f"made with other {' and '.join(keys)}", ()
        # Otherwise made from other mels or waveforms, whose settings are named, or imported.
        elif not audio_differs:
            copies = {entry.sha256 for entry in two.array_files[name]}
            others = np.array([entry.sha256 not in copies for entry in one.array_files[name]], np.bool_)
            within: Mask = others[pairs.one.shards_of(pairs.first)]
            if (mask := pairs.array(name, within)).any():
                found[name] = "", pairs.ids(mask)
    return dict(sorted(found.items()))


def _tables(manifest: Manifest) -> dict[str, Mapping[str, str]]:
    """Return settings but those of added arrays, and totals and means of statistics, as texts."""
    found = {name: f"{value:,.10g}" for name, value in manifest.totals.items() if isinstance(value, int | float)}
    arrays = {name: array.get("statistics", {}) for name, array in manifest.arrays.items()}
    for array, table in {**arrays, "mel": manifest.mel_statistics}.items():
        found |= {f"{array} {key}": f"{np.mean(table[key]):.6g}" for key in ("mean", "std") if table.get(key)}
    settings = {name: values for name, values in setting_tables(manifest) if not name.startswith("array ")}
    return {**settings, "statistics": found}


def _different(one: Manifest, two: Manifest) -> Iterator[Setting]:
    """Yield what differs of these tables."""
    first, second = _tables(one), _tables(two)
    for table in {**first, **second}:
        a, b = first.get(table, {}), second.get(table, {})
        for key in {**a, **b}:
            # The fingerprint differs whenever anything does.
            if a.get(key) != b.get(key) and (table, key) != ("format", "fingerprint"):
                yield table, key, a.get(key, ""), b.get(key, "")
