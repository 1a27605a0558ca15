from __future__ import annotations

import csv
import math
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from commands import run
from hypothesis import given
from hypothesis import strategies as st
from stores import make_rows, write_store

from tts_prep.errors import ConfigurationError, WriteError
from tts_prep.review.decisions import Decision, DecisionFile, read_decisions, write_decisions
from tts_prep.review.merging import cohens_kappa, merge

FORMULAS = ("=1+1", "+1", "-1", "@x", "'=1", "''+2", "'", "'a", "-abc_DEF", "=HYPERLINK(\"http://x\",'y')")
lines = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=20)
ids = st.one_of(lines.filter(bool), st.sampled_from(FORMULAS))
decisions = st.builds(Decision, st.sampled_from(("", "yes", "no", "unsure")), lines | st.sampled_from(FORMULAS), lines)


@given(st.dictionaries(ids, decisions.filter(lambda decision: not decision.is_empty), max_size=5))
def test_every_text_is_read_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, given: dict) -> None:
    path = tmp_path_factory.mktemp("decisions") / "d.csv"
    write_decisions(path, given)
    assert read_decisions(path) == given


def test_no_cell_begins_like_a_formula(tmp_path: Path) -> None:
    write_decisions(tmp_path / "d.csv", {text: Decision("yes", text, text, text) for text in FORMULAS})
    with (tmp_path / "d.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert len(cells) == 5 + 5 * len(FORMULAS)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


def test_a_decision_is_on_disk_at_once_and_replaces_the_row_of_the_utterance(tmp_path: Path) -> None:
    file = DecisionFile(tmp_path / "d.csv")
    file.decide("a", Decision("yes"))
    file.decide("b", Decision("no", text='x, "y"', note="n"))
    file.decide("a", Decision("unsure"))
    expected = 'id,keep,text,speaker,note\na,unsure,,,\nb,no,"x, ""y""",,n\n'
    assert (tmp_path / "d.csv").read_text(encoding="utf-8") == expected
    assert read_decisions(tmp_path / "d.csv") == file.decisions


def test_undo_takes_decisions_back_one_by_one(tmp_path: Path) -> None:
    file = DecisionFile(tmp_path / "d.csv")
    for utterance, keep in (("a", "yes"), ("b", "no"), ("a", "no")):
        file.decide(utterance, Decision(keep))
    assert [file.undo(), dict(file.decisions)] == ["a", {"a": Decision("yes"), "b": Decision("no")}]
    assert [file.undo(), file.undo(), file.undo()] == ["b", "a", None]
    assert read_decisions(tmp_path / "d.csv") == {}


def test_a_file_that_another_program_has_changed_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    file = DecisionFile(path)
    file.decide("a", Decision("yes"))
    path.write_text("id,keep\nz,no\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="changed by another program"):
        file.decide("b", Decision("yes"))
    assert read_decisions(path) == {"z": Decision("no")}


def test_a_file_has_one_writer_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, other = tmp_path / "d.csv", tmp_path / "other.csv"
    store = write_store(tmp_path / "store", make_rows([5, 5]))
    with DecisionFile(path) as file:
        file.decide("a", Decision("yes"))
        status, out, error = run(capsys, "review", store, "--decisions", path)
        assert (status, out) == (2, "")
        assert error.startswith(f"tts-prep: error: {path}: in use by process {os.getpid()} on ")
        assert f"'tts-prep merge-decisions {path} OTHER'" in error
        other.write_text("id,keep\nb,no\n", encoding="utf-8")
        assert run(capsys, "merge-decisions", path, other, "-o", path)[0] == 2
        assert read_decisions(path) == {"a": Decision("yes")}
    # What the message says can be done, and nothing is left beside the file.
    assert run(capsys, "merge-decisions", path, other, "-o", path)[0] == 0
    with DecisionFile(path) as file:
        assert dict(file.decisions) == {"a": Decision("yes"), "b": Decision("no")}
    assert sorted(found.name for found in tmp_path.iterdir()) == ["d.csv", "other.csv", "store"]
    with pytest.raises(ConfigurationError, match="the review has ended"):
        file.decide("c", Decision("yes"))


_REVIEWER = """
import random, sys, time
from pathlib import Path
from tts_prep.errors import ConfigurationError
from tts_prep.review.decisions import Decision, DecisionFile

path, name, n = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
rng, done, refused = random.Random(name), 0, 0
print("ready", flush=True)
sys.stdin.readline()
while done < n:
    try:
        with DecisionFile(path) as file:
            for _ in range(min(n - done, rng.randint(1, n // 5))):
                file.decide(f"{name}-{done}", Decision(("yes", "no")[done % 2], note=name))
                done += 1
    except ConfigurationError:
        refused += 1
        time.sleep(rng.random() / 100)
print(done, refused)
"""


def acknowledged_decisions_are_kept(path: Path, each: int) -> int:
    """Let eight processes decide at the same moment; return how often one was refused."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        processes = [
            stack.enter_context(subprocess.Popen([sys.executable, "-c", _REVIEWER, path, str(i), str(each)], **pipes))
            for i in range(8)
        ]
        for process in processes:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [[*map(int, process.communicate()[0].split())] for process in processes]
    assert [done for done, _ in answers] == [each] * 8
    expected = {f"{i}-{k}": Decision(("yes", "no")[k % 2], note=str(i)) for i in range(8) for k in range(each)}
    assert read_decisions(path) == expected
    return sum(refused for _, refused in answers)


def test_no_acknowledged_decision_of_eight_processes_is_lost(tmp_path: Path) -> None:
    assert acknowledged_decisions_are_kept(tmp_path / "d.csv", 20) > 0


@pytest.mark.soak
def test_none_of_ten_thousand_acknowledged_decisions_of_eight_processes_is_lost(tmp_path: Path) -> None:
    print(f"{acknowledged_decisions_are_kept(tmp_path / 'd.csv', 1_250):,} times refused")


def test_a_decision_that_cannot_be_written_is_not_taken(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = DecisionFile(folder / "d.csv")
    shutil.rmtree(folder)
    with pytest.raises(WriteError):
        file.decide("a", Decision("yes"))
    assert file.decisions == {}


def test_columns_of_another_program_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("time,id,keep\n12:00,a,yes\n12:01,b,\n", encoding="utf-8")
    DecisionFile(path).decide("c", Decision("no"))
    expected = "id,keep,text,speaker,note,time\na,yes,,,,12:00\nb,,,,,12:01\nc,no,,,,\n"
    assert path.read_text(encoding="utf-8") == expected


def test_line_breaks_in_columns_of_another_program_and_in_ids_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(b'id,keep,"a\rb"\n"x\ry",yes,"1\r2"\nz,no,"3\n4"\nw,no,"\r\n"\n')
    DecisionFile(path).decide("z", Decision("yes"))
    with path.open(encoding="utf-8", newline="") as file:
        rows = [*csv.reader(file)]
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("id", "keep", "a\rb"),
        ("x\ry", "yes", "1\r2"),
        ("z", "yes", "3\n4"),
        ("w", "no", "'\r\n"),
    ]
    assert read_decisions(path) == {"x\ry": Decision("yes"), "z": Decision("yes"), "w": Decision("no")}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected the columns"),
        ("id,reasons\na,noisy\n", "expected the columns"),
        ("id,keep\na,maybe\n", "d.csv:2: keep: expected yes, no, unsure"),
        ("id,keep\na,yes\na,no\n", "d.csv:3: expected an id that has no other row"),
        ("id,keep\na\n", "d.csv:2: expected 2 cells, found 1"),
        ("id,keep\na,yes,no\n", "d.csv:2: expected 2 cells, found 3"),
        ("id,keep,note\na,yes,\x1b[2J\n", "one line of text"),
        ('id,keep\n"a,yes\n', "not a CSV file"),
    ],
)
def test_what_is_no_file_of_decisions_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "d.csv").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError) as found:
        read_decisions(tmp_path / "d.csv")
    assert message in str(found.value)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no such device")
def test_a_device_is_no_file_of_decisions() -> None:
    # Others have no end, and a named pipe is waited for.
    with pytest.raises(ConfigurationError, match=r"/dev/null: cannot be read \(.*a device"):
        read_decisions(Path("/dev/null"))


@pytest.mark.parametrize("value", ["a\nb", "\x00", "a\u2028b", "\ud800", "x" * 5_001])
def test_a_correction_is_one_line_of_bounded_length(value: str) -> None:
    with pytest.raises(ConfigurationError):
        Decision("yes", text=value)


def test_an_id_that_a_line_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="control characters"):
        DecisionFile(tmp_path / "d.csv").decide("a\nb", Decision("yes"))


def test_contradictions_are_named_and_become_unsure_or_empty() -> None:
    anna = {"a": Decision("yes", note="fine"), "b": Decision("no"), "c": Decision("yes", text="x")}
    ben = {"b": Decision("yes"), "c": Decision("yes", text="y"), "d": Decision("unsure"), "a": Decision("", "new")}
    merged = merge({"anna": anna, "ben": ben})
    assert merged.decisions == {
        "a": Decision("yes", "new", "", "fine"),
        "b": Decision("unsure"),
        "c": Decision("yes"),
        "d": Decision("unsure"),
    }
    assert [(c.id, c.field, dict(c.values)) for c in merged.conflicts] == [
        ("b", "keep", {"anna": "no", "ben": "yes"}),
        ("c", "text", {"anna": "x", "ben": "y"}),
    ]


def test_kappa_is_that_of_the_textbook() -> None:
    # The usual worked example of Cohen's kappa: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no; kappa 0.4.
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    assert cohens_kappa(pairs) == pytest.approx(0.4)
    assert cohens_kappa([("yes", "yes"), ("no", "no")]) == 1
    assert math.isnan(cohens_kappa([("yes", "yes")]))
    assert math.isnan(cohens_kappa([]))


def test_files_of_three_reviewers_are_merged_by_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"{name}.csv" for name in ("anna", "ben", "carl")]
    for path, keep in zip(files, ("yes", "yes", "no"), strict=True):
        write_decisions(path, {"a": Decision(keep), "b": Decision("yes")})
    status, out, _ = run(capsys, "merge-decisions", *files, "-o", tmp_path / "merged.csv")
    assert status == 1
    assert "a: keep: 'yes' (" in out
    assert "anna.csv and " in out
    assert "2 of 2 common decisions equal" in out
    assert "1 contradiction\n" in out
    assert read_decisions(tmp_path / "merged.csv") == {"a": Decision("unsure"), "b": Decision("yes")}
    assert run(capsys, "merge-decisions", *files[:2])[0] == 0
    # Scores, beside decisions and alone.
    scores = [tmp_path / "one.csv", tmp_path / "two.csv"]
    scores[0].write_text("id,keep,mos,tone\na,yes,3,\nb,,4,warm\n")
    scores[1].write_text("id,mos,when\nb,5,monday\nc,2,\n")
    status, out, _ = run(capsys, "merge-decisions", *scores, "-o", tmp_path / "scores.csv")
    assert (status, f"b: mos: '4' ({scores[0]}), '5' ({scores[1]})" in out) == (1, True)
    assert (tmp_path / "scores.csv").read_text().splitlines() == [
        "id,keep,text,speaker,note,mos,tone,when",
        "a,yes,,,,3,,",
        "b,,,,,,warm,monday",
        "c,,,,,2,,",
    ]
    assert run(capsys, "merge-decisions", files[0])[0] == 2
