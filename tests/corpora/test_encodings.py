"""Names and texts with byte order marks, CRLF, long lines, quotes, spaces and invalid UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from commands import run
from corpora import speech_like, write_ljspeech

from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare


@pytest.mark.whole
def test_an_id_may_be_any_name_of_a_file(tmp_path: Path) -> None:
    names = ["with a space", 'it\'s "quoted"', "naïve-日本", "a,b;c", "-dash", "a\\b", "%s{0}", "x" * 200, "é"]
    root = write_ljspeech(tmp_path / "lj", ("Yes.",))
    for number, name in enumerate(names):
        soundfile.write(root / "wavs" / f"{name}.wav", speech_like(0.3 + number / 100, 1), 22050)
    long = "A very long line. " * 2000
    rows = "".join(f'{name}|raw|He said "no" {len(name)} times.\r\n' for name in names)
    (root / "metadata.csv").write_bytes(f"\ufeff{rows}S-0000|raw|{long}\r\n".encode())
    prepare(read_ljspeech(root), root, tmp_path / "s", Configuration())
    dataset = UtteranceDataset(tmp_path / "s", verify=True)
    assert list(dataset.id) == [*names, "S-0000"]
    assert list(dataset.text) == [*(f'He said "no" {len(name)} times.' for name in names), long.strip()]
    # Each has its own recording.
    np.testing.assert_allclose(dataset.seconds[:-1], 0.3 + np.arange(len(names)) / 100, atol=1 / 22050)


@pytest.mark.whole
@pytest.mark.parametrize("name", [b"with a space/new\nline/\xe9 in Latin-1/'\"/" + "日本".encode(), b"\xff\xfe"])
def test_corpus_and_store_may_have_any_path(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: bytes) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    folder.mkdir(parents=True)
    root = write_ljspeech(tmp_path / "lj", ("Yes.", "Why not?")).rename(folder / "lj")
    if name == b"\xff\xfe":
        # From the system's bytes, once: to start Python takes a second.
        command = [sys.executable, "-m", "tts_prep", "ljspeech", root, folder / "s", "--jobs", "1"]
        done = subprocess.run(command, capture_output=True, text=True)
        # A busy machine may print a line of progress.
        assert (done.returncode, [line for line in done.stderr.splitlines() if "real time" not in line]) == (0, [])
    else:
        status, _, err = run(capsys, "ljspeech", root, folder / "s", "--jobs", 1)
        assert (status, err) == (0, "")
    status, _, err = run(capsys, "verify", folder / "s")
    assert (status, err) == (0, "")
    assert len(UtteranceDataset(folder / "s", verify=True)) == 2
    status, _, err = run(capsys, "info", folder / "nowhere")
    assert (status, err.count("\n")) == (1, 1)
