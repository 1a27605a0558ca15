"""The mel spectrogram of a waveform."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.compiler import one_process_at_a_time
from tts_prep.preprocess.audio import plain_kernel
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.filter_bank import FilterBank, filter_bank
from tts_prep.preprocess.audio.framing import (
    FULL_SCALE,
    FrameRun,
    Samples,
    Waveform,
    as_float,
    frame_runs,
    n_frames,
    pad_waveform,
)

COMPILING = "compiling the mel kernel, once per installation"
"""The text by which a run reports that its first process compiles the kernel."""

Mel = npt.NDArray[np.float32]
_NO_SINGLES, _NO_SHORTS = np.empty(0, np.float32), np.empty(0, np.int16)
Energy = npt.NDArray[np.float32]


class MelExtractor:
    """Computes mel spectrograms with fixed settings.

    Pickling includes the filter bank; other tables are computed on use.

    Args:
        compiled: whether it uses the kernels without a look at what is compiled.
    """

    def __init__(self, config: MelConfig, bank: FilterBank | None = None, *, compiled: bool = False) -> None:
        self.config = config
        self.filter_bank: FilterBank = bank or filter_bank(config)
        self._compiled = {False, True} if compiled else set[bool]()

    def __call__(self, waveform: Samples) -> Mel:
        """Return the log-mel spectrogram of a waveform.

        Args:
            waveform: [n_samples] at the sample rate of the settings, float32 with full scale ±1, or int16.

        Returns:
            [n_frames, n_mels] float32.

        Raises:
            AudioError: the waveform is too short for the framing.
        """
        return self.config.compression.transform_in_place(self.magnitudes(waveform))

    def with_energy(self, waveform: Samples) -> tuple[Mel, Energy]:
        """Return the log-mel spectrogram, [n_frames, n_mels], and the norm of each frame's magnitudes, [n_frames].

        The norm is over all FFT bins, before power offset and floor.

        Raises:
            AudioError: the waveform is too short for the framing.
        """
        energy = np.empty(n_frames(len(waveform), self.config), np.float32)
        return self.config.compression.transform_in_place(self.magnitudes(waveform, energy)), energy

    def magnitudes(self, waveform: Samples, energy: Energy | None = None) -> Mel:
        """Return the mel spectrogram before the logarithm, [n_frames, n_mels] float32.

        Args:
            energy: [n_frames] float32, filled with the norm of each frame's magnitudes; None computes no norms.
        """
        config = self.config
        out = np.empty((n_frames(len(waveform), config), config.n_mels), np.float32)
        if not config.n_mels and energy is None:
            return out
        if (energy is not None) not in self._compiled:
            compile_kernels(config, energy=energy is not None)
            self._compiled.add(energy is not None)
        # The scale is applied to the float64 window, which avoids another rounding of the float32 waveform.
        waveform, factor = leveled(waveform, config)
        window = self._window * factor
        simd = None if config.processes_frames else compiled_kernel()
        if config.preemphasis and not config.frame_preemphasis:
            waveform = preemphasized(as_float(waveform), config.preemphasis)
        if simd is None:
            plain_kernel.mel_frames(
                as_float(pad_waveform(waveform, config)), window, config, self.filter_bank, out, energy
            )
            return out
        lanes, is_16 = simd.LANES, waveform.dtype == np.int16
        window = window * FULL_SCALE if is_16 else window
        # The kernel is compiled for writable arrays.
        samples = waveform if waveform.flags.writeable else waveform.copy()
        if config.n_fft % lanes:
            # The kernel reads full vectors, past the end of a frame, where the window is 0.
            window = np.pad(window, (0, -config.n_fft % lanes))
            runs = [FrameRun(0, len(out), pad_waveform(samples, config, lanes * (config.hop_length + 1)))]
        else:
            runs = frame_runs(samples, config, lanes)
        for run in runs:
            simd.mel_frames(
                *((_NO_SINGLES, run.samples) if is_16 else (run.samples, _NO_SHORTS)),
                window,
                config.hop_length,
                *self._filter_arguments,
                *self._tables,
                out[run.first : run.stop],
                None if energy is None else energy[run.first : run.stop],
            )
        return out

    def silence(self) -> Mel:
        """Return the mel frame of digital silence, [n_mels] float32."""
        config = self.config
        magnitude = np.full(self.filter_bank.n_bins, max(config.power_offset, config.power_floor) ** (config.power / 2))
        bank, offsets = self.filter_bank, self.filter_bank.offsets
        sums = [
            float(bank.weights[a:b] @ magnitude[start : start + b - a])
            for start, a, b in zip(bank.starts, offsets, offsets[1:], strict=False)
        ]
        return config.compression.transform(sums)

    def half_precision_offset(self) -> float:
        """Return the number to subtract from values before they are stored as float16.

        float16 has steps of 2⁻⁸ between 4 and 8, and of 2⁻⁷ above. So the values from silence to a full-scale tone are
        centred around 0; if they do not all fit between −8 and 8, the loud ones do. Silence is mapped to a number that
        float16 represents exactly.
        """
        config = self.config
        if config.compression.subtract_mean or not config.n_mels:
            return 0.0
        gain = config.win_length / 2 if config.window == "hann" else float(self._window.sum())
        gain *= 1 + config.preemphasis
        loudest = float(self.filter_bank.weights.max(initial=0)) * gain**config.power
        n_values = config.n_mels if config.compression.has_bins else 1
        top = float(config.compression.transform([loudest] * n_values).max())
        silence = float(self.silence().min())
        centre = max((top + silence) / 2, top - 8)
        return silence + round((centre - silence) * 64) / 64

    @cached_property
    def _window(self) -> npt.NDArray[np.float64]:
        length, n_fft = self.config.win_length, self.config.n_fft
        window = np.zeros(n_fft)
        left = (n_fft - length) // 2
        window[left : left + length] = window_of(self.config)
        return window

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        from tts_prep.preprocess.audio.simd.fft import ends_in_8, tables, twiddles

        n_fft = self.config.n_fft
        found = tables(n_fft // 2)
        # What is None is not compiled.
        if found.chirp.shape[1]:
            return (*twiddles(n_fft), found, None, None, found.chirp)
        odd = found.odd if len(found.odd) else None
        fours = None if odd is None and ends_in_8(n_fft // 2) else True
        return (*twiddles(n_fft), found, fours, odd, None)

    @property
    def _filter_arguments(self) -> tuple[object, ...]:
        bank, config = self.filter_bank, self.config
        return (
            *(bank.starts, bank.offsets, bank.weights, bank.n_bins),
            *(config.power, np.float32(config.power_offset), np.float32(config.power_floor)),
        )


@lru_cache(maxsize=1)
def compiled_kernel() -> ModuleType | None:
    """Return the compiled kernel, or None if its compiler is missing or does not support this Python or numpy."""
    try:
        # Imported here, because the compiler takes half a second to load.
        from tts_prep.preprocess.audio.simd import kernel
    except ImportError:
        return None
    return kernel


def bin_moments(mel: Mel) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return mean and sum of squared deviations of every bin, [n_mels] float64 each.

    Args:
        mel: [n_frames, n_mels] float32, at least one frame.
    """
    if not mel.shape[1]:
        return np.zeros(0), np.zeros(0)
    moments: Any = (compiled_kernel() or plain_kernel).bin_moments(mel)
    return moments[0], moments[1]


