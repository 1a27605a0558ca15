"""Commands in restricted environments work, or end with a one-line error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run

from tts_prep.cli import interruption
from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.configuration.records import fused_multiply_add

DROPPED = """
import os, signal, sys, time
import tts_prep.preprocess.make.resuming as finish

class Dropper:
    def __del__(self):
        os.kill(os.getpid(), signal.Signals[sys.argv[1]])
        time.sleep(0.1)  # the exception comes up here, and Python drops it

def finish_store(*arguments, **options):
    Dropper()
    time.sleep(600)

finish.finish_store = finish_store
from tts_prep.cli.main import main
main(["finish", "store"])
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_whose_exception_python_drops_ends_the_command_with_the_status_of_the_signal(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", DROPPED, name], capture_output=True, text=True, timeout=120)
    assert done.returncode == 128 + signal.Signals[name]
    # click ends the line in which a terminal shows ^C.
    assert done.stderr.lstrip() == "tts-prep: error: interrupted; run the same command again to resume\n"


CONVERTED = """
import os, signal, time

def read(root):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(20)
    except KeyboardInterrupt as error:
        # As Python does if HDF5 calls back a second time, after the first callback was interrupted.
        raise SystemError("a function returned a result with an exception set") from error
"""


@pytest.mark.whole
def test_a_signal_whose_exception_a_library_converts_is_an_interruption(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / f"{tmp_path.name}.py").write_text(CONVERTED, "utf-8")
    monkeypatch.chdir(tmp_path)
    options = ("--corpus", tmp_path, "--feature", "energy", "--reader", f"{tmp_path.name}:read", "--jobs", 1)
    status, _, err = run(capsys, "add", store, *options)
    assert (status, err) == (143, "tts-prep: error: interrupted; run the same command again to resume\n")


UNRELATED = """
import os, signal
os.kill(os.getpid(), signal.SIGTERM)
import no_such_module
"""


@pytest.mark.whole
def test_an_error_after_a_signal_that_the_signal_did_not_cause_is_shown(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The import would be interrupted after this time, if it did not fail before.
    monkeypatch.setattr(interruption, "_AGAIN", 10.0)
    (tmp_path / f"{tmp_path.name}.py").write_text(UNRELATED, "utf-8")
    monkeypatch.chdir(tmp_path)
    options = ("--corpus", tmp_path, "--feature", "energy", "--reader", f"{tmp_path.name}:read")
    status, _, err = run(capsys, "add", store, *options)
    assert status == 2
    assert "cannot be loaded (No module named 'no_such_module')" in err


FAULT = """
import errno, os, signal, time

def read(root):
    try:
        raise OSError(errno.ENOENT, "No such file or directory", "before")
    except OSError:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(20)
        finally:
            {cleaning_up}
"""


@pytest.mark.whole
@pytest.mark.parametrize(
    ("cleaning_up", "then"),
    [
        ("pass", ""),
        ('raise OSError(errno.EIO, "Input/output error", "scratch")', ", and then: scratch: Input/output error"),
    ],
)
def test_a_fault_of_the_system_after_an_interruption_is_shown_with_it(
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cleaning_up: str,
    then: str,
) -> None:
    (tmp_path / f"{tmp_path.name}.py").write_text(FAULT.format(cleaning_up=cleaning_up), "utf-8")
    monkeypatch.chdir(tmp_path)
    options = ("--corpus", tmp_path, "--feature", "energy", "--reader", f"{tmp_path.name}:read", "--jobs", 1)
    status, _, err = run(capsys, "add", store, *options)
    # click ends the line in which a terminal shows ^C.
    expected = f"tts-prep: error: interrupted{then}; run the same command again to resume\n"
    assert (status, err.lstrip()) == (143, expected)


@pytest.mark.whole
@pytest.mark.parametrize(("longest", "seconds", "is_completed"), [(60, 0.05, True), (0.1, 60, False)])
def test_a_signal_during_an_import_ends_the_command_after_the_import_or_its_longest_time(
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    longest: float,
    seconds: float,
    is_completed: bool,
) -> None:
    monkeypatch.setattr(interruption, "_MAX_IMPORT", longest)
    module = f"""
import os, pathlib, signal, time
os.kill(os.getpid(), signal.SIGTERM)
time.sleep({seconds})
pathlib.Path("completed").touch()

def read(*_, **__):
    time.sleep(60)  # The exception comes a moment after the import; an error before it would have another cause.
"""
    (tmp_path / f"{tmp_path.name}.py").write_text(module, "utf-8")
    monkeypatch.chdir(tmp_path)
    options = ("--corpus", tmp_path, "--feature", "energy", "--reader", f"{tmp_path.name}:read", "--jobs", 1)
    status, _, err = run(capsys, "add", store, *options)
    # click ends the line in which a terminal shows ^C.
    assert (status, err.lstrip()) == (143, "tts-prep: error: interrupted; run the same command again to resume\n")
    assert (tmp_path / "completed").exists() == is_completed


def test_closed_standard_streams_are_no_trouble(corpus: Path, tmp_path: Path) -> None:
    command = f"'{sys.executable}' -m tts_prep ljspeech '{corpus}' '{tmp_path / 'store'}' --jobs 1 --limit 2"
    done = subprocess.run(["sh", "-c", f"{command} <&- >&- 2>&-"], timeout=120)
    assert done.returncode == 0
    assert (tmp_path / "store/manifest.json").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = " + "[" * 5000 + "]" * 5000, "not TOML"),
        ("[audio]\nn_fft = " + "9" * 5000, "not TOML"),
        ("[audio]\nn_fft = " + "9" * 400, "n_fft: a number of "),
        ("[audio]\nfmax = " + "9" * 400, "fmax: a number of "),
        ("[audio]\nn_fft = [[[[1]]]]", "n_fft: expected int, found a value of type list"),
    ],
)
def test_deep_and_huge_settings_are_refused_in_one_short_line(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "c.toml").write_text(text)
    status, _, err = run(capsys, "ljspeech", corpus, tmp_path / "store", "--config", tmp_path / "c.toml")
    assert (status, message in err, err.count("\n")) == (2, True, 1), err
    assert len(err) < 500


