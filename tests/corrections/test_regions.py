"""Rows that decisions trim, cut and merge."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from commands import run
from corpora import SAMPLE_RATE, TEXTS, speech_like
from killing import contents

from tts_prep.corrections.records import Correction, read_corrections
from tts_prep.format.records.failures import Failure
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import Configuration, Corrections, SourceUtterance, prepare
from tts_prep.preprocess.configuration.records import StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech

pytestmark = pytest.mark.whole

OPTIONS = (
    "--preset",
    "tacotron2",
    "--frontend",
    "characters",
    "--unknown",
    "drop",
    "--shard-utterances",
    3,
    "--jobs",
    1,
    "--waveform",
    "int16",
)
HEADER = "id,keep,text,speaker,note,regions,merge\n"
EDITS = (
    "S-0001,,,,,0.052000-0.240000,\n"
    "S-0002,,,,,,0.1 S-0003\n"
    "S-0003,,Why indeed?,,,0.1-0.5,\n"
    'S-0005,,"A longer sentence, | so that the lengths differ.",,,0.02-0.3 0.3-0.74,\n'
    "S-0005-2,,so that they differ,ann,,0.32-0.7,\n"
)


def decisions(tmp_path: Path, rows: str, name: str = "decisions.csv") -> Path:
    (tmp_path / name).write_text(HEADER + rows, encoding="utf-8")
    return tmp_path / name


def pcm(corpus: Path, name: str, start: float = 0, end: float = 9) -> np.ndarray:
    """Return samples of a recording, by a reader and rounding of their own."""
    samples, rate = soundfile.read(corpus / "wavs" / f"{name}.wav", dtype="int16")
    assert rate == SAMPLE_RATE
    return samples[int(start * rate + 0.5) : int(end * rate + 0.5)]


def test_rows_have_the_samples_of_their_regions_and_the_ids_that_are_stated(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, store = decisions(tmp_path, EDITS), tmp_path / "store"
    status, out, err = run(capsys, "ljspeech", corpus, store, *OPTIONS, "--corrections", file)
    assert status == 0, err
    last = "corrections: 3 texts and 1 speaker; left out: 0 rows; trimmed: 3 rows; cut: 1 row; merged: 1 row"
    assert out.splitlines()[-1] == last
    silence = np.zeros(2205, np.int16)
    expected = {
        "S-0000": (TEXTS[0], pcm(corpus, "S-0000")),
        "S-0001": (TEXTS[1], pcm(corpus, "S-0001", 0.052, 0.24)),
        "S-0002": (
            f"{TEXTS[2]} Why indeed?",
            np.concatenate([pcm(corpus, "S-0002"), silence, pcm(corpus, "S-0003", 0.1, 0.5)]),
        ),
        "S-0004": (TEXTS[4], pcm(corpus, "S-0004")),
        "S-0005-1": ("A longer sentence,", pcm(corpus, "S-0005", 0.02, 0.3)),
        "S-0005-2": ("so that they differ", pcm(corpus, "S-0005", 0.32, 0.7)),
        "S-0006": (TEXTS[6], pcm(corpus, "S-0006")),
    }
    dataset = UtteranceDataset(store, verify=True)
    assert list(dataset.id) == list(expected)
    for utterance in dataset:
        text, samples = expected[utterance.id]
        assert utterance.text == text
        np.testing.assert_array_equal(utterance.waveform, samples, err_msg=utterance.id)
        assert utterance.seconds == len(samples) / SAMPLE_RATE
    assert dataset[5].speaker == "ann"
    assert read_corrections(store)[0] == Correction("S-0001", regions="0.052000-0.240000")


def test_an_update_with_regions_has_the_bytes_of_a_new_store_and_so_has_what_is_made_later(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, fresh, file = tmp_path / "store", tmp_path / "fresh", tmp_path / "decisions.csv"

    def made(folder: Path, *more: object) -> None:
        status, _, err = run(capsys, "ljspeech", corpus, folder, *OPTIONS, *more)
        assert status == 0, err

    made(store)
    plain = contents(store)
    first, *rest = EDITS.splitlines(keepends=True)
    for rows in (EDITS, EDITS.replace("0.052", "0.062").replace("0.1 S-0003", "0.2 S-0003"), "".join(rest), first):
        decisions(tmp_path, rows)
        made(store, "--update", "--corrections", file)
        made(fresh, "--overwrite", "--corrections", file)
        assert contents(store) == contents(fresh)
    made(store, "--update", "--corrections", decisions(tmp_path, EDITS))
    made(fresh, "--overwrite", "--corrections", file)
    (store / "shards/00000.h5").write_bytes(b"broken")
    assert run(capsys, "verify", store, "--repair", corpus, "--jobs", 1)[0] == 0
    made(store, "--update")
    assert contents(store) == contents(fresh)
    assert run(capsys, "add", store, "--corpus", corpus, "--feature", "energy", "--jobs", 1)[0] == 0
    made(fresh, "--overwrite", "--corrections", file, "--feature", "energy")
    assert contents(store) == contents(fresh)
    made(tmp_path / "back", "--corrections", file)
    made(tmp_path / "back", "--update", "--corrections", "none")
    assert contents(tmp_path / "back") == plain


def test_a_merged_row_is_made_again_when_its_second_recording_changes(
    own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("ljspeech", own_corpus, tmp_path / "store", *OPTIONS)
    asked = (*command, "--corrections", decisions(tmp_path, "S-0002,,,,,,0 S-0003\n"))
    assert run(capsys, *asked)[0] == 0
    soundfile.write(own_corpus / "wavs/S-0003.wav", speech_like(0.53, 99), SAMPLE_RATE)
    assert "older than 1 recording" in run(capsys, *asked)[2]
    assert run(capsys, *asked, "--update")[0] == 0
    both = np.concatenate([pcm(own_corpus, "S-0002"), pcm(own_corpus, "S-0003")])
    np.testing.assert_array_equal(UtteranceDataset(tmp_path / "store")[2].waveform, both)
    (own_corpus / "wavs/S-0003.wav").unlink()
    assert run(capsys, *asked, "--update", "--max-failures", 1)[0] == 0
    failed = json.loads((tmp_path / "store/failures.jsonl").read_text())
    assert (failed["id"], "S-0003.wav: no such file" in failed["reason"]) == ("S-0002", True)


def row(name: str, start: float = 0.0, end: float | None = None, **changed: object) -> SourceUtterance:
    fields = {"text": f"text {name}", "audio": f"{name}.wav", "where": f"list:{name}", "speaker": "ann", **changed}
    return SourceUtterance(name, start=start, end=end, **fields)


def of_one(name: str, start: float, end: float | None) -> SourceUtterance:
    return row(name, start, end, audio="long.wav")


def applied(given: list[Correction], items: list[SourceUtterance]) -> list[SourceUtterance | Failure]:
    return list(Corrections({one.id: one for one in given}).apply(items))


def test_neighbours_of_one_recording_become_one_region_and_chains_keep_the_first_id() -> None:
    rows = [of_one("a", 1, 2), of_one("b", 2.5, 4), of_one("c", 4, 5)]
    (merged,) = applied([Correction("a", merge="0.3 b"), Correction("b", "new", merge="0.3 c")], rows)
    assert (merged.id, merged.start, merged.end, merged.text) == ("a", 1, 5, "text a new text c")
    assert not merged.then
    files = [row("a"), row("b"), row("c"), row("d")]
    one, last = applied([Correction("a", merge="0.3 b"), Correction("b", merge="0 c")], files)
    assert [(pause, piece.audio) for pause, piece in one.pieces] == [(0, "a.wav"), (0.3, "b.wav"), (0, "c.wav")]
    assert (one.text, last) == ("text a text b text c", files[3])


@pytest.mark.parametrize(
    ("one", "two", "both"),
    [
        ("今天天气很好。", "我们走吧！", "今天天气很好。我们走吧！"),
        ("“他走了。”", "“好，”她说。", "“他走了。”“好，”她说。"),
        ("そうですね", "ﾃｽﾄです", "そうですねﾃｽﾄです"),
        ("我用 Python", "写代码", "我用 Python 写代码"),
        ("안녕하세요.", "반갑습니다.", "안녕하세요. 반갑습니다."),
        ("He left.", "“Good.”", "He left. “Good.”"),
        ("", "好", "好"),
    ],
)
def test_a_space_is_between_merged_texts_where_their_writing_has_spaces(one: str, two: str, both: str) -> None:
    rows = [replace(row("a"), text=one), replace(row("b"), text=two)]
    assert [merged.text for merged in applied([Correction("a", merge="0 b")], rows)] == [both]


def test_a_merge_brings_back_nothing_of_the_recording_that_was_taken_out_and_loses_nothing() -> None:
    rows = [of_one("a", 0, 2), of_one("b", 2, 4), of_one("c", 4, 6)]
    (merged,) = applied([Correction("a", merge="0.3 c"), Correction("b", is_left_out=True)], rows)
    assert [(pause, one.start, one.end) for pause, one in merged.pieces] == [(0, 0, 2), (0.3, 4, 6)]
    for edits in (
        [Correction("a", regions="0-0.5", merge="0.3 b"), Correction("b", regions="1.5-2")],
        [Correction("a", merge="0.3 b"), Correction("b", regions="1.5-2")],
        [Correction("a", regions="0-0.5", merge="0.3 b")],
    ):
        (merged, _) = applied(edits, rows)
        trimmed = {one.id: one.regions for one in edits}
        first, second = (0, 0.5 if trimmed["a"] else 2), (3.5 if trimmed.get("b") else 2, 4)
        assert [(one.start, one.end) for _, one in merged.pieces] == [first, second]
        assert merged.pieces[1][0] == 0.3
    # Of two that overlap, the first can end later.
    (merged,) = applied([Correction("a", merge="0 b")], [of_one("a", 0, 2), of_one("b", 0.5, 1.5)])
    assert (merged.start, merged.end, merged.then) == (0, 2, ())


def test_a_row_with_the_id_of_a_part_fails_and_names_the_row_that_is_cut() -> None:
    cut = Correction("a", "one | two", regions="0-1 1-2")
    one, two, failed = applied([cut, Correction("a-1", "corrected")], [row("a"), row("a-1")])
    assert (one.id, one.text, two.id, two.text) == ("a-1", "corrected", "a-2", "two")
    assert "'a-1': a part of 'a', which is cut, has this id" in failed.reason


def test_rows_of_which_one_text_is_normalized_are_not_merged() -> None:
    # The numbers of the other would never be read.
    failed, second = applied([Correction("a", merge="0 b")], [row("a", normalized=True), row("b")])
    assert "cannot be merged with 'b': only one of their texts is normalized" in failed.reason
    assert second == row("b")


def test_recordings_of_a_merged_row_that_change_places_are_noticed(
    own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (own_corpus / f"wavs/S-000{n}.wav" for n in (2, 3))
    soundfile.write(second, speech_like(soundfile.info(first).duration, 99), SAMPLE_RATE)
    command = ("ljspeech", own_corpus, tmp_path / "store", *OPTIONS)
    asked = (*command, "--corrections", decisions(tmp_path, "S-0002,,,,,,0 S-0003\n"))
    assert run(capsys, *asked)[0] == 0
    first.rename(tmp_path / "kept.wav")
    second.rename(first)
    (tmp_path / "kept.wav").rename(second)
    assert run(capsys, *asked, "--update")[0] == 0
    both = np.concatenate([pcm(own_corpus, "S-0002"), pcm(own_corpus, "S-0003")])
    np.testing.assert_array_equal(UtteranceDataset(tmp_path / "store")[2].waveform, both)


def test_a_region_is_in_the_segment_of_its_row_and_parts_can_be_cut_again() -> None:
    cut = [Correction("b", "x | y z", regions="0.5-1 1-1.5"), Correction("b-2", "y | z", regions="1-1.2 1.2-1.4")]
    made = applied(cut, [of_one("a", 0, 2), of_one("b", 2, 4)])
    found = [(one.id, one.start, one.end, one.text) for one in made[1:]]
    assert found == [("b-1", 2.5, 3, "x"), ("b-2-1", 3, 3.2, "y"), ("b-2-2", 3.2, 3.4, "z")]


@pytest.mark.parametrize(
    ("corrections", "rows", "reason"),
    [
        (
            [Correction("a", regions="0-1 1-2")],
            [row("a")],
            "text: expected the texts of 2 regions, separated by '|', f",
        ),
        ([Correction("a", regions="0-2.5")], [of_one("a", 1, 3)], "a region ends at 2.500000 s, but the row is 2.0000"),
        (
            [Correction("a", merge="0 b")],
            [row("a")],
            "no row follows it that it could be merged with; take the merge b",
        ),
        (
            [Correction("a", merge="0 c")],
            [row("a"), row("b"), row("c")],
            "to be merged with 'c', but 'b' follows; merge",
        ),
        (
            [Correction("a", merge="0 b")],
            [row("a"), row("b", speaker="ben")],
            "cannot be merged with 'b': speaker, lang",
        ),
        (
            [Correction("a", merge="0 b")],
            [row("a"), row("b", meta={"split": "dev"})],
            "None, None) and ('ann', None, 'd",
        ),
        ([Correction("a", merge="0 b")], [row("a"), row("b", lists={"codes": {}})], "'b' cannot be merged: codes"),
        ([Correction("a", regions="0-1")], [row("a", lists={"codes": {}})], "codes: cannot be trimmed, cut or merged"),
        ([Correction("a", regions="0-1")], [row("a", audio="")], "no recording: cannot be trimmed, cut or merged"),
    ],
)
def test_what_cannot_be_done_fails_its_row_alone_and_says_why(
    corrections: list[Correction], rows: list[SourceUtterance], reason: str
) -> None:
    failure, *others = applied(corrections, rows)
    assert isinstance(failure, Failure)
    assert (failure.id, failure.where, failure.stage, reason in failure.reason) == ("a", "list:a", "corpus", True), (
        failure
    )
    assert others == rows[1:]


def test_rows_between_that_failed_or_are_left_out_do_not_hinder_a_merge() -> None:
    failure = Failure("f", "list:f", "corpus", "no text")
    given = [Correction("a", merge="0 c"), Correction("b", is_left_out=True)]
    assert [one.id for one in applied(given, [row("a"), failure, row("b"), row("c")])] == ["f", "a"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (",1-0.5,", "regions: expected 1 to 100 regions in ascending order, such as '0.5-3.25', found '1-0.5'"),
        (",0-2 1-3,", "regions: expected 1 to 100 regions in ascending order"),
        (",0-1  2-3,", "regions: expected 1 to 100 regions"),
        (",0-1e3,", "regions: expected 1 to 100 regions"),
        (",1-1,", "regions: expected 1 to 100 regions"),
        (f",{' '.join(f'{n}-{n + 1}' for n in range(101))},", "regions: expected 1 to 100 regions"),
        ("a | b,0-1 1-2 2-3,", "text: expected the texts of 3 regions, separated by '|', found 'a | b'"),
        ("a | ,0-1 1-2,", "text: expected the texts of 2 regions"),
        (",,S-0002", "merge: expected 0 to 10 seconds of pause and an id, such as '0.3 ID', found 'S-0002'"),
        (",,11 S-0002", "merge: expected 0 to 10 seconds of pause"),
        ("a | b,0-1 1-2,0 S-0002", "merge: a row that is cut cannot be merged with the next"),
    ],
)
def test_malformed_regions_are_refused_in_one_line(tmp_path: Path, capsys, cells: str, message: str) -> None:
    file = tmp_path / "decisions.csv"
    file.write_text(f"id,text,regions,merge\nS-0001,{cells}\n", encoding="utf-8")
    status, out, err = run(capsys, "ljspeech", tmp_path, tmp_path / "store", *OPTIONS, "--corrections", file)
    assert (status, out, err.count("\n"), f"decisions.csv:2: {message}" in err) == (1, "", 1, True), err


def test_a_removed_row_takes_what_decisions_have_made_of_it_along(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for wanted, left in (
        ("S-0003", {"S-0002", "S-0003"}),
        ("S-0005", {"S-0005-1", "S-0005-2"}),
        ("S-0002", {"S-0002"}),
    ):
        store, ids = tmp_path / wanted, tmp_path / "ids.txt"
        ids.write_text(f"{wanted}\n", encoding="utf-8")
        asked = ("ljspeech", corpus, store, *OPTIONS, "--corrections", decisions(tmp_path, EDITS))
        assert run(capsys, *asked)[0] == 0
        status, _, err = run(capsys, "remove", store, "--ids", ids)
        assert status == 0, err
        assert {*UtteranceDataset(store).id}.isdisjoint(left)
        assert f'"{wanted}' not in (store / "corrections.jsonl").read_text()
        assert run(capsys, "verify", store)[0] == 0


def random_edits(rng: random.Random) -> str:
    """Return decisions about the corpus: trimmings, cuts with decisions of their parts, merges, and rejections."""
    names, lines = [f"S-{i:04d}" for i in range(len(TEXTS))], [HEADER]
    for i, name in enumerate(names):
        seconds, text, what = 0.2 + 0.11 * i, TEXTS[i].replace('"', "").split(), rng.random()
        if what < 0.2:
            lines.append(f"{name},,,,,0.02-{seconds - 0.03:.6f},\n")
        elif what < 0.5 and len(text) > 1:
            middle = f"{seconds / 2:.6f}"
            lines.append(f'{name},,"{text[0]} | {" ".join(text[1:])}",,,0-{middle} {middle}-{seconds:.6f},\n')
            lines.append(f"{name}-2,,New,{rng.choice(['ann', ''])},,,\n" if rng.random() < 0.5 else "")
            lines.append(f"{name}-1,,,,,,0.1 {name}-2\n" if rng.random() < 0.3 else "")
        elif what < 0.7 and i + 1 < len(names):
            lines.append(f"{name},,,,,,{rng.choice(['0', '0.25'])} {names[i + 1]}\n")
        elif what < 0.8:
            lines.append(f"{name},no,,,,,\n")
    return "".join(lines)


@pytest.mark.parametrize("rounds", [3, pytest.param(60, marks=pytest.mark.soak)])
def test_updates_by_random_edits_have_the_bytes_of_new_stores(corpus: Path, tmp_path: Path, rounds: int) -> None:
    rng, file, store = random.Random(rounds), tmp_path / "decisions.csv", tmp_path / "store"
    text = TextConfig(frontend="characters", unknown="drop")
    config = Configuration(text=text, store=StoreConfig(shard_utterances=3))
    for _ in range(rounds):
        file.write_text(random_edits(rng), encoding="utf-8")
        edits = Corrections.read(file, file if rng.random() < 0.5 else None)
        for folder, existing in ((store, "update"), (tmp_path / "fresh", "overwrite")):
            rows = edits.apply(read_ljspeech(corpus))
            prepare(rows, corpus, folder, config, corrections=rows, existing=existing, max_failures="100%")
        assert contents(store) == contents(tmp_path / "fresh"), file.read_text()