def leveled(waveform: Samples, config: MelConfig) -> tuple[Samples, float]:
    """Return samples, and the factor that brings them to the configured level: 1 for silence, or without a peak."""
    peak = largest_sample(waveform) if config.peak is not None else 0.0
    if config.peak is None or peak == 0 or (config.peak_mode == "limit" and peak <= config.peak):
        return waveform, 1.0
    return waveform, config.peak / peak


def largest_sample(waveform: Samples) -> float:
    """Return the largest absolute value of a waveform, with full scale 1; 0 without samples."""
    # An int16 has no 32,768.
    peak = max(float(waveform.max(initial=0)), -float(waveform.min(initial=0)))
    return peak * FULL_SCALE if waveform.dtype == np.int16 else peak


def window_of(config: MelConfig) -> npt.NDArray[np.float64]:
    """Return the window of mel settings, [win_length] float64."""
    length = config.win_length
    phase = 2 * np.pi * np.arange(length) / (length if config.periodic_window else length - 1)
    hann: npt.NDArray[np.float64] = 0.5 - 0.5 * np.cos(phase)
    if config.window == "hamming":
        return 0.54 - 0.46 * np.cos(phase)
    if config.window == "blackman":
        return 0.42 - 0.5 * np.cos(phase) + 0.08 * np.cos(2 * phase)
    # D. Povey's window of Kaldi's feature-window.cc.
    return hann**0.85 if config.window == "povey" else hann