@pytest.mark.soak
@pytest.mark.parametrize("keep", [0, 40])
def test_a_run_with_an_empty_or_truncated_compiler_cache_makes_the_store(
    corpus: Path, tmp_path: Path, keep: int
) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "tts_prep", "ljspeech", str(corpus), str(tmp_path / "store"), "--overwrite"]
    subprocess.run([*command, "--jobs", "1"], check=True, env=environment)
    files = [path for path in (tmp_path / "cache").rglob("*.o") if path.is_file()]
    assert files
    for jobs in ("1", "2"):
        for path in files:
            path.write_bytes(path.read_bytes()[:keep])
        done = subprocess.run([*command, "--jobs", jobs], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_whether_products_and_sums_are_fused_is_what_the_compiler_does(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    @numba.njit(fastmath={"contract"})
    def product_and_sum(a: float, b: float, c: float) -> float:
        return a * b + c

    x = 1 + 2.0**-30
    # Rounded once, the square of 2⁻³⁰ stays; rounded twice, it is lost.
    fused = product_and_sum(x, x, -1 - 2.0**-29) != 0
    assert fused_multiply_add() == ("yes" if fused else "no")
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert fused_multiply_add() == "no"


def test_a_shard_is_not_made_where_products_and_sums_are_rounded_otherwise(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.preprocess.make.shards.fused_multiply_add", lambda: "perhaps")
    status, _, err = run(capsys, "ljspeech", corpus, tmp_path / "store", "--jobs", 1)
    assert (status, "fused multiply-add: perhaps on this worker's processor" in err) == (1, True)


def test_a_file_system_that_flushes_no_folders_is_no_trouble(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def files_only(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").resolve().is_dir():
            raise OSError(22, os.strerror(22))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", files_only)
    status, _, err = run(capsys, "ljspeech", corpus, tmp_path / "store", "--jobs", 1, "--limit", 2)
    assert status == 0, err


@pytest.mark.whole
@pytest.mark.parametrize(("command", "hint"), [("info", ""), ("add --feature energy", "; use fewer --jobs")])
def test_a_lack_of_memory_is_one_line_with_options_that_the_command_has(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, hint: str
) -> None:
    def read_manifest(store: Path) -> None:
        raise MemoryError

    monkeypatch.setattr("tts_prep.format.records.manifest.read_manifest", read_manifest)
    status, _, err = run(capsys, *command.split(), "store")
    assert (status, err) == (1, f"tts-prep: error: out of memory{hint}\n")


@pytest.mark.whole
@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)),
        "a0: xxxxxxxxx\n" + "".join(f"a{i}: !ref {f'<a{i - 1}>' * 9}\n" for i in range(1, 30)),
        "a: " + "[" * 3000 + "]" * 3000 + "\n",
        "a: " + "9" * 5000 + "\n",
        "a: 2024-99-99\n",
    ],
    ids=["aliases", "references", "depth", "digits", "date"],
)
def test_yaml_that_stands_for_more_than_it_is_or_is_none_is_refused(text: str) -> None:
    from tts_prep.recipes.speechain.configuration import read_yaml

    with pytest.raises(ConfigurationError) as error:
        read_yaml(text + "b: 1\n")
    assert len(str(error.value)) < 500


def test_processes_that_are_forked_in_the_course_of_a_command_end_by_sigterm_at_once() -> None:
    # With a handler of Python, a signal just before a wait in C code would not end the wait.
    code = """
import os, signal
from tts_prep.cli import interruption
with interruption.ending_in_order():
    own = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    if not (child := os.fork()):
        here = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
        os._exit(0 if here == [signal.SIG_DFL, signal.SIG_DFL] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert signal.SIG_DFL not in own
    assert own == [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
