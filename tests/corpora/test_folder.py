"""Folders of recordings with a text beside each, built to stores through the command."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from commands import run
from corpora import record, write_text

from tts_prep.corpora.folder import read_folder
from tts_prep.format.records.manifest import read_manifest
from tts_prep.hints.commands import likely_commands
from tts_prep.loader import UtteranceDataset

OPTIONS = ("--frontend", "characters", "--jobs", 1)


def rows(store: Path) -> list[tuple[str, str, str]]:
    return [(u.id, u.speaker, u.text) for u in UtteranceDataset(store)]


def failures(store: Path) -> dict[str, str]:
    lines = (store / "failures.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row["reason"] for row in map(json.loads, lines)}


@pytest.mark.whole
def test_recordings_have_the_texts_beside_them_and_the_speakers_of_their_folders(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    corpus, store = tmp_path / "corpus", tmp_path / "store"
    for name in ("anna/1.wav", "anna/2.wav", "ben/wavs/1.flac", "ben/wavs/2.wav", "ben/wavs/3.wav"):
        record(corpus / name)
    write_text(corpus / "anna/1.txt", "\ufeffOne,\n two.\n")
    write_text(corpus / "anna/2.lab", "Three.")
    write_text(corpus / "ben/txt/1.txt", "Four.\n")
    write_text(corpus / "ben/wavs/2.lab", "0 1300000 sil\n1300000 2000000 f\n")
    status, out, _ = run(capsys, "folder", corpus, store, *OPTIONS, "--max-failures", 2)
    assert (status, "speakers: 2 folders, the last of each path" in out) == (0, True)
    assert rows(store) == [
        ("anna/1", "anna", "One, two."),
        ("anna/2", "anna", "Three."),
        ("ben/wavs/1", "ben", "Four."),
    ]
    assert UtteranceDataset(store)[2].meta == {"folder": "ben/wavs"}
    assert failures(store) == {
        "ben/wavs/2": "ben/wavs/2.lab: labels with times, expected a text",
        "ben/wavs/3": "ben/wavs/3.wav: no text beside it, such as 3.txt",
    }
    status, out, _ = run(capsys, "recordings", corpus, tmp_path / "audio", "--jobs", 1)
    assert "note: 4 of 5 recordings have a text; 'tts-prep folder' reads it" in out


def test_the_first_folder_of_a_path_names_the_speaker_if_asked_or_none_does(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus"
    for name in ("anna/monday/1", "ben/monday/1"):
        record(corpus / f"{name}.wav")
        write_text(corpus / f"{name}.txt", "One.")
    found = {}
    for speakers in ("first", "none", "last"):
        store = tmp_path / speakers
        assert run(capsys, "folder", corpus, store, *OPTIONS, "--speakers", speakers)[0] == 0
        found[speakers] = [speaker for _, speaker, _ in rows(store)]
    assert found == {"first": ["anna", "ben"], "none": ["0", "0"], "last": ["0", "0"]}
    assert read_manifest(tmp_path / "first").configuration["corpus"]["speakers"] == "first"


@pytest.mark.whole
def test_emilia_is_read_with_speakers_languages_and_columns(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # https://huggingface.co/datasets/amphion/Emilia-Dataset: EN_B00000_S00000_W000000.json beside .mp3.
    corpus, store = tmp_path / "EN_B00000", tmp_path / "store"
    for number, text in enumerate((" You can help.", "Um, no.", "Odd.", "Torn.")):
        name = f"EN_B00000_S0000{number}_W000000"
        record(corpus / f"{name}.mp3", sample_rate=24000)
        value = {
            "id": name,
            "wav": f"EN_B00000/mp3/{name}.mp3",
            "text": text,
            "duration": 4.74,
            "speaker": f"EN_B00000_S0000{number}",
            "language": "en",
            "dnsmos": 3.2927 if number != 2 else "high",
            "phone_count": 30,
        }
        write_text(corpus / f"{name}.json", json.dumps(value) if number != 3 else "{")
    status, _, _ = run(capsys, "folder", corpus, store, *OPTIONS, "--max-failures", 2)
    assert status == 0
    names = [f"EN_B00000_S0000{number}_W000000" for number in range(4)]
    assert rows(store) == [(names[0], names[0][:16], "You can help."), (names[1], names[1][:16], "Um, no.")]
    columns = {"dnsmos": 3.2927, "duration": 4.74, "folder": "", "language": "en", "phone_count": 30.0}
    assert UtteranceDataset(store)[0].meta == columns
    assert [failures(store)[name].partition(" (")[0] for name in names[2:]] == [
        f"{names[2]}.json:1: dnsmos: expected a number as in earlier files, found 'high'",
        f"{names[3]}.json: not JSON",
    ]


def test_wenetspeech4tts_is_read_from_wavs_and_txts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # https://huggingface.co/datasets/Wenetspeech4TTS/WenetSpeech4TTS: the id, a tab and the text; then times.
    part, store = tmp_path / "Premium/WenetSpeech4TTS_Premium_9", tmp_path / "store"
    name = "X0000015306_83500032_S00110-S00112"
    record(part / f"wavs/{name}.wav")
    write_text(part / f"txts/{name}.txt", f"{name}\t你好，世界\n[[0.0, 1.1], [1.3, 2.0]]\n")
    arguments = ("folder", tmp_path / "Premium", store, "--frontend", "none", "--language", "zh", "--jobs", 1)
    assert run(capsys, *arguments)[0] == 0
    assert rows(store) == [(f"WenetSpeech4TTS_Premium_9/wavs/{name}", "0", "你好，世界")]


def test_expressos_speakers_are_a_folder_in_the_middle_of_the_path(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # https://github.com/facebookresearch/textlesslib/tree/main/examples/expresso: audio_48khz/read/ex01/happy/base/…
    for speaker, style in product(("ex01", "ex02"), ("happy", "sad")):
        name = f"read/{speaker}/{style}/base/{speaker}_{style}_00001"
        record(tmp_path / f"corpus/{name}.wav")
        write_text(tmp_path / f"corpus/{name}.txt", "Hello there.")
    arguments = ("folder", tmp_path / "corpus", "--frontend", "none", "--jobs", 1)
    out = run(capsys, *arguments, tmp_path / "one")[1]
    assert "note: one speaker, since the last folder is 'base' in every path; folder 2 has 2 names, such as ex01" in out
    assert {speaker for _, speaker, _ in rows(tmp_path / "one")} == {"0"}
    (advised,) = re.findall(r"(--speakers) (\d) takes", out)
    out = run(capsys, *arguments, tmp_path / "two", *advised)[1]
    assert "speakers: 2 folders, folder 2 of each path" in out
    assert [speaker for _, speaker, _ in rows(tmp_path / "two")] == ["ex01", "ex01", "ex02", "ex02"]
    assert "note: one speaker" not in run(capsys, *arguments, tmp_path / "said", "--speakers", "none")[1]


def test_a_folder_without_any_text_is_refused_and_recordings_are_not_guessed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    record(tmp_path / "corpus/a.wav")
    arguments = ("folder", tmp_path / "corpus", tmp_path / "store", "--jobs", 1)
    status, _, err = run(capsys, *arguments)
    assert (status, "no recording has a text, such as a.txt or .lab, .json or .srt; 'tts-prep reco" in err) == (
        1,
        True,
    )
    assert run(capsys, *arguments, "--frontend", "none")[0] == 0
    assert rows(tmp_path / "store") == [("a", "0", "")]


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b'{"text": ' + b"9" * 5000 + b"}", b"\xff\xfe", b"[]", b'{"text": null}', b'{"id": "a"}']
)
def test_no_object_beside_a_recording_ends_a_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data: bytes
) -> None:
    for name in ("a", "b"):
        record(tmp_path / f"corpus/{name}.wav")
    (tmp_path / "corpus/a.json").write_bytes(data)
    write_text(tmp_path / "corpus/b.json", '{"text": "Two.", "1x": 3, "start": 2}')
    status, _, _ = run(capsys, "folder", tmp_path / "corpus", tmp_path / "store", *OPTIONS, "--max-failures", 1)
    assert (status, rows(tmp_path / "store")) == (0, [("b", "0", "Two.")])
    assert list(failures(tmp_path / "store")) == ["a"]


def test_cues_of_subtitles_beside_recordings_become_segments(capsys: Any, tmp_path: Path) -> None:
    record(tmp_path / "corpus/anna/a.wav", seconds=3)
    record(tmp_path / "corpus/ben/b.wav", seconds=3)
    # https://en.wikipedia.org/wiki/SubRip and https://www.w3.org/TR/webvtt1/
    srt = "1\r\n00:00:00,500 --> 00:00:01,000\r\nHello\r\nthere.\r\n \t\r\n2\r\n00:00:01,000 --> 00:00:01,500\r\n\r\n"
    srt += "3\r\n00:00:02,000 --> 00:00:01,000\r\nBackwards.\r\n"
    vtt = "WEBVTT - a title\n\nNOTE 00:00 is the start\n\nintro\n00:00.250 --> 00:01.500 align:start\nGood-bye.\n"
    write_text(tmp_path / "corpus/anna/a.srt", f"\ufeff{srt}")
    write_text(tmp_path / "corpus/ben/b.vtt", vtt)
    assert likely_commands(tmp_path / "corpus/anna") == ["folder"]
    made = ("folder", tmp_path / "corpus", tmp_path / "store", *OPTIONS, "--waveform", "int16", "--max-failures", 9)
    assert run(capsys, *made)[0] == 0
    assert rows(tmp_path / "store") == [("anna/a-0001", "anna", "Hello there."), ("ben/b-0001", "ben", "Good-bye.")]
    rate = UtteranceDataset(tmp_path / "store").sample_rate
    seconds = [len(u.waveform) / rate for u in UtteranceDataset(tmp_path / "store")]
    assert seconds == pytest.approx([0.5, 1.25], abs=0.02)
    assert failures(tmp_path / "store") == {
        "anna/a-0003": "anna/a.srt: cue 3: it ends at 1 s, before it begins, at 2 s",
    }


@pytest.mark.parametrize(
    "content", ["", "Hello there.", "1\n00:00 --> 99999999999:00:00,5\nHi\n", "\n" * 10_000, "0:" * 5000]
)
def test_subtitles_without_a_cue_are_one_failure(tmp_path: Path, content: str) -> None:
    record(tmp_path / "a.wav")
    write_text(tmp_path / "a.srt", content)
    [failure] = read_folder(tmp_path)
    assert vars(failure)["reason"] == "a.srt: no cue such as '00:00:01,000 --> 00:00:02,500'"


def test_a_folder_of_pairs_is_detected(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record(tmp_path / "corpus/a.wav")
    write_text(tmp_path / "corpus/a.txt", "One.")
    status, _, err = run(capsys, "ljspeech", tmp_path / "corpus", tmp_path / "store")
    assert (status, "looks like a corpus for 'tts-prep folder'" in err) == (1, True)
