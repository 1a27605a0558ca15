from __future__ import annotations

from pathlib import Path

import pytest
from corpora import TEXTS

from tts_prep.errors import CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.source_utterance import SourceUtterance


def read(root: Path, metadata: bytes) -> list[SourceUtterance | Failure]:
    (root / "wavs").mkdir(exist_ok=True)
    (root / "metadata.csv").write_bytes(metadata)
    return list(read_ljspeech(root))


def test_the_third_column_is_spoken(corpus: Path) -> None:
    items = list(read_ljspeech(corpus))
    assert [item.text for item in items if isinstance(item, SourceUtterance)] == list(TEXTS)
    assert items[2] == SourceUtterance("S-0002", TEXTS[2], "wavs/S-0002.wav", "metadata.csv:3", "ljspeech")


@pytest.mark.parametrize("row", [b"a|second|\n", b"a|second\n", b"a|second|  \n"])
def test_the_second_column_is_spoken_where_the_third_is_empty_or_missing(tmp_path: Path, row: bytes) -> None:
    (item,) = read(tmp_path, row)
    assert isinstance(item, SourceUtterance)
    assert (item.text, item.normalized) == ("second", False)


def test_quotes_are_text_and_merge_nothing(tmp_path: Path) -> None:
    items = read(tmp_path, b'a|"|"open\nb|x|close" and "\nc|x|"whole"\n')
    assert [item.text for item in items if isinstance(item, SourceUtterance)] == ['"open', 'close" and "', '"whole"']


def test_crlf_a_byte_order_mark_blank_lines_and_unicode_separators_are_understood(tmp_path: Path) -> None:
    items = read(tmp_path, "\ufeffa|x|one\r\n\r\nb|x|two\u2028still two\x85\r\n".encode())
    assert [(item.id, item.text) for item in items if isinstance(item, SourceUtterance)] == [
        ("a", "one"),
        ("b", "two\u2028still two"),
    ]
    assert [item.where for item in items] == ["metadata.csv:1", "metadata.csv:3"]


@pytest.mark.parametrize(
    ("row", "identifier", "reason"),
    [
        (b"a\n", "a", "metadata.csv:1: expected 'id|text|normalized text', found 1 field"),
        (b"a|b|c|d\n", "a", "metadata.csv:1: expected 'id|text|normalized text', found 4 fields"),
        (b"|b|c\n", "", "metadata.csv:1: expected an id before the first '|', found none"),
        (b"a|caf\xe9|c\n", "", "metadata.csv:1: expected UTF-8, found byte 0xe9 at column 6"),
    ],
)
def test_a_bad_row_is_a_failure_in_its_place(tmp_path: Path, row: bytes, identifier: str, reason: str) -> None:
    bad, good = read(tmp_path, row + b"z|x|fine\n")
    assert bad == Failure(identifier, "metadata.csv:1", "corpus", reason)
    assert isinstance(good, SourceUtterance)


def test_no_folder_no_metadata_no_rows_no_recordings_are_errors(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such folder; expected an LJ Speech corpus"):
        list(read_ljspeech(tmp_path / "none"))
    with pytest.raises(CorpusError, match=r"metadata\.csv: no such file"):
        list(read_ljspeech(tmp_path))
    (tmp_path / "metadata.csv").write_bytes(b"a|b|c\n")
    with pytest.raises(CorpusError, match="wavs: no such folder"):
        list(read_ljspeech(tmp_path))
    with pytest.raises(CorpusError, match=r"metadata\.csv: no rows"):
        read(tmp_path, b"\n \n")


def test_a_list_with_speakers_in_its_second_field_is_read_as_such(tmp_path: Path) -> None:
    # https://github.com/rhasspy/piper/blob/master/TRAINING.md: id|speaker|text.
    lines: list[str] = []
    rows = [(f"{n}", ("anna", "ben")[n % 2], f"Sentence {n}.") for n in range(6)]
    (tmp_path / "corpus/wavs").mkdir(parents=True)
    path = tmp_path / "corpus" / "metadata.csv"
    path.write_text("".join("|".join(row) + "\n" for row in rows), encoding="utf-8")
    items = list(read_ljspeech(tmp_path / "corpus", report=lines.append))
    assert [(i.id, i.speaker, i.text) for i in items if isinstance(i, SourceUtterance)] == rows
    assert lines == ["columns: id|speaker|text, with 2 speakers, as the second field repeats"]


@pytest.mark.parametrize(
    "rows",
    [
        ["1|Yes.|Yes.", "2|Yes.|Yes.", "3|No.|No.", "4|No.|No."],
        ["1|你好|nǐ hǎo", "2|再见|zài jiàn"],
        ["1|He said no.|He said no.", "2|He said no.|He said no."],
    ],
)
def test_texts_that_repeat_are_no_speakers(tmp_path: Path, rows: list[str]) -> None:
    (tmp_path / "corpus/wavs").mkdir(parents=True)
    (tmp_path / "corpus" / "metadata.csv").write_text("\n".join(rows), encoding="utf-8")
    items = [item for item in read_ljspeech(tmp_path / "corpus") if isinstance(item, SourceUtterance)]
    assert [(item.speaker, item.text) for item in items] == [("ljspeech", row.split("|")[2]) for row in rows]
