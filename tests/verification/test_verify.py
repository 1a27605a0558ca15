"""Reports of 'tts-prep verify' other than broken files, and the options of a repair."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from commands import run
from corpora import write_ljspeech
from killing import contents
from stores import edit_manifest

from tts_prep.loader import UtteranceDataset

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["arrays"]["mel"].update(silence=[0.0]),
        lambda m: m["arrays"]["mel"].update(sample_rate="22050"),
        lambda m: m["vocabulary"].update(pad=None),
        lambda m: m["mel_statistics"].update(std=[]),
    ],
)
def test_a_manifest_with_a_valid_checksum_that_cannot_be_trained_from_is_reported(
    capsys: Capture, store: Path, tmp_path: Path, change
) -> None:
    copy = shutil.copytree(store, tmp_path / "store")
    edit_manifest(copy, change)
    status, out, err = run(capsys, "verify", copy)
    assert status == 1
    assert f"{copy}/manifest.json: " in out + err


@pytest.mark.whole
def test_a_store_whose_alignments_change_its_shards_is_repaired_with_them(capsys: Capture, tmp_path: Path) -> None:
    corpus, store = write_ljspeech(tmp_path / "lj", ("One.", "Two.")), tmp_path / "store"
    make = ("ljspeech", corpus, store, "--frontend", "characters", "--jobs", 1)
    assert run(capsys, *make)[0] == 0
    grids = tmp_path / "grids"
    grids.mkdir()
    for utterance in UtteranceDataset(store):
        # A frame less than the mel has, which is cut off.
        frames = np.diff(np.linspace(0, len(utterance.mel) - 1, len(utterance.phonemes) + 1).astype(int))
        np.save(grids / f"{utterance.id}.npy", frames)
    aligned = ("--alignments", grids, "--feature", "durations:surplus=cut")
    assert run(capsys, *make, *aligned, "--overwrite")[0] == 0
    before = contents(store)
    (store / "shards/00000.h5").unlink()
    repair = ("verify", store, "--repair", corpus, "--jobs", 1)
    status, _, err = run(capsys, *repair)
    assert status == 2
    assert "was made with alignments that change its shards; give them with --alignments PATH" in err
    shutil.copytree(grids, tmp_path / "kept")
    np.save(grids / "S-0000.npy", frames[::-1])
    status, _, err = run(capsys, *repair, "--alignments", grids)
    assert status == 1
    assert f"and alignments of {grids}; give what it was made from" in err
    status, _, err = run(capsys, *repair, "--alignments", tmp_path / "kept")
    assert (status, err) == (0, "")
    assert contents(store) == before
