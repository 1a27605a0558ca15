from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from commands import run
from corpora import TEXTS
from killing import contents
from stores import make_rows, write_store

from tts_prep import doors
from tts_prep.cli.main import cli
from tts_prep.cli.output import make_progress
from tts_prep.cli.preparing import summary
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.mel import COMPILING
from tts_prep.preprocess.run import Result
from tts_prep.progress import Progress
from tts_prep.quantities import bytes_text, duration_text

DEFAULT_PRESET = "preset: parakeet (the default; a vocoder needs its own, see 'tts-prep presets')"


def test_the_first_line_says_that_the_preset_is_the_default_unless_one_was_chosen(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('preset = "hifigan"\n', encoding="utf-8")
    (tmp_path / "bins.toml").write_text("[audio]\nn_mels = 40\n", encoding="utf-8")
    (tmp_path / "texts.toml").write_text('[text]\nlanguage = "en-gb"\n', encoding="utf-8")
    for options, expected in {
        ("--sample-rate", "16000"): f"; {DEFAULT_PRESET};",
        ("--config", tmp_path / "texts.toml"): f"; {DEFAULT_PRESET};",
        ("--preset", "parakeet"): "; preset: parakeet;",
        ("--config", file): "; preset: hifigan;",
        ("--config", tmp_path / "bins.toml"): "; preset: parakeet;",
    }.items():
        make = ("ljspeech", corpus, tmp_path / "store", "--jobs", 1, "--limit", 1, "--overwrite")
        _, out, _ = run(capsys, *make, *options)
        assert expected in out.splitlines()[0], options


def test_a_corpus_becomes_a_store_and_the_closing_lines_say_so(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    status, out, err = run(capsys, "ljspeech", corpus, tmp_path / "store", "--jobs", 1)
    assert (status, err) == (0, "")
    understood, rows, first, second = out.splitlines()
    lacks = "--marks: no part of this installation; install all of tts-prep"
    stay = "" if doors.row("words", "marks") else f"; marks such as <b> stay ({lacks})"
    assert understood == f"corpus: ljspeech {corpus}; {DEFAULT_PRESET}; frontend: espeak, language en-us{stay}"
    assert rows == f"rows: {len(TEXTS)}"
    assert first.startswith(f"{tmp_path / 'store'}: {len(TEXTS)} utterances, ")
    assert "× real time" in second
    status, out, _ = run(capsys, "ljspeech", corpus, tmp_path / "store", "--jobs", 1)
    assert (status, out.splitlines()[1]) == (0, "the store was already complete; nothing was made")


def test_what_was_left_out_is_the_last_line(
    capsys: pytest.CaptureFixture[str], own_corpus: Path, tmp_path: Path
) -> None:
    (own_corpus / "wavs" / "S-0002.wav").unlink()
    status, out, _ = run(capsys, "ljspeech", own_corpus, tmp_path / "store", "--jobs", 1, "--max-failures", 1)
    assert status == 0
    assert out.splitlines()[-1].startswith("failed: 1 row of the corpus (audio 1), listed in ")
    assert "S-0002.wav: no such file" in out


def test_too_many_failures_are_exit_status_1(
    capsys: pytest.CaptureFixture[str], own_corpus: Path, tmp_path: Path
) -> None:
    (own_corpus / "wavs" / "S-0002.wav").unlink()
    status, out, err = run(capsys, "ljspeech", own_corpus, tmp_path / "store", "--jobs", 1, "--max-failures", 0)
    assert (status, out.splitlines()[1:]) == (1, ["rows: 7"])
    assert err.startswith("tts-prep: error: 1 of 7 rows failed so far, more than --max-failures 0 allows")
    assert err.count("\n") == 1


@pytest.mark.whole
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["ljspeech"], 2, "Missing argument 'CORPUS'; see 'tts-prep ljspeech --help'"),
        (["ljspeech", "nowhere", "store"], 1, "nowhere: no such folder; expected an LJ Speech corpus"),
        (["ljspeech", "nowhere", "store", "--jobs", "0"], 2, "Invalid value for '--jobs'"),
        (
            ["ljspeech", "nowhere", "store", "--preset", "x"],
            2,
            "preset: unknown preset 'x'; 'tts-prep presets' lists them",
        ),
        (["ljspeech", "nowhere", "store", "--frontend", "x"], 2, "frontend: expected one of espeak"),
        (["ljspeech", "nowhere", "store", "--max-failures", "x"], 2, "max-failures: expected a number such as 20"),
        (["ljspeech", "nowhere", "store", "--colour"], 2, "No such option"),
        (["lsjpeech"], 2, "No such command 'lsjpeech'"),
        (["info", "nowhere"], 1, "nowhere: no such folder; expected a store made by tts-prep"),
        (["verify", "nowhere"], 1, "nowhere: no such folder; expected a store made by tts-prep"),
    ],
)
def test_a_fault_is_one_line_on_stderr_and_an_exit_status(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    status: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    found, out, err = run(capsys, *arguments)
    assert (found, out) == (status, "")
    assert err.startswith("tts-prep: error: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.whole
def test_debug_adds_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "info", "nowhere", "--debug")
    assert status == 1
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("tts-prep: error: nowhere")


@pytest.mark.whole
def test_info_says_what_is_in_a_store(capsys: pytest.CaptureFixture[str], store: Path) -> None:
    status, out, _ = run(capsys, "info", store)
    assert status == 0
    assert f"utterances  {len(TEXTS)}, " in out
    status, out, _ = run(capsys, "info", store, "--json")
    value = json.loads(out)
    assert value["totals"]["utterances"] == len(TEXTS)
    assert value["bytes"] == sum(map(len, contents(store).values())) - (store / "manifest.json").stat().st_size


@pytest.mark.whole
def test_verify_accepts_a_good_store_and_names_every_changed_file(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    run(capsys, "ljspeech", corpus, store, "--jobs", 1, "--shard-utterances", 1)
    assert run(capsys, "verify", store)[0] == 0
    shard = bytearray((store / "shards/00001.h5").read_bytes())
    shard[len(shard) // 2] ^= 1
    (store / "shards/00001.h5").write_bytes(shard)
    (store / "shards/00002.h5").unlink()
    (store / "index.h5").write_bytes((store / "index.h5").read_bytes()[:-1])
    status, out, err = run(capsys, "verify", store)
    assert status == 1
    assert [line.split(":")[0] for line in out.splitlines()] == ["index.h5", "shards/00001.h5", "shards/00002.h5"]
    assert "3 of 11 files are broken; 'tts-prep verify" in err


def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for name in cli.commands:
        status, out, _ = run(capsys, name, "--help")
        assert status == 0
        assert "Example:" in out or "Examples:" in out, name
        assert re.search(rf"\n    tts-prep {name}\b", out)
        assert "\\b" not in out
        # Examples and tables are not wrapped.
        shown = {line.strip() for line in out.splitlines()}
        for unwrapped in re.findall(r"\x08\n(.*?)(?:\n\s*\n|$)", cli.commands[name].help or "", re.DOTALL):
            assert {line.strip() for line in unwrapped.splitlines()} <= shown, name


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "tts_prep", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("tts-prep ")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(7.44, "7.4 s"), (59.94, "59.9 s"), (60, "1 min 0 s"), (723, "12 min 3 s"), (86100, "23 h 55 min")],
)
def test_durations_are_readable(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2.44e9, "2.4 GB")])
def test_sizes_are_readable(size: float, text: str) -> None:
    assert bytes_text(size) == text


