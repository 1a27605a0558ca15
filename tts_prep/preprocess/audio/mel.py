"""The mel spectrogram of a waveform."""

from __future__ import annotations

from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.preprocess.audio import plain_kernel
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.filter_bank import FilterBank, filter_bank
from tts_prep.preprocess.audio.framing import FrameRun, Waveform, frame_runs, n_frames, pad_waveform

Mel = npt.NDArray[np.float32]
Energy = npt.NDArray[np.float32]


class MelExtractor:
    """Computes mel spectrograms by one recipe.

    Small to pickle: the filter bank goes with it, tables are made where they are used.
    """

    def __init__(self, config: MelConfig, bank: FilterBank | None = None) -> None:
        self.config = config
        self.filter_bank: FilterBank = bank or filter_bank(config)

    def __call__(self, waveform: Waveform) -> Mel:
        """Return the log-mel spectrogram of a waveform.

        Args:
            waveform: [n_samples] float32 at the sample rate of the recipe, full scale ±1.

        Returns:
            [n_frames, n_mels] float32, as the recipe scales it.

        Raises:
            AudioError: the waveform is too short to be framed.
        """
        return self.config.compression.transform_in_place(self.magnitudes(waveform))

    def with_energy(self, waveform: Waveform) -> tuple[Mel, Energy]:
        """Return the log-mel spectrogram, [n_frames, n_mels], and the norm of each frame's magnitudes, [n_frames].

        The norm is that of all bins from 0 to half the sample rate, before the recipe's power offset and floor.

        Raises:
            AudioError: the waveform is too short to be framed.
        """
        energy = np.empty(n_frames(len(waveform), self.config), np.float32)
        return self.config.compression.transform_in_place(self.magnitudes(waveform, energy)), energy

    def magnitudes(self, waveform: Waveform, energy: Energy | None = None) -> Mel:
        """Return the mel spectrogram before the logarithm, [n_frames, n_mels] float32.

        Args:
            energy: [n_frames] float32, filled with the norm of each frame's magnitudes; None to compute none.
        """
        config = self.config
        out = np.empty((n_frames(len(waveform), config), config.n_mels), np.float32)
        energy = np.empty(0, np.float32) if energy is None else energy
        # Scaled within the float64 window: a scaled float32 waveform would be rounded once more.
        window = self._window * peak_scale(waveform, config)
        simd = compiled_kernel()
        if simd is None:
            plain_kernel.mel_frames(pad_waveform(waveform, config), window, config, self.filter_bank, out, energy)
            return out
        lanes = simd.LANES
        # The kernel is compiled for arrays that can be written to.
        samples = waveform if waveform.flags.writeable else waveform.copy()
        if config.n_fft % lanes:
            # The kernel reads whole vectors: past the end of a frame, where the window is 0.
            window = np.pad(window, (0, -config.n_fft % lanes))
            runs = [FrameRun(0, len(out), pad_waveform(samples, config, lanes * (config.hop_length + 1)))]
        else:
            runs = frame_runs(samples, config, lanes)
        for run in runs:
            simd.mel_frames(
                run.samples,
                window,
                config.hop_length,
                *self._filter_arguments,
                *self._tables,
                out[run.first : run.stop],
                energy[run.first : run.stop],
            )
        return out

    def silence(self) -> Mel:
        """Return what a frame of digital silence gives, [n_mels] float32."""
        config = self.config
        magnitude = np.full(self.filter_bank.n_bins, max(config.power_offset, config.power_floor) ** (config.power / 2))
        bank, offsets = self.filter_bank, self.filter_bank.offsets
        sums = [
            float(bank.weights[a:b] @ magnitude[start : start + b - a])
            for start, a, b in zip(bank.starts, offsets, offsets[1:], strict=False)
        ]
        return config.compression.transform(sums)

    def half_precision_offset(self) -> float:
        """Return what is taken off values before they are stored as float16.

        float16 has steps of 2⁻⁸ up to 8 and twice that from there on. So the values from silence to a full-scale tone
        are put around 0, the loud ones first where they do not all fit between −8 and 8, and silence to a number that
        float16 has.
        """
        config = self.config
        loudest = float(self.filter_bank.weights.max(initial=0)) * (config.win_length / 2) ** config.power
        top = float(config.compression.transform([loudest])[0])
        silence = float(self.silence().min())
        wanted = max((top + silence) / 2, top - 8)
        return silence + round((wanted - silence) * 64) / 64

    @cached_property
    def _window(self) -> npt.NDArray[np.float64]:
        length, n_fft = self.config.win_length, self.config.n_fft
        window = np.zeros(n_fft)
        left = (n_fft - length) // 2
        period = length if self.config.periodic_window else length - 1
        window[left : left + length] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / period)
        return window

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        from tts_prep.preprocess.audio.simd.fft import tables, twiddles

        n_fft = self.config.n_fft
        return (*twiddles(n_fft), tables(n_fft // 2))

    @property
    def _filter_arguments(self) -> tuple[object, ...]:
        bank, config = self.filter_bank, self.config
        return (
            *(bank.starts, bank.offsets, bank.weights, bank.n_bins),
            *(config.power, np.float32(config.power_offset), np.float32(config.power_floor)),
        )


@lru_cache(maxsize=1)
def compiled_kernel() -> ModuleType | None:
    """Return the compiled kernel, or None where its compiler is not there or does not know this Python or numpy."""
    try:
        # Not at the top: the compiler takes half a second to load.
        from tts_prep.preprocess.audio.simd import kernel
    except ImportError:
        return None
    return kernel


def bin_moments(mel: Mel) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the mean of every bin and the sum of squared deviations from it, [n_mels] float64 each.

    Args:
        mel: [n_frames, n_mels] float32, at least one frame.
    """
    moments: Any = (compiled_kernel() or plain_kernel).bin_moments(mel)
    return moments[0], moments[1]


def peak_scale(waveform: Waveform, config: MelConfig) -> float:
    """Return the factor that brings a waveform to the recipe's peak; 1 for silence and where the level is kept."""
    if config.peak is None:
        return 1.0
    peak = float(max(waveform.max(initial=0), -waveform.min(initial=0)))
    return config.peak / peak if peak > 0 else 1.0


@lru_cache(maxsize=16)
def _extractor(config: MelConfig) -> MelExtractor:
    return MelExtractor(config)


def mel_spectrogram(waveform: npt.ArrayLike, config: MelConfig) -> Mel:
    """Return the log-mel spectrogram of a waveform: the values that a store holds.

    Args:
        waveform: [n_samples] at the sample rate of the recipe, full scale ±1.
        config: the recipe, such as ``PRESETS["parakeet"]``.

    Returns:
        [n_frames, n_mels] float32.

    Raises:
        AudioError: the waveform is too short to be framed.
    """
    return _extractor(config)(np.ascontiguousarray(waveform, np.float32))


@lru_cache(maxsize=16)
def compile_kernels(config: MelConfig) -> None:
    """Compile, or load from the compiler's cache, all that a recipe runs through; once a process.

    Where the cache cannot be read (a full disk leaves empty files), it is removed, and filled again.
    """
    if compiled_kernel() is None:
        return
    from tts_prep.preprocess.audio.simd.cache import remove_compiled

    try:
        _run_kernels(config)
    except Exception:
        if not remove_compiled():
            raise
        _run_kernels(config)


def _run_kernels(config: MelConfig) -> None:
    # Empty filters have the types that are compiled for.
    bank = FilterBank(
        np.zeros(config.n_mels, np.int64), np.zeros(config.n_mels + 1, np.int64), np.empty(0, np.float32), 1
    )
    waveform = np.zeros(4 * config.n_fft + 2 * config.hop_length, np.float32)
    bin_moments(MelExtractor(config, bank)(waveform))
