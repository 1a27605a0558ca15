"""The compiled kernel and the one without a compiler, compared with numpy's float64 transform."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import librosa
import numpy as np
import pytest
from corpora import speech_like

from tts_prep.compiler import one_process_at_a_time
from tts_prep.format.files.temporary import holding_temporary_files
from tts_prep.preprocess.audio import mel
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.audio.simd import machine_code
from tts_prep.preprocess.audio.simd.tables import tables

# Powers of two, each radix, a sum over 19 and 29, a convolution (1094 is twice a prime), and small ones.
LENGTHS = [6, 14, 32, 60, 90, 400, 480, 512, 960, 1094, 1102, 1200, 1920]


@pytest.fixture(params=["compiled", "plain"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "plain":
        monkeypatch.setattr(mel, "compiled_kernel", lambda: None)
    return str(request.param)


def recipe(n_fft: int) -> MelConfig:
    return MelConfig(
        n_fft=n_fft, win_length=n_fft, hop_length=max(1, n_fft // 4), n_mels=min(40, n_fft // 4), fmax=11025
    )


def spectra(x: np.ndarray, config: MelConfig) -> np.ndarray:
    n_fft, hop = config.n_fft, config.hop_length
    padded = np.pad(x.astype(np.float64), n_fft // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, n_fft)[::hop]
    return np.fft.rfft(frames * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n_fft) / n_fft)))


def expected(x: np.ndarray, config: MelConfig) -> np.ndarray:
    power = np.abs(spectra(x, config)) ** 2 + config.power_offset
    bank = librosa.filters.mel(
        sr=22050, n_fft=config.n_fft, n_mels=config.n_mels, fmin=0, fmax=config.fmax, dtype=np.float64
    )
    return np.log(np.maximum(power ** (config.power / 2) @ bank.T, 1e-5))


@pytest.mark.parametrize("n_fft", LENGTHS)
@pytest.mark.filterwarnings("ignore:Empty filters detected")
def test_every_n_fft_gives_the_mel_of_a_float64_transform(kernel: str, n_fft: int) -> None:
    config = recipe(n_fft)
    x = speech_like(0.4, n_fft)[: 3 * n_fft + 7].astype(np.float32)
    found, energy = MelExtractor(config).with_energy(x)
    np.testing.assert_array_equal(found, MelExtractor(config)(x))
    np.testing.assert_allclose(energy, np.linalg.norm(spectra(x, config), axis=1), rtol=1e-6)
    assert found.shape == (1 + len(x) // config.hop_length, config.n_mels)
    np.testing.assert_allclose(found, expected(x, config), rtol=0, atol=2e-6)


@pytest.mark.parametrize("setting", [{"power": 2}, {"power_offset": 1e-3}, {"peak": 0.5}])
def test_both_kernels_give_the_same_with_every_setting(
    monkeypatch: pytest.MonkeyPatch, setting: dict[str, float]
) -> None:
    config = replace(recipe(400), **setting)  # type: ignore[arg-type]
    x = speech_like(0.5, 3).astype(np.float32)
    compiled = MelExtractor(config)(x)
    monkeypatch.setattr(mel, "compiled_kernel", lambda: None)
    np.testing.assert_allclose(MelExtractor(config)(x), compiled, rtol=0, atol=2e-6)


def test_moments_are_numpys(kernel: str) -> None:
    values = np.random.default_rng(0).normal(-5, 2, (300, 80)).astype(np.float32)
    found = mel.mel_statistics(values)
    np.testing.assert_allclose(found.mean, values.astype(np.float64).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.m2, values.astype(np.float64).var(axis=0) * 300, rtol=1e-10)


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Return a folder for machine code, of which none is loaded."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(machine_code, "_loaded", {})
    mel.compiled_kernel.cache_clear()
    yield tmp_path / "tts-prep"
    mel.compiled_kernel.cache_clear()


def test_without_the_compiler_mels_are_made_all_the_same(tmp_path: Path) -> None:
    x = speech_like(0.5, 3).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    # As where numba does not know the version of Python.
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba/__init__.py").write_text("raise ImportError('Numba needs another Python')\n")
    code = """if True:
        import sys
        import numpy as np
        from tts_prep.preprocess.audio import mel
        from tts_prep.preprocess.audio.presets import PRESETS
        print(mel.compiled_kernel(), mel.compile_kernels(PRESETS["parakeet"]))
        np.save("plain.npy", mel.MelExtractor(PRESETS["parakeet"])(np.load("x.npy")))
    """
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        # There is no machine code either, which needs no compiler.
        env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "empty")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "None 0.0\n"
    assert mel.compiled_kernel() is not None
    compiled = MelExtractor(PRESETS["parakeet"])(x)
    np.testing.assert_allclose(compiled, np.load(tmp_path / "plain.npy"), rtol=0, atol=2e-6)


def test_machine_code_is_made_once_and_loaded_without_the_compiler(empty: Path) -> None:
    code = """if True:
        import sys
        import numpy as np
        from tts_prep.preprocess.audio import mel
        from tts_prep.preprocess.audio.presets import PRESETS
        notes = []
        seconds = mel.compile_kernels(PRESETS["parakeet"], notes.append)
        values = mel.mel_spectrogram(np.sin(np.arange(8000)), PRESETS["parakeet"])
        mel.mel_statistics(values)
        compiled = []
        if "numba" in sys.modules:
            from tts_prep.preprocess.audio.simd import fft, kernel
            functions = {**vars(fft), **vars(kernel)}
            compiled = [name for name, value in functions.items() if getattr(value, "signatures", None)]
        print(notes, seconds > 0, "numba" in sys.modules, "scipy" in sys.modules, float(values.sum()), sep="|")
        print(*compiled)
    """
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines() for _ in range(2)]
    first, second = (run[0].split("|") for run in runs)
    assert first[:3] == [str([mel.COMPILING, ""]), "True", "True"]
    assert second == ["[]", "False", "False", "False", first[4]]
    names = {*runs[0][1].split()}
    assert {"transform", "_radix_4", "_last_8", "_bin_moments"} <= names
    # 512 is a power of two, and no energies are made.
    others = {"convolve", "_split", "_radix_3", "_radix_5", "_odd_radix"}
    assert names.isdisjoint(others | {"_sum_of_squares", "_spectrum_norm"})


@cache
def code_of_moments() -> bytes:
    """Return what is made each time, so that it is compiled once."""
    return machine_code._make("moments")


def test_machine_code_refers_to_nothing_of_python_and_its_compiler() -> None:
    # What a loader would have to find in the process; the compiler's counting of references is part of the code.
    assert not re.findall(rb"PyE\w+|Py_\w+|NRT_Mem\w+|numba_\w+", code_of_moments())


@pytest.fixture
def made(empty: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of functions that are made, and when locks are taken."""
    happened: list[str] = []
    flock, moments = fcntl.flock, code_of_moments()

    def lock(file: int, operation: int) -> None:
        assert operation == fcntl.LOCK_EX
        happened.append(f"lock {os.fstat(file).st_ino}")
        flock(file, operation)

    def noted(name: str) -> bytes:
        happened.append(name)
        return moments

    monkeypatch.setattr(fcntl, "flock", lock)
    monkeypatch.setattr(machine_code, "_make", noted)
    return happened


