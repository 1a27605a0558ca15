"""Every type of invalid recording is one failed row."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import soundfile
from commands import run
from corpora import speech_like, write_ljspeech
from recordings import headerless_mp3, recording

from tts_prep.corpora.transcripts import read_transcript
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.configuration.records import OodConfig
from tts_prep.preprocess.configuration.settings import configure, read_config_file
from tts_prep.preprocess.corpora.lines import read_lines, split_checksums
from tts_prep.preprocess.make import recordings
from tts_prep.symbols.file import read_symbols

Capture: TypeAlias = "pytest.CaptureFixture[str]"
PLAIN = ("--jobs", 1, "--frontend", "characters")


def bad_recordings() -> dict[str, tuple[bytes, str]]:
    """Return name → contents and part of the reason."""
    flac = recording("flac")
    huge = flac[:21] + bytes([flac[21] | 0x0F]) + b"\xff" * 4 + flac[26:50]
    slow = recording("wav")
    return {
        "huge": (huge, "cannot hold the 68,719,476,735 samples it claims"),
        "slow": (slow[:24] + b"\1\0\0\0" + slow[28:], "a sample rate of 1 Hz"),
        "cut": (recording("opus")[:-500], "truncated"),
        "rotten": (headerless_mp3()[0][:5000] + b"rotten" * 50, "damaged|truncated"),
        "two": (flac + flac, "another recording begins"),
    }


def test_a_recording_that_needs_more_memory_than_there_is_costs_one_row(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_ljspeech(tmp_path / "lj", ("Yes.", "No.", "Yes."))
    read_utterance = recordings.read_utterance

    def lack_memory(root: Path, utterance: Any, *rest: Any, **options: Any) -> Any:
        if utterance.id == "S-0002":
            raise MemoryError
        return read_utterance(root, utterance, *rest, **options)

    monkeypatch.setattr(recordings, "read_utterance", lack_memory)
    status, _, err = run(capsys, "ljspeech", root, tmp_path / "s", *PLAIN, "--max-failures", 1)
    assert (status, "Traceback" in err) == (0, False)
    (failure,) = map(json.loads, (tmp_path / "s/failures.jsonl").read_text().splitlines())
    assert (failure["id"], failure["stage"]) == ("S-0002", "audio")
    assert failure["reason"] == "wavs/S-0002.wav: needs more memory than is available"
    assert len(UtteranceDataset(tmp_path / "s")) == 2


def test_each_bad_recording_costs_one_row(tmp_path: Path, capsys: Capture) -> None:
    root = write_ljspeech(tmp_path / "lj", ("Yes.", "No."))
    bad = bad_recordings()
    for name, (data, _) in bad.items():
        (root / f"wavs/{name}.wav").write_bytes(data)
    os.mkfifo(root / "wavs/pipe.wav")
    loud = speech_like(0.3, 1)
    loud[1000] = 1e37
    soundfile.write(root / "wavs/loud.wav", loud, 22050, "FLOAT")
    reasons = {name: reason for name, (_, reason) in bad.items()} | {"pipe": "a named pipe", "loud": "full scale"}
    with (root / "metadata.csv").open("a") as file:
        file.writelines(f"{name}|raw|Text.\n" for name in reasons)
    status, _, err = run(capsys, "ljspeech", root, tmp_path / "s", *PLAIN, "--max-failures", 20)
    assert (status, "Traceback" in err) == (0, False)
    failures = [json.loads(line) for line in (tmp_path / "s/failures.jsonl").read_text().splitlines()]
    assert [failure["id"] for failure in failures] == list(reasons)
    for failure, reason in zip(failures, reasons.values(), strict=True):
        assert re.search(reason, failure["reason"])
    assert list(UtteranceDataset(tmp_path / "s", verify=True).id) == ["S-0000", "S-0001"]


def test_settings_that_overflow_cost_rows_and_not_the_statistics(tmp_path: Path, capsys: Capture) -> None:
    root = write_ljspeech(tmp_path / "lj", ("Yes.",))
    for number, (setting, reason) in enumerate(
        [("peak=1e38", "NaN or infinite values"), ("compression.scale=1e6", "do not fit into float16")]
    ):
        config = tmp_path / f"{number}.toml"
        name, _, value = setting.rpartition(".") if "." in setting else ("", "", setting)
        config.write_text(f"[audio{'.' + name if name else ''}]\n{value.replace('=', ' = ')}\n")
        store = tmp_path / f"s{number}"
        run(capsys, "ljspeech", root, store, *PLAIN, "--config", config, "--dtype", "float16")
        assert reason in (store / "failures.jsonl").read_text()


@pytest.mark.parametrize("setting", ["n_fft", "sample_rate", "n_mels", "edge_zeros"])
def test_settings_beyond_all_reason_are_refused(setting: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{setting}: expected at most .*, found 1,099,511,627,776"):
        MelConfig(**{setting: 2**40})
    with pytest.raises(ConfigurationError, match=setting):
        configure("ljspeech", settings={"audio": {setting: 2**40}})


def test_coqui_gives_float32_from_float16_as_all_presets_do(tmp_path: Path, capsys: Capture) -> None:
    root = write_ljspeech(tmp_path / "lj", ("Yes.",))
    for dtype in ("float16", "float32"):
        run(capsys, "ljspeech", root, tmp_path / dtype, *PLAIN, "--preset", "coqui", "--dtype", dtype)
    half, single = (UtteranceDataset(tmp_path / dtype)[0].mel for dtype in ("float16", "float32"))
    assert half.dtype == single.dtype == np.float32
    np.testing.assert_allclose(half, single, atol=2**-9)


def test_lists_texts_and_settings_must_be_regular_files(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(CorpusError, match="found a named pipe"):
        next(read_lines(pipe))
    assert "found a named pipe" in read_transcript(tmp_path, "pipe", "a").reason  # type: ignore[union-attr]
    for reading in (read_symbols, read_config_file, OodConfig.of):
        with pytest.raises(ConfigurationError, match="found a named pipe"):
            reading(pipe)
    with pytest.raises(ConfigurationError, match="found a named pipe"):
        split_checksums({"valid": pipe})