@pytest.mark.whole
def test_presets_are_listed_and_one_is_described_as_a_file_of_settings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from tts_prep.preprocess.audio.presets import PRESETS
    from tts_prep.preprocess.configuration.settings import configure

    _, out, _ = run(capsys, "presets")
    rows = dict(line.split(maxsplit=1) for line in out.splitlines()[1:])
    assert list(rows) == list(PRESETS)
    # No two are described alike, but for those that say so.
    assert len(set(rows.values()) - {"as hifigan", "as tacotron2", "as vocos"}) == len(PRESETS) - 5
    assert rows["hifigan"].endswith("0–8000     framing hifigan, peak 0.95, power_offset 1e-09, channel first")
    for name, config in PRESETS.items():
        _, out, _ = run(capsys, "presets", name)
        assert out.startswith("# ")
        # Without its first setting the file still says everything.
        (tmp_path / "all.toml").write_text(out.replace(f'preset = "{name}"', 'preset = "coqui"'), encoding="utf-8")
        found = configure("ljspeech", file=tmp_path / "all.toml").as_dict()["audio"]
        assert found == {**configure("ljspeech", preset=name).as_dict()["audio"]}, config


@pytest.mark.whole
def test_two_presets_are_described_by_where_they_differ(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "presets", "cosyvoice2", "chatterbox")
    assert (status, [line.split() for line in out.splitlines()]) == (
        0,
        [
            ["cosyvoice2", "chatterbox"],
            ["audio.peak", "1.0", '"none"'],
            ["audio.peak_mode", '"limit"', '"scale"'],
            ["audio.length_multiple", "960", "1"],
            ["audio.resampler", '"torchaudio"', '"soxr_hq"'],
        ],
    )
    _, out, _ = run(capsys, "presets", "styletts2", "tacotron2")
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[1:]}
    assert rows["audio.sample_rate"] == ["24000", "22050"]
    assert rows["audio.compression.floor_mode"] == ['"add"', '"max"']
    assert rows["text.punctuation"] == ['"separate"']
    assert "audio.n_mels" not in rows
    assert run(capsys, "presets", "tacotron2", "fastpitch")[1] == "tacotron2 and fastpitch have the same settings\n"
    status, _, err = run(capsys, "presets", "a", "b", "c")
    assert (status, "expected at most two presets, found 3" in err) == (2, True)


