"""Columns from elsewhere: scores and categories that are joined with a store, replaced and removed."""

from __future__ import annotations

import csv
import datetime as dt
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from corpora import write_table
from memory import environment
from stores import make_rows, write_store

from tts_prep.additions.column_table import MAX_CATEGORIES, guessed_dependencies, read_column_table
from tts_prep.errors import ConfigurationError, CorpusError, StoreError, TtsPrepError
from tts_prep.format.layout import SOURCES
from tts_prep.format.records.sources import read_sources
from tts_prep.loader import ChainDataset, UtteranceDataset
from tts_prep.preprocess import add_columns, remove_columns

# Tables are read by the room of corpora.
pytestmark = pytest.mark.whole

IDS = ["a/one", "two", "three", "four"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    rows = make_rows([20, 30, 40, 50])
    for row, name in zip(rows, IDS, strict=True):
        row.id = name
    return write_store(tmp_path / "store", rows, n_shards=2, waveform=True)


def files(store: Path) -> dict[str, object]:
    """Return the files of a store; of `sources.json` what a copy has too, without the history of commands."""
    found = {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}
    return {**found, SOURCES: replace(read_sources(store), history=())} if SOURCES in found else found


ROWS = [
    {"id": "three", "wer": 0.25, "Keep": "yes"},
    {"id": "two", "wer": None, "Keep": "no"},
    {"id": "a/one", "wer": -1.5e-3, "Keep": None},
]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_scores_are_columns_like_any_other(store: Path, tmp_path: Path, capsys, suffix: str) -> None:
    before = UtteranceDataset(store)
    mels = [utterance.mel.copy() for utterance in before]
    status, out, err = run(capsys, "add", store, "--columns", write_table(tmp_path / f"scores{suffix}", ROWS))
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"{store}: keep, 3 categories, missing in 2 utterances",
        f"{store}: wer, numbers, missing in 2 utterances; depends on audio and text",
        "note: keep: --update clears a value where text, audio or speaker of its row changes; --depends-on says which "
        "of them, or nothing",
    ]
    dataset = UtteranceDataset(store, verify=True)
    np.testing.assert_array_equal(dataset.wer, [-1.5e-3, np.nan, 0.25, np.nan])
    assert list(dataset.keep) == ["", "no", "yes", ""]
    assert dataset.filter(lambda m: m.wer < 0.1).id[0] == "a/one"
    assert [u.id for u in dataset.filter(lambda m: m.keep != "no")] == ["a/one", "three", "four"]
    assert list(dataset.sort("wer").id)[:2] == ["a/one", "three"]
    assert dataset[2].meta["wer"] == 0.25
    assert all(np.array_equal(utterance.mel, mel) for utterance, mel in zip(dataset, mels, strict=True))
    assert run(capsys, "verify", store)[0] == 0


@pytest.mark.parametrize("name", ["sources", "supervisions"])
def test_a_table_with_a_column_as_in_a_manifest_of_lhotse_is_a_table(store: Path, tmp_path: Path, name: str) -> None:
    add_columns(store, write_table(tmp_path / "s.jsonl", [{"id": "two", name: "web"}]))
    assert list(getattr(UtteranceDataset(store), name)) == ["", "web", "", ""]


def test_conditions_on_a_column_are_reasons_of_the_check(store: Path, tmp_path: Path, capsys) -> None:
    add_columns(store, write_table(tmp_path / "s.csv", ROWS))
    status, out, _ = run(capsys, "check", store, "--json", "--threshold", "wer>0.1", "--threshold", "n_frames<25")
    found = json.loads(out)
    assert status == 0
    assert {name: found["thresholds"][name]["suspects"] for name in ("wer>0.1", "n_frames<25")} == {
        "wer>0.1": 1,
        "n_frames<25": 1,
    }
    reasons = {suspect["id"]: [*suspect["reasons"]] for suspect in found["suspects"]}
    assert "wer>0.1" in reasons["three"]
    assert "n_frames<25" in reasons["a/one"]
    assert "wer>0.1" in run(capsys, "check", store, "--threshold", "wer > 0.1")[1]
    for condition, message in (
        ("cer>1", "no column 'cer'"),
        ("keep<1", "column 'keep': expected numbers, found texts"),
    ):
        status, _, err = run(capsys, "check", store, "--threshold", condition)
        assert (status, message in err) == (2, True), err