@pytest.fixture
def of_a_run() -> Iterator[Path]:
    """Hold the temporary files of a run."""
    with holding_temporary_files() as folder:
        yield folder


def test_kernels_are_compiled_under_a_lock_that_the_runs_of_all_stores_have(
    of_a_run: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tempfile.gettempdir() == str(of_a_run)
    with monkeypatch.context() as outside:
        outside.setattr(tempfile, "tempdir", None)
        outside.delenv("TMPDIR")
        with one_process_at_a_time():
            lock = made.pop()
    assert mel.compile_kernels(PRESETS["parakeet"], made.append, energy=True) > 0
    assert made == [lock, mel.COMPILING, "moments", "mel-even-energy", ""]
    assert mel.compile_kernels(PRESETS["parakeet"], made.append, energy=True) == 0
    assert mel.compile_kernels(PRESETS["parakeet"], made.append) > 0
    assert made[5:] == [lock, mel.COMPILING, "mel-even", ""]


@pytest.mark.parametrize("energy", [False, True])
def test_the_kernels_of_any_mel_are_compiled_under_the_lock(energy: bool, made: list[str]) -> None:
    class StoppedError(Exception):
        pass

    # What is made in this test is another function, which must not be called with the arguments of a kernel.
    with pytest.raises(StoppedError), pytest.MonkeyPatch.context() as uncalled:
        uncalled.setattr(machine_code.MachineCode, "__call__", lambda *_: (_ for _ in ()).throw(StoppedError))
        extractor, x = MelExtractor(PRESETS["parakeet"]), np.zeros(4096, np.float32)
        extractor.with_energy(x) if energy else extractor(x)
    assert [text.partition(" ")[0] for text in made] == ["lock", "mel-even-energy" if energy else "mel-even"]


@pytest.mark.parametrize("what", ["empty", "cut off", "changed code", "other source", "not private"])
def test_code_that_is_broken_or_from_elsewhere_is_not_run_but_made_again(
    empty: Path, made: list[str], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    machine_code.prepare(["moments"])
    (path,) = empty.iterdir()
    content = path.read_bytes()
    changed = content[:-1] + bytes([content[-1] ^ 1])
    path.write_bytes({"empty": b"", "cut off": content[:-100], "changed code": changed}.get(what, content))
    if what == "other source":
        monkeypatch.setattr(machine_code, "_made_from", lambda: b"another")
    if what == "not private":
        monkeypatch.setattr(machine_code, "is_private", lambda folder: folder != empty)
    machine_code._loaded.clear()
    del made[:]
    assert machine_code.prepare(["moments"]) > 0
    assert made[1:] == ["moments"]
    machine_code._loaded.clear()
    if what != "not private":
        assert machine_code.prepare(["moments"]) == 0
    found = mel.mel_statistics(np.ones((3, 2), np.float32))
    np.testing.assert_array_equal([found.mean, found.m2], [[1, 1], [0, 0]])


def test_another_processor_has_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {*machine_code._files("moments")}
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert here.isdisjoint(machine_code._files("moments"))


@pytest.mark.parametrize("n_fft", [6, 400, 512, 1024, 1094])
def test_the_memory_of_a_kernel_starts_at_a_cache_line(n_fft: int) -> None:
    for _ in range(8):
        memory = machine_code.scratch(n_fft, n_fft, 3, tables(n_fft // 2))
        assert memory.dtype == np.float64
        assert memory.ctypes.data % 64 == 0
        assert memory.size % 8 == 0
