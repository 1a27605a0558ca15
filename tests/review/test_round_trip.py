"""Decisions of a review change the store that is made again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run

from tts_prep.loader import UtteranceDataset
from tts_prep.review.decisions import DecisionFile
from tts_prep.review.pages import Pages
from tts_prep.review.sounds import Sounds
from tts_prep.review.table import Query


def test_faults_are_found_marked_and_corrected_and_the_store_is_made_again(
    own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, decisions = tmp_path / "store", tmp_path / "decisions.csv"
    command = ("ljspeech", own_corpus, store, "--frontend", "characters", "--jobs", "1", "--waveform", "int16")
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