@pytest.mark.whole
def test_settings_of_the_command_line_reach_the_store(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    options = "--preset hifigan --n-mels 40 --fmax 7000 --dtype float16 --waveform int16 --channel mean --trim-db 60"
    status, _, err = run(capsys, "ljspeech", corpus, tmp_path / "store", "--jobs", 1, *options.split())
    assert (status, err) == (0, "")
    value = json.loads((tmp_path / "store/manifest.json").read_text(encoding="utf-8"))
    audio = value["configuration"]["audio"]
    assert (audio["framing"], audio["n_mels"], audio["fmax"], audio["channel"]) == (*("hifigan", 40, 7000.0, "mean"),)
    assert value["configuration"]["cleaning"]["trim_db"] == 60
    assert {name: array["dtype"] for name, array in value["arrays"].items()} == {
        "mel": "float16",
        "phonemes": "int32",
        "waveform": "int16",
    }
    assert value["configuration"]["preset"] == "hifigan"
    _, out, _ = run(capsys, "info", tmp_path / "store")
    assert "\npreset      hifigan; " in out


@pytest.mark.whole
def test_mel_bins_without_a_frequency_are_noted(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    import librosa

    with pytest.warns(UserWarning, match="Empty filters detected"):
        filters = librosa.filters.mel(sr=22050, n_fft=256, n_mels=80, fmin=0, fmax=8000)
    n_empty = int((filters.max(1) == 0).sum())
    options = ("--frontend", "characters", "--jobs", 1, "--n-fft", 256, "--win-length", 256)
    _, out, _ = run(capsys, "ljspeech", corpus, tmp_path / "store", *options)
    assert f"\nnote: {n_empty} of 80 mel bins contain no frequency of n_fft 256" in out
    _, out, _ = run(capsys, "ljspeech", corpus, tmp_path / "other", *options, "--n-mels", 40)
    assert "note: " not in out


@pytest.mark.whole
@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["lsjpeech"], "Did you mean 'ljspeech'? See 'tts-prep --help'"),
        (["ljspeech", "a", "b", "--overwrit"], "Did you mean '--overwrite'? See 'tts-prep ljspeech --help'"),
        (["ljspeech", "a", "b", "--preset", "hifgan"], "did you mean 'hifigan'?"),
        (["ljspeech", "a", "b", "--frontend", "espaek"], "did you mean 'espeak'?"),
        (["presets", "bigvgan-24k"], "did you mean 'bigvgan-24k-100'?"),
    ],
)
def test_a_mistyped_name_gets_a_suggestion_in_the_same_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert err.endswith(f"{hint}\n")
    assert err.count("\n") == 1


