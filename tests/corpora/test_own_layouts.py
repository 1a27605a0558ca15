"""Layouts that users write in TOML, and hostile ones."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from commands import run
from corpora import record, write_text

from tts_prep.corpora.template import Template
from tts_prep.errors import ConfigurationError
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import read_corpus

LAYOUT = """
lists = "lists/{speaker}.txt"
lines = ["{id};{_style};{text}", "{id};{text}"]
audio = ["/wav/{speaker}/{id}.wav", "/wav/*/{id}.flac"]
encoding = "latin-1"
columns.emotion = "{_style:upper}"
maps._style = { h = "happy", "*" = "" }
"""
OPTIONS = ("--frontend", "none", "--jobs", 1)


def write_mine(root: Path) -> Path:
    record(root / "wav/anna/0001.wav")
    record(root / "wav/else/0002.flac")
    path = root / "lists/anna.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes("0001;h;Grüße\n0002;x;Ja; nein.\nbad\n".encode("latin-1"))
    return root


def test_the_layout_of_the_page_for_nst_reads_its_csv_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/corpora.md").read_text(encoding="utf-8")
    write_text(tmp_path / "nst.toml", page.partition("in small letters:\n\n```toml\n")[2].partition("```")[0])
    record(tmp_path / "nst/dk/r4670118/r4670118_u0118001.wav")
    rows = "filename_both_channels,text\nr4670118_u0118001.WAV,Det er en prøve.\n"
    write_text(tmp_path / "nst/NST_dk.csv", rows)
    command = ("folder", tmp_path / "nst", tmp_path / "store", "--layout", tmp_path / "nst.toml", *OPTIONS)
    assert run(capsys, *command)[0] == 0
    read = [(u.id, u.speaker, u.text) for u in UtteranceDataset(tmp_path / "store")]
    assert read == [("r4670118-u0118001", "r4670118", "Det er en prøve.")]


@pytest.mark.whole
def test_a_layout_of_ten_lines_makes_a_store_and_another_layout_another(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    corpus, layout, store = write_mine(tmp_path / "corpus"), tmp_path / "mine.toml", tmp_path / "store"
    write_text(layout, LAYOUT)
    command = ("folder", corpus, store, "--layout", layout, "--max-failures", 1, *OPTIONS)
    assert run(capsys, *command)[0] == 0
    rows = [(u.id, u.speaker, u.text, u.meta) for u in UtteranceDataset(store)]
    assert rows == [
        ("0001", "anna", "Grüße", {"emotion": "HAPPY"}),
        ("0002", "anna", "Ja; nein.", {"emotion": ""}),
    ]
    assert "lists/anna.txt:3: expected" in (store / "failures.jsonl").read_text("utf-8")
    # The store has the layout itself, so that another one is other settings, whatever its file is called.
    write_text(layout, LAYOUT.replace("happy", "glad"))
    status, _, err = run(capsys, *command)
    assert (status, "made with other settings: corpus.layout" in err, "--update" in err) == (1, True, True)
    assert run(capsys, *command, "--update")[0] == 0
    assert UtteranceDataset(store)[0].meta == {"emotion": "GLAD"}


LISTS = 'lists = "a.txt"\nlines = "{id}|{text}"\naudio = "{id}.wav"\n'
WRONG = {
    "a = [": "not TOML",
    "a" + ".a" * 40_000 + " = 1": "not TOML: line 1 has 40,000 dots",
    "lists = " + "[" * 100_000: "not TOML",
    LISTS + "values = 'os:system'": "expected some of lists, recordings, .* found 'values'",
    "": "expected 'lists', paths of lists, or 'recordings'",
    LISTS + 'recordings = "{id}"': "expected 'lists', paths of lists, or 'recordings'",
    'lists = "a.txt"\naudio = "{id}.wav"': "lists need 'audio', and one of 'lines'",
    LISTS.replace("|", ""): "expected something between two placeholders, found '{id}{text}'",
    LISTS.replace("{text}", "{text"): "expected placeholders such as",
    LISTS.replace("{text}", "{text:shell}"): "expected one of lower, upper, .* found 'shell'",
    LISTS.replace("{text}", "{words}"): r"no template has \{text\}",
    LISTS.replace("{text}", "{text}|{seconds}"): r"\['seconds'\] is a column of all stores",
    LISTS.replace("a.txt", "/"): "lists: expected a path inside the corpus, found '/'",
    LISTS + 'texts = "{id}.txt"': "texts: only for 'recordings'",
    LISTS + 'tables."t.txt" = { fields = ["id", "a/b"] }': r"expected names of letters, digits and _, found \['a/b'\]",
    LISTS.replace("a.txt", "../../etc/{}"): "lists: expected a path inside the corpus",
    LISTS + 'tables."/etc/passwd" = { fields = ["id", "x"] }': "expected a path inside the corpus",
    LISTS + 'tables."t.txt" = { fields = ["id"] }': "expected a list 'fields' of two or more",
    LISTS + "maps.id = 3": "maps.id: expected a table, found 3",
    LISTS + "last = 1": "last: expected true or false, found 1",
    LISTS + 'encoding = "idna"': "encoding: expected one of utf-8, .* found 'idna'",
    LISTS + "columns.text = '{id}'": r"\['text'\] is a column of all stores",
    LISTS + f"speaker = '{'x' * 10_000}'": "at most 500 characters",
}


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_layout_is_a_message_that_says_what_was_expected(tmp_path: Path, number: int) -> None:
    text, message = [*WRONG.items()][number]
    began = time.process_time()
    with pytest.raises(ConfigurationError, match=f"layout: .*{message}"):
        list(read_corpus("folder", tmp_path, options={"layout": text or "#"})[0])
    assert time.process_time() - began < 2


def test_a_file_that_is_no_layout_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_text(tmp_path / "mine.toml", "x" * 70_000)
    for path, message in (("none.toml", "cannot be read"), ("mine.toml", "cannot be read")):
        status, _, err = run(capsys, "folder", tmp_path, tmp_path / "store", "--layout", tmp_path / path, *OPTIONS)
        assert (status, message in err, err.count("\n")) == (2, True, 1)
    (tmp_path / "mine.toml").write_bytes(b"\xff")
    assert (
        "expected UTF-8, found byte 0xff"
        in run(capsys, "folder", tmp_path, tmp_path / "store", "--layout", tmp_path / "mine.toml", *OPTIONS)[2]
    )
    write_text(tmp_path / "mine.toml", LISTS)
    options = ("--layout", tmp_path / "mine.toml", "--speakers", "first", *OPTIONS)
    assert "give one of the two alone" in run(capsys, "folder", tmp_path, tmp_path / "store", *options)[2]


@pytest.mark.parametrize(
    ("template", "text", "values"),
    [
        ('( {id} "{text}" )', '(a   "He said \\"no\\" )." )', {"id": "a", "text": 'He said \\"no\\" ).'}),
        ("{id}:{text}", "a: b: c ", {"id": "a", "text": "b: c"}),
        ("{id} {text} {emotion}", "a\tone  two three", {"id": "a", "text": "one  two", "emotion": "three"}),
        ("{id}|{text}|{}", "a|b|c|d", None),
        ("{id}|{text}", "a", None),
        ("cmu_us_{speaker}_*", "cmu_us_slt_arctic", {"speaker": "slt"}),
        ("{speaker}/{speaker}", "a/b", None),
    ],
)
def test_a_template_reads_what_is_between_its_words(template: str, text: str, values: dict[str, str] | None) -> None:
    assert Template(template).read(text) == values


def test_time_grows_with_the_length_of_a_line_whoever_wrote_it() -> None:
    template = Template("".join(f"{{a{n}}}_" for n in range(20)) + "{text}!")
    for line in ("_" * 1_000_000, " " * 1_000_000, "_ " * 500_000 + "!", "a_" * 500_000):
        began = time.process_time()
        template.read(line)
        Template("{id} {text} {a} {b}").read(line)
        assert time.process_time() - began < 1
