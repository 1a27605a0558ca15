"""The compiled kernel and the one without a compiler, compared with numpy's float64 transform."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import librosa
import numpy as np
import pytest
from corpora import speech_like
from numba import njit

from tts_prep.compiler import one_process_at_a_time
from tts_prep.format.files.temporary import holding_temporary_files
from tts_prep.preprocess.audio import mel
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.audio.simd.cache import reporting_compilation
from tts_prep.preprocess.audio.simd.lanes import empty_aligned

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
    mean, m2 = mel.bin_moments(values)
    np.testing.assert_allclose(mean, values.astype(np.float64).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(m2, values.astype(np.float64).var(axis=0) * 300, rtol=1e-10)


def test_without_the_compiler_mels_are_made_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x = speech_like(0.5, 3).astype(np.float32)
    compiled = MelExtractor(PRESETS["parakeet"])(x)
    # As where numba does not know the version of Python: its import fails.
    monkeypatch.setitem(sys.modules, "tts_prep.preprocess.audio.simd.kernel", None)
    monkeypatch.delattr("tts_prep.preprocess.audio.simd.kernel", raising=False)
    mel.compiled_kernel.cache_clear()
    try:
        assert mel.compiled_kernel() is None
        mel._run_kernels.cache_clear()
        mel.compile_kernels(PRESETS["parakeet"])
        np.testing.assert_allclose(MelExtractor(PRESETS["parakeet"])(x), compiled, rtol=0, atol=2e-6)
    finally:
        mel.compiled_kernel.cache_clear()
        mel._run_kernels.cache_clear()


def test_a_compilation_is_reported_once_and_code_that_is_there_is_not() -> None:
    reports: list[str] = []

    def report() -> None:
        reports.append("compiles")

    inner = njit(lambda x: x + 1)
    outer = njit(lambda x: inner(x) * 2)
    for _ in range(2):
        with reporting_compilation(report):
            assert outer(3) == 8
    assert reports == ["compiles"]
    njit(lambda x: x - 1)(3)
    assert reports == ["compiles"]


def refuse() -> None:
    raise BlockingIOError


def test_what_is_refused_is_not_compiled_and_can_be_compiled_afterwards() -> None:
    function = njit(lambda x: x + 1)
    with pytest.raises(BlockingIOError), reporting_compilation(refuse):
        function(3)
    assert not function.signatures
    assert function(3) == 4


def test_what_another_thread_compiles_is_not_refused() -> None:
    function = njit(lambda x: x + 1)
    with reporting_compilation(refuse), ThreadPoolExecutor(1) as threads:
        assert threads.submit(function, 3).result() == 4


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what happens while kernels are compiled that the cache does not have."""
    happened: list[str] = []

    def flock(file: int, operation: int) -> None:
        assert operation == fcntl.LOCK_EX
        happened.append(f"lock {os.fstat(file).st_ino}")

    function = njit(lambda x: x + 1)
    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(mel, "_run_kernels", lambda _, energy: happened.append(f"energy {energy}: {function(3)}"))
    return happened


@pytest.fixture
def of_a_run() -> Iterator[Path]:
    """Hold the temporary files of a run."""
    with holding_temporary_files() as folder:
        yield folder


def test_kernels_are_compiled_under_a_lock_that_the_runs_of_all_stores_have(
    of_a_run: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tempfile.gettempdir() == str(of_a_run)
    with monkeypatch.context() as outside:
        outside.setattr(tempfile, "tempdir", None)
        outside.delenv("TMPDIR")
        with one_process_at_a_time():
            lock = compiled.pop()
    mel.compile_kernels(PRESETS["parakeet"], compiled.append, energy=True)
    assert compiled == [lock, mel.COMPILING, "energy True: 4"]
    mel.compile_kernels(PRESETS["parakeet"], compiled.append)
    assert compiled[3:] == ["energy False: 4"]


@pytest.mark.parametrize("energy", [False, True])
def test_the_kernels_of_any_mel_are_compiled_under_the_lock(energy: bool, compiled: list[str]) -> None:
    extractor, x = MelExtractor(PRESETS["parakeet"]), np.zeros(4096, np.float32)
    for _ in range(2):
        extractor.with_energy(x) if energy else extractor(x)
    assert [text.partition(" ")[0] for text in compiled] == ["lock", "energy"]
    assert compiled[1] == f"energy {energy}: 4"


def test_settings_that_were_compiled_for_run_no_kernel_again(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(PRESETS["parakeet"], n_mels=13)
    ran: list[int] = []
    moments = mel.bin_moments
    monkeypatch.setattr(mel, "bin_moments", lambda values: (ran.append(values.shape[1]), moments(values))[1])
    for _ in range(2):
        # Every shard of a run passes a function of its own.
        mel.compile_kernels(config, lambda _: None)
    assert ran == [13]


@pytest.mark.parametrize("n", [0, 1, 8, 1000, 65536])
def test_arrays_of_the_kernel_start_at_a_cache_line(n: int) -> None:
    for _ in range(8):
        array = empty_aligned(n)
        assert array.shape == (n,)
        assert array.dtype == np.float64
        assert array.ctypes.data % 64 == 0


def test_what_a_recipe_does_not_need_is_not_compiled(tmp_path: Path) -> None:
    code = """if True:
        from tts_prep.preprocess.audio.mel import compile_kernels
        from tts_prep.preprocess.audio.presets import PRESETS
        from tts_prep.preprocess.audio.simd import fft, kernel
        compile_kernels(PRESETS["parakeet"])
        functions = {**vars(fft), **vars(kernel)}
        print(*(name for name, value in functions.items() if getattr(value, "signatures", None)))
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    names = set(compiled.stdout.split())
    assert {"mel_frames", "transform", "_radix_4", "_last_8", "bin_moments"} <= names
    # A transform of 512 is three steps by 4 and one by 8, and no energies are made.
    others = {"convolve", "_split", "_radix_3", "_radix_5", "_odd_radix", "_last_2", "_last_4"}
    assert names.isdisjoint(others | {"_sum_of_squares", "_spectrum_norm"})