@pytest.mark.whole
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("tts-prep rep", {"plain,report"}),
        (
            "tts-prep ljspeech --preset bigvgan-2",
            {"plain,bigvgan-22k-80", "plain,bigvgan-22k-80-fmax8k", "plain,bigvgan-24k-100"},
        ),
        ("tts-prep presets vo", {"plain,vocos"}),
    ],
)
def test_a_shell_can_complete_commands_and_presets(words: str, expected: set[str]) -> None:
    variables = {"_TTS_PREP_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        [sys.executable, "-m", "tts_prep"], capture_output=True, text=True, env={**os.environ, **variables}
    )
    assert set(done.stdout.split()) == expected


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_with_the_total_from_the_first_moment() -> None:
    stream = Terminal()
    with make_progress(stream) as show:
        show(Progress(0, 1_310, 0.0, 0, 0.0))
        assert stream.getvalue().startswith("\r  0%|")
        assert "0/1310" in stream.getvalue()
        show(Progress(0, 1_310, 0.0, 0, 0.0, under_way=20, under_way_seconds=121.0))
        assert "20/1310" in stream.getvalue()
        assert "2 min 1 s of audio" in stream.getvalue()
        show(Progress(655, 1_310, 4_300.0, 2, 4_300.0))
        assert "655/1310" in stream.getvalue()
        assert "1 h 11 min of audio" in stream.getvalue()
        assert "2 failed" in stream.getvalue()


def test_the_bar_and_its_text_fit_a_terminal_of_80_columns() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def line_with(text: str) -> str:
        shown = b""
        while text not in (lines := shown.decode(errors="ignore")):
            assert select.select([ours], [], [], 10)[0], lines
            shown += os.read(ours, 10_000)
        return lines.split("\r")[-1]

    with open(theirs, "w", encoding="utf-8") as stream, make_progress(stream) as show:
        show(Progress(0, 13_100, 0.0, 0, 0.0, step=COMPILING))
        compiling = line_with("once per installation]")
        show(Progress(6_550, 13_100, 43_000.0, 0, 0.0))
        running = line_with("11 h 56 min of audio, 0 × real time]")
        show(Progress(6_562, 13_100, 43_000.0, 12, 0.0))
        line_with("12 failed, 11 h 56 min of audio")
    os.close(ours)
    assert max(len(compiling), len(running)) < 80
    assert "|█" in running


def test_a_terminal_shows_what_a_run_does_before_its_first_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    with make_progress(stream) as show:
        show(Progress(0, 20, 0.0, 0, 0.0))
        show(Progress(0, 20, 0.0, 0, 0.0, step="compiling"))
        show(Progress(0, 20, 0.0, 0, 0.0))
        show(Progress(20, 20, 60.0, 0, 60.0))
    shown = re.findall("starting|compiling|real time", stream.getvalue())
    assert [text for text, before in zip(shown, ["", *shown], strict=False) if text != before] == [
        *("starting", "compiling", "starting", "real time")
    ]


class WithoutTqdm:
    """A finder that finds all but tqdm."""

    def __init__(self, finder: Any) -> None:
        self.finder = finder

    def find_spec(self, name: str, *place: Any) -> Any:
        return None if name == "tqdm" else self.finder.find_spec(name, *place)


