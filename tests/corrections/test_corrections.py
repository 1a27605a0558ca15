"""Corrected texts and speakers, and rows that are left out, by files of decisions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from corpora import write_table
from killing import contents

from tts_prep.corrections.records import Correction, read_corrections
from tts_prep.errors import CorpusError, StoreError
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import Configuration, Corrections, Failure, Part, Result, SourceUtterance, prepare
from tts_prep.preprocess.configuration.records import StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech

pytestmark = pytest.mark.whole

SMALL = Configuration(text=TextConfig(frontend="characters", unknown="drop"), store=StoreConfig(shard_utterances=3))
OPTIONS = ("--frontend", "characters", "--unknown", "drop", "--shard-utterances", 3, "--jobs", 1)
COLUMNS = "expected the columns 'id' and 'text' or 'speaker' or 'regions' or 'merge'"
HEADER = "id,keep,text,speaker,note\n"
DECISIONS = HEADER + 'S-0001,yes,,,\nS-0004,unsure,"Other words, quoted",,a note\nS-0006,no,,ann,\n'


def make(corpus: Path, store: Path, corrections: Corrections = Corrections(), **options) -> Result:
    rows = corrections.apply(read_ljspeech(corpus))
    return prepare(rows, corpus, store, SMALL, corrections=rows, **options)


def table(tmp_path: Path, text: str, name: str = "decisions.csv") -> Path:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def texts(store: Path) -> dict[str, tuple[str, str]]:
    return {u.id: (u.text, u.speaker) for u in UtteranceDataset(store, verify=True)}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_store_has_the_corrected_texts_and_speakers(corpus: Path, tmp_path: Path, suffix: str) -> None:
    rows = [
        {"id": "S-0004", "keep": "unsure", "text": "Other words", "speaker": None, "note": "a note"},
        {"id": "S-0006", "keep": None, "text": None, "speaker": "ann", "note": None},
        {"id": "S-0001", "keep": "yes", "text": None, "speaker": None, "note": None},
    ]
    make(corpus, tmp_path / "plain")
    make(corpus, tmp_path / "store", Corrections.read(write_table(tmp_path / f"decisions{suffix}", rows)))
    before, after = texts(tmp_path / "plain"), texts(tmp_path / "store")
    assert after == before | {
        "S-0004": ("Other words", before["S-0004"][1]),
        "S-0006": (before["S-0006"][0], "ann"),
    }
    dataset = UtteranceDataset(tmp_path / "store")
    spoken = dataset[list(dataset.id).index("S-0004")]
    assert "".join(dataset.symbols[i] for i in spoken.phonemes) == "other words"


def test_the_store_records_what_was_corrected_and_verify_checks_it(corpus: Path, tmp_path: Path, capsys) -> None:
    file, store = table(tmp_path, DECISIONS), tmp_path / "store"
    status, out, _ = run(capsys, "ljspeech", corpus, store, *OPTIONS, "--corrections", file)
    assert status == 0
    assert out.splitlines()[-2:] == [
        "corrections: 1 text and 1 speaker; left out: 0 rows",
        f"{file}: 1 row with keep=no not left out, which '--exclude {file}' does: S-0006",
    ]
    assert [json.loads(line) for line in (store / "corrections.jsonl").read_text().splitlines()] == [
        {"id": "S-0004", "text": "Other words, quoted"},
        {"id": "S-0006", "speaker": "ann"},
    ]
    assert "2 rows, see corrections.jsonl" in run(capsys, "info", store)[1]
    assert run(capsys, "verify", store)[0] == 0
    (store / "corrections.jsonl").write_text('{"id": "S-0004", "text": "Other words, edited"}\n')
    status, out, _ = run(capsys, "verify", store)
    assert (status, out.startswith("corrections.jsonl: ")) == (1, True)


def test_rejected_rows_are_left_out_by_a_table_or_a_list_of_ids(corpus: Path, tmp_path: Path, capsys) -> None:
    file = table(tmp_path, DECISIONS)
    run(capsys, "ljspeech", corpus, tmp_path / "all", *OPTIONS)
    ids = list(UtteranceDataset(tmp_path / "all").id)
    for name, left_out in (("table", file), ("list", table(tmp_path, "S-0006\n", "rejected.txt"))):
        store = tmp_path / name
        status, out, _ = run(capsys, "ljspeech", corpus, store, *OPTIONS, "--corrections", file, "--exclude", left_out)
        assert (status, out.splitlines()[-1]) == (0, "corrections: 1 text and 0 speakers; left out: 1 row")
        assert list(UtteranceDataset(store).id) == [name for name in ids if name != "S-0006"]
        assert read_corrections(store)[1] == Correction("S-0006", is_left_out=True)
    assert contents(tmp_path / "table") == contents(tmp_path / "list")


def test_ids_that_the_corpus_does_not_have_are_named(corpus: Path, tmp_path: Path, capsys) -> None:
    file = table(tmp_path, "id,text\nS-0001,New\ngone,x\nlost,y\na,z\nb,z\n")
    status, out, _ = run(capsys, "ljspeech", corpus, tmp_path / "store", *OPTIONS, "--corrections", file)
    assert (status, out.splitlines()[-1]) == (0, f"{file}: 4 ids not in the corpus: gone, lost, a, …")
    limited = run(capsys, "ljspeech", corpus, tmp_path / "few", *OPTIONS, "--corrections", file, "--limit", 2)[1]
    assert f"{file}: 4 ids not in the first 2 rows of the corpus: gone, lost, a, …" in limited
    wrong = table(tmp_path, "id,text\ngone,x\n")
    status, _, err = run(capsys, "ljspeech", corpus, tmp_path / "none", *OPTIONS, "--corrections", wrong)
    assert status == 1
    assert f"{wrong}: names no row of the corpus, such as 'gone'; the corpus has ids such as 'S-0000'" in err
    assert not (tmp_path / "none").exists()


def test_an_update_with_corrections_makes_their_shards_again_and_has_the_bytes_of_a_new_store(
    corpus: Path, tmp_path: Path, capsys
) -> None:
    store, file = tmp_path / "store", tmp_path / "decisions.csv"
    make(corpus, store)
    for content, n_made in (("S-0001,,New text,,\n", 1), ("S-0001,,New text,,\nS-0006,,,bob,\n", 1), ("", 2)):
        file.write_text(HEADER + content)
        result = make(corpus, store, Corrections.read(file), existing="update")
        assert result.shards_made == n_made
        make(corpus, tmp_path / "fresh", Corrections.read(file), existing="overwrite")
        assert contents(store) == contents(tmp_path / "fresh")
    assert not (store / "corrections.jsonl").exists()


def test_a_note_changes_nothing_and_a_text_that_the_corpus_has_is_no_correction(corpus: Path, tmp_path: Path) -> None:
    make(corpus, tmp_path / "plain")
    text = texts(tmp_path / "plain")["S-0003"][0]
    make(corpus, tmp_path / "store", Corrections.read(table(tmp_path, f'{HEADER}S-0003,no,"{text}",,loud\n')))
    assert contents(tmp_path / "store") == contents(tmp_path / "plain")


def test_an_update_records_a_correction_that_the_corpus_has_got_meanwhile(corpus: Path, tmp_path: Path) -> None:
    make(corpus, tmp_path / "fixed", Corrections.read(table(tmp_path, HEADER + "S-0000,,New text,,\n")))
    copy = tmp_path / "corpus"
    copy.mkdir()
    (copy / "wavs").symlink_to(corpus / "wavs")
    lines = (corpus / "metadata.csv").read_text().splitlines(keepends=True)
    copy.joinpath("metadata.csv").write_text("".join(["S-0000|New text|New text\n", *lines[1:]]))
    result = make(copy, tmp_path / "fixed", existing="update")
    make(copy, tmp_path / "fresh")
    assert (result.shards_made, contents(tmp_path / "fixed")) == (0, contents(tmp_path / "fresh"))


@pytest.mark.parametrize("is_complete", [False, True])
def test_a_run_with_other_corrections_than_those_of_the_store_is_refused(
    corpus: Path, tmp_path: Path, is_complete: bool
) -> None:
    store = tmp_path / "store"
    first = Corrections.read(table(tmp_path, HEADER + "S-0001,,New text,,\n"))
    other = Corrections.read(table(tmp_path, HEADER + "S-0001,,Newer text,,\n"))
    make(corpus, store, first)
    whole = contents(store)
    if not is_complete:
        (store / "manifest.json").unlink()
        (store / "shards/00001.h5").unlink()
    before = contents(store)
    for corrections, n in ((other, "1 row"), (Corrections(), "0 rows")):
        with pytest.raises(StoreError, match=f"made with other corrections than the {n} .*--update to replace"):
            make(corpus, store, corrections)
        assert contents(store) == before
    assert make(corpus, store, first).shards_made == (0 if is_complete else 1)
    assert contents(store) == whole
    make(corpus, store, other, existing="update")
    make(corpus, tmp_path / "fresh", other)
    assert contents(store) == contents(tmp_path / "fresh")


def test_parts_have_the_same_corrections(corpus: Path, tmp_path: Path, capsys) -> None:
    store, corrections = tmp_path / "store", Corrections.read(table(tmp_path, DECISIONS))
    make(corpus, store, corrections, part=Part(1, 2))
    with pytest.raises(StoreError, match="made with other corrections"):
        make(corpus, store, part=Part(2, 2))
    make(corpus, store, corrections, part=Part(2, 2))
    assert run(capsys, "finish", store)[0] == 0
    make(corpus, tmp_path / "whole", corrections)
    assert contents(store) == contents(tmp_path / "whole")


def test_what_is_made_from_the_corpus_later_uses_the_corrections_of_the_store(
    corpus: Path, tmp_path: Path, capsys
) -> None:
    store, file = tmp_path / "store", table(tmp_path, DECISIONS)
    asked = (*OPTIONS, "--corrections", file, "--exclude", file)
    assert run(capsys, "ljspeech", corpus, store, *asked)[0] == 0
    whole = contents(store)
    (store / "shards/00001.h5").write_bytes(b"broken")
    assert run(capsys, "verify", store, "--repair", corpus, "--jobs", 1)[0] == 0
    assert contents(store) == whole
    (store / "manifest.json").unlink()
    assert run(capsys, "reindex", store)[0] == 0
    assert contents(store) == whole
    assert run(capsys, "add", store, "--corpus", corpus, "--feature", "energy", "--jobs", 1)[0] == 0
    assert run(capsys, "ljspeech", corpus, tmp_path / "fresh", *asked, "--feature", "energy")[0] == 0
    assert contents(store) == contents(tmp_path / "fresh")


def test_a_broken_list_of_corrections_is_made_again_by_an_update(corpus: Path, tmp_path: Path, capsys) -> None:
    store, file = tmp_path / "store", table(tmp_path, DECISIONS)
    asked = ("ljspeech", corpus, store, *OPTIONS, "--corrections", file)
    assert run(capsys, *asked)[0] == 0
    whole = contents(store)
    for broken in (b"", b'{"id": 3}\n', b'{"id": "a", "keep": "yes"}\n', b'{"id": "S-0004"', b"\xff\n", b"[]\n"):
        (store / "corrections.jsonl").write_bytes(broken)
        status, _, err = run(capsys, "verify", store, "--repair", corpus, "--jobs", 1)
        assert (status, "corrections.jsonl: broken, and cannot be made again from the corpus" in err) == (1, True), err
        # What was left out before is not known any more.
        assert "give --corrections and --exclude again, or none" in run(capsys, *asked, "--update")[2]
        status, _, err = run(capsys, *asked, "--update", "--exclude", "none")
        assert status == 0, err
        assert contents(store) == whole


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,text\na,x\nb,y\na,z\n", "decisions.csv:4: 'a' is repeated, first in decisions.csv:2"),
        ("id,text\na,x,y\n", "decisions.csv:2: expected 2 fields separated by ',', found 3"),
        ('id,text\nS-0001,"half', "decisions.csv:2: not a row of a table"),
        (
            "id,note\na,x\n",
            f"decisions.csv:2: {COLUMNS}, found id, note",
        ),
        (
            "name,text\na,x\n",
            f"decisions.csv:2: {COLUMNS}, found name, text",
        ),
        ("id,text\n,x\n", "decisions.csv:2: expected an id, found none"),
        ("id,keep,text\na,maybe,x\n", "decisions.csv:2: keep: expected yes, no or unsure, found 'maybe'"),
        (f"id,text\na,{'x' * 70_000}\n", "decisions.csv:2: text: expected at most 65,536 characters, found 70,000"),
        ("", "decisions.csv: expected the names of the columns in the first line"),
        ("id,text,Text\na,x,y\n", "decisions.csv:2: two columns have one name: id, text, Text"),
    ],
)
def test_bad_files_of_decisions_are_refused_in_one_line(
    corpus: Path, tmp_path: Path, capsys, content: str, message: str
) -> None:
    file = table(tmp_path, content)
    status, out, err = run(capsys, "ljspeech", corpus, tmp_path / "store", *OPTIONS, "--corrections", file)
    assert (status, out, err.count("\n"), message in err) == (1, "", 1, True), err
    assert not (tmp_path / "store").exists()


def test_files_that_leave_rows_out_are_checked_too(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"decisions.csv:2: expected the columns 'id' and 'keep', found id, text"):
        Corrections.read(exclude=table(tmp_path, "id,text\na,x\n"))
    with pytest.raises(CorpusError, match=r"none.csv: no such file"):
        Corrections.read(exclude=tmp_path / "none.csv")
    with pytest.raises(CorpusError, match=r"none.txt: no such file"):
        Corrections.read(exclude=tmp_path / "none.txt")


@pytest.mark.parametrize("column", ["id", "text", "speaker"])
def test_half_of_a_surrogate_pair_is_no_correction(tmp_path: Path, column: str) -> None:
    file = tmp_path / "decisions.jsonl"
    file.write_text(json.dumps({"id": "a", "text": "x", "speaker": "y", column: "\ud800"}) + "\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=f"decisions.jsonl:1: {column}: contains a lone surrogate"):
        Corrections.read(file)


def test_rows_that_failed_in_the_reader_have_nothing_to_correct_but_can_be_left_out() -> None:
    items = [
        Failure("a", "list:1", "corpus", "no text"),
        Failure("b", "list:2", "corpus", "no text"),
        SourceUtterance("c", "text", "c.wav", "list:3", "ann"),
    ]
    wanted = {"a": Correction("a", "x"), "b": Correction("b", is_left_out=True), "c": Correction("c", "y", "ann")}
    rows = Corrections(wanted).apply(items)
    assert [item.id for item in rows] == ["a", "c"]
    assert rows.applied == (Correction("b", is_left_out=True), Correction("c", "y"))
    assert rows.unknown == ()


def test_line_breaks_of_a_text_become_spaces(tmp_path: Path) -> None:
    found = Corrections.read(table(tmp_path, 'id,text\na," two\nlines  here "\n')).rows
    assert found == {"a": Correction("a", "two lines  here")}


def test_an_update_keeps_what_was_decided_before_until_it_is_said_otherwise(
    corpus: Path, tmp_path: Path, capsys
) -> None:
    corrections = table(tmp_path, HEADER + "S-0004,yes,Other words.,,\n")
    excluded, others = table(tmp_path, "S-0001\n", "excluded.txt"), table(tmp_path, "S-0002\n", "others.txt")
    command = ("ljspeech", corpus, tmp_path / "store", *OPTIONS)
    given = ("--corrections", corrections, "--exclude", excluded)
    assert run(capsys, *command, *given)[0] == 0
    before = contents(tmp_path / "store")
    out = run(capsys, *command, "--update")[1]
    assert "corrections: 2 decisions of before kept; --corrections none and --exclude none drop them" in out
    assert contents(tmp_path / "store") == before
    # A file replaces the decisions of its kind alone.
    for option, expected in (
        (("--exclude", others), ("--corrections", corrections, "--exclude", others)),
        (("--corrections", "none"), ("--exclude", others)),
        (("--exclude", "none"), ()),
    ):
        assert run(capsys, *command, "--update", *option)[0] == 0
        assert run(capsys, *command[:2], tmp_path / "fresh", *OPTIONS, "--overwrite", *expected)[0] == 0
        assert contents(tmp_path / "store") == contents(tmp_path / "fresh")
