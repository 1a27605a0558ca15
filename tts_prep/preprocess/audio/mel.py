"""The mel spectrogram of a waveform."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.filter_bank import FilterBank, filter_bank
from tts_prep.preprocess.audio.framing import Waveform, frame_runs, n_frames, pad_waveform

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
        # The compiler that these bring takes half a second to load.
        from tts_prep.preprocess.audio.simd.kernel import mel_frames
        from tts_prep.preprocess.audio.simd.lanes import LANES

        config = self.config
        out = np.empty((n_frames(len(waveform), config), config.n_mels), np.float32)
        energy = np.empty(0, np.float32) if energy is None else energy
        # Scaled within the float64 window: a scaled float32 waveform would be rounded once more.
        window = self._window * peak_scale(waveform, config)
        if config.n_fft & (config.n_fft - 1) or config.n_fft < 32:
            self._by_library(pad_waveform(waveform, config, tail=LANES * config.hop_length), window, out, energy)
            return out
        # The kernel is compiled for arrays that can be written to.
        samples = waveform if waveform.flags.writeable else waveform.copy()
        for run in frame_runs(samples, config, LANES):
            frames = out[run.first : run.stop]
            norms = energy[run.first : run.stop]
            mel_frames(run.samples, window, config.hop_length, *self._filter_arguments, *self._tables, frames, norms)
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
    def _tables(self) -> tuple[npt.NDArray[Any], ...]:
        from tts_prep.preprocess.audio.simd.fft import bin_positions, twiddles

        n_fft = self.config.n_fft
        return (*twiddles(n_fft // 2), *twiddles(n_fft), bin_positions(n_fft // 2))

    @property
    def _filter_arguments(self) -> tuple[object, ...]:
        bank, config = self.filter_bank, self.config
        return (
            *(bank.starts, bank.offsets, bank.weights, bank.n_bins),
            *(config.power, np.float32(config.power_offset), np.float32(config.power_floor)),
        )

    def _by_library(self, padded: Waveform, window: npt.NDArray[np.float64], out: Mel, energy: Energy) -> None:
        """Fill ``out`` for an n_fft that is not a power of two."""
        from scipy.fft import rfft

        from tts_prep.preprocess.audio.simd.kernel import mel_of_spectrum
        from tts_prep.preprocess.audio.simd.lanes import LANES

        frames = np.lib.stride_tricks.sliding_window_view(padded, self.config.n_fft)[:: self.config.hop_length]
        for first in range(0, len(out), LANES):
            # The tail of the padding gives the last block its missing frames.
            spectrum = rfft(frames[first : first + LANES] * window, axis=1).T
            if len(energy):
                n = min(LANES, len(out) - first)
                energy[first : first + n] = np.linalg.norm(spectrum[:, :n], axis=0)
            spectrum = spectrum[: self.filter_bank.n_bins]
            re, im = np.ascontiguousarray(spectrum.real).ravel(), np.ascontiguousarray(spectrum.imag).ravel()
            mel_of_spectrum(re, im, *self._filter_arguments, out[first : first + LANES])


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
    from tts_prep.preprocess.audio.simd.cache import remove_compiled

    try:
        _run_kernels(config)
    except Exception:
        if not remove_compiled():
            raise
        _run_kernels(config)


def _run_kernels(config: MelConfig) -> None:
    from tts_prep.preprocess.audio.simd.kernel import bin_moments

    # Empty filters have the types that are compiled for.
    bank = FilterBank(
        np.zeros(config.n_mels, np.int64), np.zeros(config.n_mels + 1, np.int64), np.empty(0, np.float32), 1
    )
    waveform = np.zeros(4 * config.n_fft + 2 * config.hop_length, np.float32)
    bin_moments(MelExtractor(config, bank)(waveform))