def test_a_report_has_a_histogram_of_scores_and_its_table_has_them_once(store: Path, tmp_path: Path, capsys) -> None:
    add_columns(store, {"id": IDS, "wer": [0.1, 0.2, 0.3, None]})
    page, table = tmp_path / "r.html", tmp_path / "r.csv"
    assert run(capsys, "report", store, "-o", page, "--csv", table)[0] == 0
    assert "Histogram: wer" in page.read_text("utf-8")
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["wer"] for row in rows][:3] == ["0.1", "0.2", "0.3"]
    assert [name for name in rows[0] if name.startswith("wer")] == ["wer"]


def test_columns_are_replaced_and_removed_by_name_and_others_stay(store: Path, capsys) -> None:
    add_columns(store, {"id": IDS, "other": [1, 2, 3, 4]})
    original = remove_columns(store, ["other"]) and files(store)
    add_columns(store, {"id": IDS, "wer": [1, 2, 3, 4], "kind": ["a", "b", "a", "b"]})
    first = files(store)
    with pytest.raises(StoreError, match=r"column 'wer': has other values for 3 utterances, such as 'two'; --replace "):
        add_columns(store, {"id": IDS, "wer": [1, 6, 7, 8]})
    with pytest.raises(StoreError, match="column 'wer': has numbers, such as of 'three', and the table has texts"):
        add_columns(store, {"id": IDS[:2], "wer": ["x", "y"]}, replace=True)
    assert files(store) == first
    add_columns(store, {"id": IDS, "wer": ["x", "y", "", ""]}, replace=True)
    dataset = UtteranceDataset(store)
    assert (list(dataset.wer), list(dataset.kind)) == (["x", "y", "", ""], ["a", "b", "a", "b"])
    remove_columns(store, ["wer"])
    add_columns(store, {"id": IDS, "wer": [1, 2, 3, 4]}, replace=True)
    assert files(store) == first
    status, out, _ = run(capsys, "remove", store, "--columns", "kind")
    assert (status, out) == (0, f"{store}: removed kind\n")
    assert [name in UtteranceDataset(store).columns for name in ("wer", "kind")] == [True, False]
    remove_columns(store, ["wer"])
    assert files(store) == original
    for arguments, message in (
        (("--columns", "wer"), "no column 'wer' was added; those that can be removed: none"),
        (("--array", "mel"), "no array 'mel' was added"),
        ((), "nothing to remove; give --ids, --speaker, --columns or --array"),
    ):
        status, _, err = run(capsys, "remove", store, *arguments)
        assert status in (1, 2)
        assert message in err
    assert files(store) == original


def test_a_store_is_what_it_was_when_all_that_was_added_is_removed(corpus: Path, tmp_path: Path, capsys) -> None:
    store = tmp_path / "store"
    assert run(capsys, "ljspeech", corpus, store, "--frontend", "characters", "--jobs", 1)[0] == 0
    before = files(store)
    assert run(capsys, "add", store, "--corpus", corpus, "--feature", "energy", "--jobs", 1)[0] == 0
    with_energy = files(store)
    add_columns(store, {"id": list(UtteranceDataset(store).id), "wer": [0.5] * len(UtteranceDataset(store))})
    add_columns(store, {"id": list(UtteranceDataset(store).id)[:1], "note": [LONG]})
    assert "2 columns of the index: wer, note\n" in run(capsys, "info", store)[1]
    assert run(capsys, "remove", store, "--columns", "wer,note")[0] == 0
    assert files(store) == with_energy
    add_columns(store, {"id": list(UtteranceDataset(store).id)[:1], "wer": [0.5]})
    vectors = tmp_path / "vectors.npz"
    np.savez(vectors, **{id_: np.ones(3, np.float32) for id_ in UtteranceDataset(store).id})
    assert run(capsys, "add", store, "--array", f"vector@utterance={vectors}")[0] == 0
    assert read_sources(store).command["imports"]
    removed = ("--array", "energy", "--array", "vector", "--columns", "wer")
    assert run(capsys, "remove", store, *removed)[0] == 0
    assert files(store) == before
    assert [path.name for path in store.parent.iterdir() if "store" in path.name] == ["store"]