def preemphasized(waveform: Waveform, factor: float) -> Waveform:
    """Return y[n] = x[n] − factor · x[n − 1] with y[0] = x[0], [n_samples] float32."""
    emphasized = waveform.copy()
    emphasized[1:] -= np.float32(factor) * waveform[:-1]
    return emphasized


@lru_cache(maxsize=16)
def _extractor(config: MelConfig) -> MelExtractor:
    return MelExtractor(config)


def mel_spectrogram(waveform: npt.ArrayLike, config: MelConfig) -> Mel:
    """Return the log-mel spectrogram of a waveform, as in a store.

    Example:
        >>> import numpy as np
        >>> from tts_prep.preprocess import PRESETS, mel_spectrogram
        >>> mel_spectrogram(np.zeros(22_050), PRESETS["hifigan"]).shape
        (86, 80)

    Args:
        waveform: [n_samples] at the sample rate of the settings, full scale ±1.
        config: the settings, such as ``PRESETS["parakeet"]``.

    Returns:
        [n_frames, n_mels] float32.

    Raises:
        AudioError: the waveform is too short for the framing.
    """
    return _extractor(config)(np.ascontiguousarray(waveform, np.float32))


class _NotCompiledError(Exception):
    """The compiler's cache lacks something."""


def _refuse() -> None:
    raise _NotCompiledError


def _ignore(_: str) -> None:
    pass


def compile_kernels(config: MelConfig, note: Callable[[str], None] = _ignore, *, energy: bool = False) -> float:
    """Compile the kernels for these settings, or load them from the compiler's cache; a repeated call does nothing.

    One process compiles, if the cache lacks something; others of this user wait, and load it from there. An unreadable
    cache (a full disk leaves empty files) is removed, and filled again.

    Args:
        note: called with a text when the compiler starts, and with an empty one when it has finished.
        energy: whether frames' energies are computed, too.

    Returns:
        The seconds that it took; 0 if everything was in the cache.
    """
    if compiled_kernel() is None or not (config.n_mels or energy):
        return 0.0
    from tts_prep.preprocess.audio.simd.cache import n_compiled, remove_compiled, reporting_compilation

    # Errors of an unreadable cache occur again.
    with contextlib.suppress(Exception), reporting_compilation(_refuse):
        _run_kernels(config, energy)
        return 0.0
    with one_process_at_a_time(), reporting_compilation(lambda: note(COMPILING)):
        before, started = n_compiled(), time.monotonic()
        try:
            _run_kernels(config, energy)
        except Exception:
            if not remove_compiled():
                raise
            _run_kernels(config, energy)
        if n_compiled() == before:
            return 0.0
        note("")
        return time.monotonic() - started


@lru_cache(maxsize=16)
def _run_kernels(config: MelConfig, energy: bool) -> None:
    # Empty filters suffice: compilation depends on types only.
    bank = FilterBank(
        np.zeros(config.n_mels, np.int64), np.zeros(config.n_mels + 1, np.int64), np.empty(0, np.float32), 1
    )
    waveform = np.zeros(4 * config.n_fft + 2 * config.hop_length, np.float32)
    extractor = MelExtractor(config, bank, compiled=True)
    bin_moments(extractor.with_energy(waveform)[0] if energy else extractor(waveform))
