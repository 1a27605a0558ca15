"""Decisions of a review change the store that is made again."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from commands import run
from reviewing import Serve

from tts_prep.checks import measure, suspects
from tts_prep.demo.corpus import read_sentences
from tts_prep.demo.speech import speak
from tts_prep.loader import UtteranceDataset
from tts_prep.review.decisions import DecisionFile
from tts_prep.review.pages import Pages
from tts_prep.review.sounds import Sounds
from tts_prep.review.table import Query


@pytest.mark.whole
def test_faults_are_found_marked_and_corrected_and_the_store_is_made_again(
    own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, decisions = tmp_path / "store", tmp_path / "decisions.csv"
    options = ("--frontend", "characters", "--unknown", "drop", "--jobs", "1", "--waveform", "int16")
    command = ("ljspeech", own_corpus, store, *options)
    # Planted: the recording of one utterance in the place of another's, and a text that was typed wrong.
    lines = (own_corpus / "metadata.csv").read_text(encoding="utf-8").splitlines()
    first, second, third = (line.split("|")[0] for line in lines[:3])
    right = lines[2].split("|")[2]
    lines[2] = f"{third}|x|Typo."
    (own_corpus / "metadata.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (own_corpus / "wavs" / f"{second}.wav").write_bytes((own_corpus / "wavs" / f"{first}.wav").read_bytes())
    assert run(capsys, *command)[0] == 0

    dataset = UtteranceDataset(store)
    pages = Pages(dataset, DecisionFile(decisions), Sounds(dataset))
    pages.measure()
    (copy,) = pages.table.rows(Query(reason="audio-duplicate")).tolist()
    assert dataset.id[copy] == second
    (typo,) = pages.table.rows(Query(filter='"Typo" in text')).tolist()
    for value in ({"row": copy, "keep": "no"}, {"row": typo, "keep": "yes", "text": f"-{right}", "note": "=typo"}):
        assert pages.post("decide", json.dumps(value).encode()).status == 200

    status, _, error = run(capsys, *command, "--update", "--corrections", decisions, "--exclude", decisions)
    assert status == 0, error
    again = UtteranceDataset(store)
    assert list(again.id) == [name for name in dataset.id if name != second]
    assert again.text[list(again.id).index(third)] == f"-{right}"
    assert run(capsys, "check", store)[1].count(second) == 0
    status, _, error = run(capsys, "add", store, "--columns", decisions)
    assert status == 0, error
    assert again.path == store
    added = UtteranceDataset(store)
    assert added.column("note")[list(added.id).index(third)] == "=typo"


RATE = 22_050
Clip = np.ndarray


def hummed(clip: Clip) -> Clip:
    times = np.arange(len(clip)) / RATE
    lines = sum(np.sin(2 * np.pi * 50 * n * times) for n in (1, 2, 3))
    return 0.8 * clip + 0.02 * lines


def echoing(clip: Clip) -> Clip:
    n = int(0.8 * RATE)
    room = np.random.default_rng(0).normal(size=n) * 10 ** (-3 * np.arange(n) / n)
    heard = clip + np.convolve(clip, room / np.sqrt(np.square(room).sum()))[: len(clip)]
    return 0.9 * heard / np.abs(heard).max()


def interrupted(clip: Clip) -> Clip:
    return np.where(np.abs(np.arange(len(clip)) - len(clip) // 2) < 0.1 * RATE, 0, clip)


def noisy(clip: Clip) -> Clip:
    return 0.5 * clip + np.random.default_rng(1).normal(0, 0.5 * np.sqrt(np.square(clip).mean()), len(clip))


FAULTS: dict[str, tuple[Callable[[Clip], Clip], str]] = {
    "clipped": (lambda clip: np.clip(clip, -0.3, 0.3) * 2, "clipped"),
    "saturated": (lambda clip: 0.9 * np.tanh(6 * clip), "saturated"),
    "hum": (hummed, "hum"),
    "reverberant": (echoing, "reverberant"),
    "interrupted": (interrupted, "digital-silence"),
    "noisy": (noisy, "noisy"),
    "cut": (lambda clip: clip[: len(clip) // 2], "unspoken-end"),
    "late": (lambda clip: np.concatenate([np.random.default_rng(2).normal(0, 1e-3, 2 * RATE), clip]), "silence-start"),
}


def planted_corpus(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Speak 72 texts, and plant two faults of each of eight kinds, and four wrong texts.

    Returns:
        The reason for which each fault is to be found, and the right texts.
    """
    folder.mkdir()
    rng = np.random.default_rng(0)
    clips, rows = {}, {}
    for speaker, pitch in (("anna", 65), ("ben", 40)):
        for number, (_, text) in enumerate(read_sentences()):
            waveform, _ = speak(text, voice="en-us" + ("+f3" if speaker == "anna" else ""), pitch=pitch)
            clip = np.pad(waveform * (0.8 / np.abs(waveform.astype(float)).max()), RATE // 5)
            clips[f"{speaker}{number:02d}"] = clip + rng.normal(0, 1e-3, len(clip))
            rows[f"{speaker}{number:02d}"] = [text, speaker]
    # Long texts, because short ones cannot be told from others.
    long = [name for name, (text, _) in rows.items() if len(text) > 50]
    chosen = [long[i] for i in rng.permutation(len(long))[:20]]
    expected = {}
    for name, (kind, reason) in zip(chosen, 2 * list(FAULTS.values()), strict=False):
        clips[name], expected[name] = kind(clips[name]), reason
    wrong = chosen[16:]
    texts = {name: rows[name][0] for name in wrong}
    for name, other in zip(wrong, [*wrong[1:], wrong[0]], strict=True):
        rows[name][0], expected[name] = texts[other], "wrong-text"
    for name, clip in clips.items():
        soundfile.write(folder / f"{name}.wav", clip.clip(-1, 1), RATE, subtype="PCM_16")
    lines = (f"{name}.wav|{text}|{speaker}\n" for name, (text, speaker) in rows.items())
    (folder / "list.txt").write_text("".join(lines), encoding="utf-8")
    return expected, texts


@pytest.mark.soak
def test_twenty_planted_faults_are_found_marked_and_corrected_and_the_report_shows_the_difference(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, corpus = tmp_path / "store", tmp_path / "corpus"
    expected, texts = planted_corpus(corpus)
    assert len(expected) == 20
    command = ("filelist", corpus / "list.txt", store, "--columns", "path|text|speaker", "--waveform", "int16")
    assert run(capsys, *command, "--root", corpus, "--jobs", "1")[0] == 0

    review = serve([None], store=store)
    reasons = {reason["reason"]: reason["count"] for reason in review.get("state")["reasons"]}
    found: dict[str, set[str]] = {}
    for reason in (name for name, count in reasons.items() if count):
        rows = review.get(f"rows?reason={reason}&n=100")["rows"]
        assert len(rows) == reasons[reason]
        for row in rows:
            name = Path(row["cells"]["id"]).stem
            found.setdefault(name, set()).add(reason)
            # What is heard decides: a clean recording is kept.
            decision = {"keep": "no" if name in expected and name not in texts else "yes", "text": texts.get(name, "")}
            assert review.post("decide", row=row["row"], **decision)[0] == 200
    assert {name: reason for name, reason in expected.items() if reason not in found.get(name, ())} == {}
    clean = {*found} - {*expected}
    assert len(clean) <= 3
    counts = review.get("state")["counts"]
    assert counts["suspects"] == counts["decided_suspects"] == 20 + len(clean)
    assert (counts["no"], counts["yes"], counts["corrected"]) == (16, 4 + len(clean), 4)

    shutil.copytree(store, tmp_path / "before")
    decisions = tmp_path / "decisions.csv"
    update = ("--update", "--corrections", decisions, "--exclude", decisions)
    status, _, error = run(capsys, *command, "--root", corpus, "--jobs", "1", *update)
    assert status == 0, error
    again = UtteranceDataset(store)
    assert {Path(name).stem for name in again.id}.isdisjoint(name for name in expected if name not in texts)
    assert {Path(u.id).stem: u.text for u in again if Path(u.id).stem in texts} == texts
    assert {Path(name).stem for name in suspects(measure(again)).ids}.isdisjoint(expected)

    page = tmp_path / "difference.html"
    assert run(capsys, "report", tmp_path / "before", store, "-o", page)[0] == 0
    shown = html.unescape(re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8")))
    assert all(name in shown for name in expected)
    for text in texts.values():
        assert text[:40] in shown