def hostile_parquet(path: Path, kind: str) -> Path:
    """Write a file that is small, and whose contents are not."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    if kind == "rows":
        names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(400_000, np.int32)), ["two"])
        table = pa.table({"id": names, "x": np.zeros(400_000)})
    elif kind == "columns":
        table = pa.table({"id": ["two"], **{f"c{number}": [1.0] for number in range(1000)}})
    else:
        ids = ["two", *map(str, range(259))]
        texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(260, np.int32)), ["x" * (1 << 20)])
        table = pa.table({"id": ids, "x": texts.cast(pa.string())})
    pq.write_table(table, path, compression="zstd", use_dictionary=kind != "texts")
    return path


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("rows", "400,000 rows in so few bytes"),
        ("columns", "1,001 columns, expected at most 1,000"),
        # It takes 2 s to write 260 MiB.
        pytest.param("texts", "takes more than [0-9,]+ bytes of memory", marks=pytest.mark.soak),
        ("repeated texts", "takes more than [0-9,]+ bytes of memory"),
    ],
)
def test_a_small_parquet_with_large_contents_is_refused(store: Path, tmp_path: Path, kind: str, message: str) -> None:
    path = hostile_parquet(tmp_path / "t.parquet", kind)
    assert path.stat().st_size < 1 << 19
    before = files(store)
    with pytest.raises(CorpusError, match=f"^{path}: {message}.*; nothing was added$"):
        add_columns(store, path)
    assert files(store) == before


def added(store: Path, values: list) -> list:
    """Return a column of four utterances as a store has it once it is added."""
    add_columns(store, {"id": IDS, "x": values}, replace=True)
    return list(UtteranceDataset(store).columns["x"])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["0.5", "NA", "2", ""], [0.5, np.nan, 2, np.nan]),
        ([0.5, "null", 2, None], [0.5, np.nan, 2, np.nan]),
        (["inf", "-inf", "1", "N/A"], [np.inf, -np.inf, 1, np.nan]),
        ([True, False, None, True], [1, 0, np.nan, 1]),
        (["0.5", "-0.25", "1e3", ".5"], [0.5, -0.25, 1000, 0.5]),
    ],
)
def test_words_for_missing_numbers_infinite_numbers_and_truth_are_numbers(
    store: Path, values: list, expected: list
) -> None:
    np.testing.assert_array_equal(np.array(added(store, values), np.float64), expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["007", "12", "7", ""], ["007", "12", "7", ""]),
        ([2**53 + 1, 2**53 + 3, 5, None], ["9007199254740993", "9007199254740995", "5", ""]),
        (["9007199254740993", "1", "2", "3"], ["9007199254740993", "1", "2", "3"]),
        (["happy", "NA", "sad", "null"], ["happy", "NA", "sad", "null"]),
        (["1_000", "a", "b", "c"], ["1_000", "a", "b", "c"]),
    ],
)
def test_values_that_a_number_would_change_are_texts(store: Path, values: list, expected: list) -> None:
    assert added(store, values) == expected


def test_tables_of_pandas_and_pyarrow_are_added_as_they_are(store: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    days = [dt.date(2024, 1, day) for day in range(1, 5)]
    add_columns(store, pyarrow.table({"id": IDS, "wer": [0.5, None, 1, 2]}))
    add_columns(store, pytest.importorskip("pandas").DataFrame({"id": IDS, "day": days, "n": [1, 2, 3, 4]}))
    dataset = UtteranceDataset(store)
    np.testing.assert_array_equal(np.asarray(dataset.columns["wer"]), [0.5, np.nan, 1, 2])
    assert list(dataset.columns["day"]) == ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]
    with pytest.raises(
        ConfigurationError, match="expected a path, a dict of column names and values, or a table, found"
    ):
        add_columns(store, 5)


def test_a_parquet_has_its_dates_without_quotes_and_its_decimals_and_integers_exactly(
    store: Path, tmp_path: Path
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    days = [dt.date(2024, 1, day) for day in range(1, 5)]
    columns = {"id": IDS, "day": days, "session": [2**60 + n for n in range(4)], "clean": [True, False, True, None]}
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    add_columns(store, tmp_path / "t.parquet")
    dataset = UtteranceDataset(store)
    assert list(dataset.columns["day"]) == ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]
    assert list(dataset.columns["session"]) == [str(2**60 + n) for n in range(4)]
    np.testing.assert_array_equal(np.asarray(dataset.columns["clean"]), [1, 0, 1, np.nan])


def test_an_index_with_columns_is_made_again_from_the_arrays(store: Path, capsys) -> None:
    add_columns(store, {"id": IDS, "wer": [1, None, 3, 4], "kind": ["ä", "b", "ä", None]})
    before = files(store)
    (store / "index.h5").unlink()
    (store / "manifest.json").unlink()
    assert run(capsys, "reindex", store)[0] == 0
    assert files(store) == before


def test_rows_are_joined_by_the_names_of_recordings(store: Path) -> None:
    added = add_columns(store, {"audio": ["/data/wavs/a/one.wav", "two.flac", "x\\three"], "mos": [3, 4, 5]})
    np.testing.assert_array_equal(UtteranceDataset(store).mos, [3, 4, 5, np.nan])
    assert added.missing == {"mos": 1}


@pytest.mark.parametrize(
    ("of_id", "path"),
    [
        ("clips/{}", "clips/{}.wav"),
        ("clips/{}", "./clips/{}.flac"),
        ("clips/{}", "/data/corpus/clips/{}.wav"),
        ("clips/{}", "C:\\data\\clips\\{}.wav"),
        ("clips/{}", "{}.wav"),
        ("{}", "/data/corpus/clips/{}.wav"),
        ("{}", "file:///data/{}.WAV"),
        ("v1.5_{}", "clips/v1.5_{}.wav"),
        # A list of absolute paths has them as ids.
        ("/data/corpus/clips/{}", "/data/corpus/clips/{}.wav"),
        ("/data/corpus/clips/{}", "clips/{}.wav"),
    ],
)
def test_a_table_of_paths_is_joined_with_ids_however_long_either_is(
    tmp_path: Path, capsys, of_id: str, path: str
) -> None:
    rows = make_rows([20, 30, 40])
    for row, name in zip(rows, ("one", "two", "three"), strict=True):
        row.id = of_id.format(name)
    store = write_store(tmp_path / "store", rows, n_shards=2)
    table = [{"audio": path.format(name), "mos": mos} for name, mos in (("three", 3), ("one", 1), ("other", 9))]
    for suffix in (".csv", ".jsonl", ".parquet"):
        found = read_column_table(write_table(tmp_path / f"s{suffix}", table), [row.id for row in rows])
        np.testing.assert_array_equal(found.values["mos"], [1, np.nan, 3])
        assert found.unknown == ((path.format("other"),), 1)
    status, out, err = run(capsys, "add", store, "--columns", tmp_path / "s.csv")
    assert (status, err) == (0, "")
    np.testing.assert_array_equal(UtteranceDataset(store).mos, [1, np.nan, 3])
    assert f"1 row of no utterance of the store: {path.format('other')}" in out


def test_a_path_that_is_the_end_of_several_ids_is_of_none(tmp_path: Path) -> None:
    rows = make_rows([20, 30, 40])
    for row, name in zip(rows, ("x/a/one", "y/a/one", "y/b/two"), strict=True):
        row.id = name
    store = write_store(tmp_path / "store", rows)
    added = add_columns(
        store, {"audio": ["one.wav", "a/one.wav", "b/two.wav", "", "/", "..", "x/a/one"], "mos": range(7)}
    )
    np.testing.assert_array_equal(UtteranceDataset(store).mos, [6, np.nan, 2])
    assert added.unknown == (("one.wav", "a/one.wav", ""), 5)


def test_what_is_not_added_is_named(tmp_path: Path, capsys) -> None:
    n = MAX_CATEGORIES + 1
    rows = make_rows([3] * n)
    for i, row in enumerate(rows):
        row.id = f"u{i}"
    store = write_store(tmp_path / "store", rows)
    table = [{"id": f"u{i}", "text": "t", "hypothesis": f"said {i}", "wer": i} for i in range(n)]
    table += [{"id": f"gone{i}", "text": "t", "hypothesis": "h", "wer": 0} for i in range(4)]
    status, out, _ = run(capsys, "add", store, "--columns", write_table(tmp_path / "s.csv", table))
    assert status == 0
    assert out.splitlines() == [
        f"{store}: hypothesis, texts; depends on audio and text",
        f"{store}: wer, numbers; depends on audio and text",
        f"{tmp_path / 's.csv'}: 4 rows of no utterance of the store: gone0, gone1, gone2, …",
        f"{tmp_path / 's.csv'}: not added, every store has them: text; --corrections of the corpus command uses text",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,wer\ntwo,1\ntwo,2\n", "s.csv:3: 'two' is repeated, first in s.csv:2; nothing was added"),
        (
            "id,wer\nx,1\ny,2\n",
            "s.csv: names no utterance of the store, such as 'x'; the store has ids such as 'a/one'",
        ),
        ("id,wer\n", "names no utterance of the store, because it has no rows"),
        (
            "id,wer\ntwo,1\nthree,bad\n",
            "s.csv:3: column 'wer': found 'bad', but a number in s.csv:2; expected numbers or",
        ),
        ("id,wer\ntwo,bad\nthree,1\n", "s.csv:2: column 'wer': found 'bad', but a number in s.csv:3"),
        ("id,wer\ntwo,1_000\nthree,1\n", "found '1_000', but a number"),
        ("id,wer,cer\ntwo,1,2\nthree,1\n", "s.csv:3: expected 3 fields separated by ',', found 2; nothing was added"),
        ('id,wer\ntwo,"1', "s.csv:2: not a row of a table"),
        ("name,wer\ntwo,1\n", "s.csv:2: expected a column 'id', 'audio' with paths, or 'speaker', found name, wer"),
        ("id\ntwo\n", "no column to add"),
        ("id,text\ntwo,a\n", "no column to add"),
        ("id,wer,WER\ntwo,1,2\n", "two columns are both named 'wer'; rename one of them"),
        ("id,gender\ntwo,f\n", "has a column 'gender' of its own; rename the one to be added"),
        ("id,12\ntwo,1\n", "column '12': expected a name that starts with a letter"),
        ("id,mel\ntwo,1\n", "column 'mel': the format has a use for this name; rename it"),
        ("", "expected the names of the columns in the first line"),
    ],
)
def test_bad_tables_are_refused_in_one_line_and_the_store_stays(
    store: Path, tmp_path: Path, capsys, content: str, message: str
) -> None:
    before = files(store)
    (tmp_path / "s.csv").write_text(content)
    status, out, err = run(capsys, "add", store, "--columns", tmp_path / "s.csv")
    assert (status in (1, 2), out) == (True, "")
    assert message in err
    assert err.count("\n") == 1
    assert files(store) == before
    assert {path.name for path in tmp_path.iterdir()} == {"store", "s.csv"}


def test_columns_with_the_names_of_methods_are_found_by_name(store: Path) -> None:
    add_columns(store, {"id": IDS, "filter": [1, 2, 3, 4], "select": ["a", "b", "c", "d"], "sort": [4, 3, 2, 1]})
    dataset = UtteranceDataset(store)
    assert dataset.filter(lambda m: m.filter > 2).columns["sort"].tolist() == [2, 1]
    assert list(dataset.column("select")) == ["a", "b", "c", "d"]


def test_a_store_that_is_being_read_keeps_its_values(store: Path) -> None:
    dataset = UtteranceDataset(store)
    mel = dataset[0].mel
    value = mel.copy()
    add_columns(store, {"id": IDS, "wer": [1, 2, 3, 4]})
    remove_columns(store, ["wer"])
    np.testing.assert_array_equal(mel, value)
    with pytest.raises(StoreError, match="the store was replaced since it was opened; open it again"):
        dataset.views("phonemes")


def test_columns_of_different_lengths_are_refused(store: Path) -> None:
    with pytest.raises(CorpusError, match="expected as many values in each"):
        add_columns(store, {"id": IDS, "wer": [1]})
    with pytest.raises(ConfigurationError, match="expected a name"):
        add_columns(store, {"id": IDS, "": [1, 2, 3, 4]})
    with pytest.raises(TtsPrepError):
        add_columns(store, store / "none.csv")


@pytest.mark.parametrize("layout", ["nemo", "lhotse", "webdataset", "parquet"])
def test_columns_with_missing_numbers_come_back_from_every_export(
    store: Path, tmp_path: Path, capsys, layout: str
) -> None:
    from tts_prep.export import LAYOUTS, export

    assert layout in LAYOUTS
    add_columns(store, {"id": IDS, "wer": [0.5, None, 0.25, None], "kind": ["a", None, "b", "a"]})
    folder = tmp_path / "out"
    export(store, layout, folder)
    manifest = {"nemo": folder / "manifest.json", "lhotse": folder / "cuts.jsonl.gz"}.get(layout, folder)
    status, _, err = run(capsys, "manifest", manifest, tmp_path / "again", "--jobs", 1, "--max-failures", "100%")
    assert status == 0, err
    again = UtteranceDataset(tmp_path / "again")
    found = {u.id.removeprefix("a/"): (u.meta["wer"], u.meta["kind"]) for u in again}
    expected = {"one": (0.5, "a"), "two": (np.nan, ""), "three": (0.25, "b"), "four": (np.nan, "a")}
    assert found.keys() == expected.keys()
    for name, (wer, kind) in expected.items():
        np.testing.assert_array_equal(found[name][0], wer)
        assert found[name][1] == kind


READS_A_TABLE = """
import json
import sys
from pathlib import Path
from memory import peak_memory
from tts_prep.additions.column_table import read_column_table
ids = [f"utterance-{i}" for i in range(int(sys.argv[2]))]
before = peak_memory()
table = read_column_table(Path(sys.argv[1]), ids)
grown = peak_memory() - before
print(json.dumps([grown, table.values["wer"][12_345], table.categories["kind"], table.texts["said"][12_345]]))
"""


@pytest.mark.parametrize("n", [13_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_a_long_table_is_read_in_bounded_memory(tmp_path: Path, n: int) -> None:
    path = tmp_path / "scores.csv"
    with path.open("w") as file:
        file.write("id,wer,kind,said\n")
        file.writelines(f"utterance-{i},{i / n},{'ab'[i % 2]},said {i}\n" for i in range(n))
    # In a process of its own: this one may have had more memory before.
    done = subprocess.run(
        [sys.executable, "-c", READS_A_TABLE, path, str(n)],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    grown, wer, kinds, said = json.loads(done.stdout)
    assert (wer, kinds, said) == (pytest.approx(12_345 / n), ["a", "b"], "said 12345")
    # For 100,000 rows two columns of 0.8 MB each, the dictionary of ids with 10, and texts and places of 6 each. Rows
    # that are kept take 1,200 bytes each.
    assert grown < 5e6 + 350 * n


LONG = "x" * 201
NOTES = ["a note, and\nmore", "", LONG, "42"]
"""A column of texts: one is too long for a category, and another looks like a number."""


def test_free_texts_are_columns_like_any_other(store: Path, tmp_path: Path, capsys) -> None:
    pd = pytest.importorskip("pandas")
    added = add_columns(store, {"id": IDS, "note": NOTES, "heard": ["b", "a", "d", LONG], "wer": [1, 2, 3, 4]})
    assert (added.names, added.missing) == (("heard", "note", "wer"), {"heard": 0, "note": 1, "wer": 0})
    dataset = UtteranceDataset(store, verify=True)
    assert list(dataset.note) == NOTES
    assert list(dataset.filter(lambda m: m.note == "42").id) == ["four"]
    assert list(dataset.filter(lambda m: (m.note != "") & m.heard.isin({"a", "b", "d"})).id) == ["a/one", "three"]
    assert list(dataset.sort("heard").id) == ["two", "a/one", "three", "four"]
    assert [u.meta["note"] for u in dataset[[3, 0]]] == ["42", NOTES[0]]
    frame = dataset.to_pandas()
    assert (list(frame["note"]), list(frame["heard"])) == (NOTES, ["b", "a", "d", LONG])
    assert isinstance(frame, pd.DataFrame)
    assert not [name for name in frame if "external" in name]
    assert dataset.to_arrow(["note"]).column("note").to_pylist() == NOTES
    assert run(capsys, "verify", store)[0] == 0


def test_texts_are_shown_by_the_report_and_its_table(store: Path, tmp_path: Path, capsys) -> None:
    add_columns(store, {"id": IDS, "note": NOTES})
    table = tmp_path / "table.csv"
    assert run(capsys, "report", store, "-o", tmp_path / "page.html", "--csv", table)[0] == 0
    with table.open(encoding="utf-8", newline="") as file:
        found = sorted(row["note"] for row in csv.DictReader(file))
    assert found == sorted(note.replace("\n", "\\n") for note in NOTES)


def test_texts_are_replaced_by_other_kinds_and_removed(store: Path, capsys) -> None:
    add_columns(store, {"id": IDS, "other": [1, 2, 3, 4]})
    before = remove_columns(store, ["other"]) and files(store)
    add_columns(store, {"id": IDS, "note": NOTES, "wer": [1, 2, 3, 4]})
    with pytest.raises(StoreError, match="column 'note': has other values for 3 utterances, such as 'a/one'"):
        add_columns(store, {"id": IDS, "note": [1, 2, 3, 4]})
    add_columns(store, {"id": IDS, "note": [1, 2, 3, 4], "heard": NOTES, "wer": NOTES}, replace=True)
    dataset = UtteranceDataset(store, verify=True)
    assert (dataset.note.tolist(), list(dataset.heard), list(dataset.wer)) == ([1, 2, 3, 4], NOTES, NOTES)
    remove_columns(store, ["heard", "note"])
    assert {path.name for path in (store / "arrays").iterdir()} == {"external_texts"}
    for array in ("external_texts", "external_columns"):
        with pytest.raises(StoreError, match="no array '"):
            remove_columns(store, arrays=[array])
    remove_columns(store, ["wer"])
    assert files(store) == before


def test_an_index_with_texts_is_made_again_from_the_arrays(store: Path, capsys) -> None:
    add_columns(store, {"id": IDS, "note": NOTES})
    whole = files(store)
    (store / "index.h5").unlink()
    (store / "manifest.json").unlink()
    assert run(capsys, "reindex", store)[0] == 0
    assert files(store) == whole


@pytest.mark.parametrize("layout", ["nemo", "lhotse", "webdataset", "parquet"])
def test_texts_come_back_from_every_export(store: Path, tmp_path: Path, capsys, layout: str) -> None:
    from tts_prep.export import export

    add_columns(store, {"id": IDS, "note": ["a note", None, LONG, "42"]})
    folder = tmp_path / "out"
    export(store, layout, folder)
    manifest = {"nemo": folder / "manifest.json", "lhotse": folder / "cuts.jsonl.gz"}.get(layout, folder)
    status, _, err = run(capsys, "manifest", manifest, tmp_path / "again", "--jobs", 1, "--max-failures", "100%")
    assert status == 0, err
    found = {u.id.removeprefix("a/"): u.meta["note"] for u in UtteranceDataset(tmp_path / "again")}
    assert found == {"one": "a note", "two": "", "three": LONG, "four": "42"}


# The others write no columns.
@pytest.mark.parametrize("layout", ["espnet", "lhotse", "nemo", "parquet", "webdataset"])
def test_every_export_takes_texts_with_line_breaks(store: Path, tmp_path: Path, layout: str) -> None:
    from tts_prep.export import export

    add_columns(store, {"id": IDS, "note": NOTES})
    export(store, layout, tmp_path / "out")


@pytest.mark.parametrize(
    # Kaldi's tables have no lines without a value.
    ("layout", "table", "uid", "n_lines"),
    [("speechain", "idx2note", "a/one", 4), ("kaldi", "utt2note", "a_one", 3)],
)
def test_a_table_of_texts_with_line_breaks_has_a_line_per_utterance(
    store: Path, tmp_path: Path, layout: str, table: str, uid: str, n_lines: int
) -> None:
    from tts_prep.export import export

    add_columns(store, {"id": IDS, "note": NOTES})
    export(store, layout, tmp_path / "out")
    lines = (tmp_path / "out" / table).read_text().splitlines()
    assert len([line for line in lines if line.endswith(f"{uid} a note, and more")]) == 1
    assert len(lines) == n_lines


def test_texts_and_categories_of_several_stores_are_one_column(store: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(store, tmp_path / "other"))
    add_columns(store, {"id": IDS, "note": NOTES})
    add_columns(other, {"id": IDS, "note": ["a", "b", "a", None]})
    chain = ChainDataset(UtteranceDataset(store), UtteranceDataset(other))
    assert list(chain.column("note")) == [*NOTES, "a", "b", "a", ""]


def test_texts_decide_the_kind_of_a_column_wherever_its_numbers_are(tmp_path: Path) -> None:
    ids = [f"u{i}" for i in range(300)]
    said = [f"said {i}" for i in range(300)]
    for place in (0, 150, 299):
        values = [*said[:place], "1984", *said[place + 1 :]]
        table = read_column_table(
            write_table(tmp_path / "s.csv", [{"id": i, "said": v} for i, v in zip(ids, values, strict=True)]), ids
        )
        assert table.texts == {"said": values}
    # One wrong value among many numbers is not what makes a column of texts.
    numbers = [{"id": name, "wer": number} for number, name in enumerate(ids)]
    numbers[7]["wer"] = "bad"
    with pytest.raises(CorpusError, match=r"s.csv:9: column 'wer': found 'bad', but a number in s.csv:2"):
        read_column_table(write_table(tmp_path / "s.csv", numbers), ids)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x" * 70_000, "row 1: column 'note': expected at most 65,536 bytes, found 70,000"),
        ("\ud800", "row 1: column 'note': contains a lone surrogate"),
        ("a\0b", r"row 1: column 'note': contains the character U\+0000"),
    ],
)
def test_texts_that_a_store_cannot_hold_are_refused(store: Path, value: str, message: str) -> None:
    before = files(store)
    with pytest.raises(CorpusError, match=message):
        add_columns(store, {"id": IDS, "note": ["a", value, "b", "c"]})
    assert files(store) == before


@pytest.mark.parametrize("name", ["external_texts", "external_texts_start", "n_external_texts", "external_columns"])
def test_columns_cannot_have_the_names_of_their_own_arrays(store: Path, name: str) -> None:
    for values in (NOTES, [1, 2, 3, 4]):
        with pytest.raises(ConfigurationError, match=f"column '{name}': the format has a use for this name; rename it"):
            add_columns(store, {"id": IDS, name: values})


def test_a_table_that_changes_while_it_is_read_is_refused(store: Path, tmp_path: Path, monkeypatch) -> None:
    from tts_prep.corpora.manifests import containers

    contents = iter(["id,wer\ntwo,1\n", "id,wer\ntwo,bad\n"])
    rows = containers.table_rows

    def changing(path: Path) -> Any:
        path.write_text(next(contents))
        return rows(path)

    monkeypatch.setattr(containers, "table_rows", changing)
    with pytest.raises(CorpusError, match="s.csv:2: changed while it was read; nothing was added"):
        add_columns(store, tmp_path / "s.csv")


def test_a_file_outside_of_a_store_is_not_taken_into_the_new_one(store: Path, tmp_path: Path) -> None:
    shard = store / "shards/00001.h5"
    shard.rename(tmp_path / "outside.h5")
    shard.symlink_to(tmp_path / "outside.h5")
    with pytest.raises(StoreError, match=r"shards/00001\.h5: a link to a file outside of the store"):
        add_columns(store, {"id": IDS, "wer": [0.5, 1.0, 0.0, 0.25]})
    assert (tmp_path / "outside.h5").stat().st_nlink == 1


@pytest.mark.parametrize(
    ("name", "depends_on"),
    [("wer", ("audio", "text")), ("speaker_f0", ("audio", "speaker")), ("sim_wer", ("audio", "speaker", "text"))],
)
def test_a_name_with_several_meanings_depends_on_all_of_them(name: str, depends_on: tuple[str, ...]) -> None:
    assert guessed_dependencies(name) == depends_on