@pytest.mark.whole
@pytest.mark.parametrize("command", ["check", "report"])
def test_a_terminal_shows_how_far_measures_are_with_a_bar_if_there_is_tqdm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    store = write_store(tmp_path / "store", make_rows([5, 6]))
    options = ("-o", tmp_path / "page.html") if command == "report" else ()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    status, out, err = run(capsys, command, store, *options)
    assert status == 0
    assert re.search(r"0/2 \[.*loading the measures.*2/2 \[.*comparing", err, re.DOTALL)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys, "meta_path", [WithoutTqdm(finder) for finder in sys.meta_path])
    for name in [name for name in sys.modules if name.partition(".")[0] == "tqdm"]:
        monkeypatch.delitem(sys.modules, name)
    assert run(capsys, command, store, *options) == (0, out, "")


def test_a_bar_is_redrawn_while_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tts_prep.cli.output._CLOCK_INTERVAL", 0.001)
    stream = Terminal()
    with make_progress(stream) as show:
        show(Progress(0, 20, 0.0, 0, 0.0, step="compiling"))
        deadline = time.monotonic() + 60
        while stream.getvalue().count("0/20 [") < 10 and time.monotonic() < deadline:
            time.sleep(0.001)
    assert stream.getvalue().count("0/20 [") >= 10
    # Others, such as the monitor of tqdm, stay.
    assert "progress bar" not in [thread.name for thread in threading.enumerate()]


def test_a_pipe_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    now = 100.0
    monkeypatch.setattr("tts_prep.cli.output._PLAIN_INTERVAL", 10.0)
    monkeypatch.setattr("tts_prep.cli.output.time.monotonic", lambda: now)
    with make_progress(stream) as show:
        show(Progress(0, 1_310, 0.0, 0, 0.0))
        now = 109.0
        show(Progress(100, 1_310, 700.0, 0, 700.0))
        assert stream.getvalue() == ""
        now = 111.0
        show(Progress(655, 1_310, 4_300.0, 0, 1_100.0))
        now = 122.0
        show(Progress(700, 1_310, 4_600.0, 0, 1_400.0, compiling=8.0))
    # Of what was there before this run began, only the amount counts, not the speed; what compiling took does not.
    assert stream.getvalue() == (
        "655 of 1,310 utterances, 1 h 11 min of audio, 100 × real time\n"
        "700 of 1,310 utterances, 1 h 16 min of audio, 100 × real time\n"
    )


def test_the_speed_of_a_first_run_is_that_of_the_next_ones(store: Path) -> None:
    manifest = read_manifest(store)
    shards, seconds = manifest.totals["shards"], manifest.totals["seconds"]
    result = Result(store, manifest, shards, shards, 0, seconds, compiling=5.0)
    line = summary(result, 7.0)[1]
    assert line.startswith(f"made in 2.0 s, {seconds / 2:,.0f} × real time; before that, the mel kernel was compiled")
    assert line.endswith("in 5.0 s")


@pytest.mark.whole
def test_info_folds_its_lines_to_a_terminal_and_fits_a_screen(
    capsys: pytest.CaptureFixture[str], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(capsys, "info", store)
    lines = [click.unstyle(line) for line in out.splitlines()]
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


@pytest.mark.whole
def test_info_separates_a_long_name_of_an_array_from_its_line(
    capsys: pytest.CaptureFixture[str], store: Path, tmp_path: Path
) -> None:
    shutil.copytree(store, tmp_path / "store")
    ids = list(UtteranceDataset(store).id)
    np.savez(tmp_path / "vectors.npz", **{name: np.zeros(4, np.float32) for name in ids})
    source = tmp_path / "vectors.npz"
    status, _, err = run(capsys, "add", tmp_path / "store", "--array", f"speaker_vector@utterance={source}")
    assert (status, err) == (0, "")
    assert "\nspeaker_vector float32 × 4 by utterance" in run(capsys, "info", tmp_path / "store")[1]


@pytest.mark.whole
def test_one_file_is_counted_in_the_singular(capsys: pytest.CaptureFixture[str], store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "webdataset"
    assert run(capsys, "export", store, folder, "--to", "webdataset")[1].startswith(f"{folder}: 1 file in the layout")
