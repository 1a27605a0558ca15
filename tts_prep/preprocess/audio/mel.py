"""The mel spectrogram of a waveform by the compiled kernel in `simd`, or by scipy and numpy where that is not there."""

from collections.abc import Callable
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.format.statistics import MelStatistics
from tts_prep.preprocess.audio import framing
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.filter_bank import FilterBank, filter_bank

COMPILING = "compiling the mel kernel, once per installation"
"""The text by which a run reports that its first process compiles the kernel."""

Mel = npt.NDArray[np.float32]
_NO_SAMPLES = (0, 0)
Energy = npt.NDArray[np.float32]


class MelExtractor:
    """Computes mel spectrograms with fixed settings.

    Pickling includes the filter bank; other tables are computed on use.
    """

    def __init__(self, config: MelConfig, bank: FilterBank | None = None) -> None:
        self.config = config
        self.filter_bank: FilterBank = bank or filter_bank(config)

    def __call__(self, waveform: framing.Samples) -> Mel:
        """Return the log-mel spectrogram of a waveform.

        Args:
            waveform: [n_samples] at the sample rate of the settings, float32 with full scale ±1, or int16.

        Returns:
            [n_frames, n_mels] float32.

        Raises:
            AudioError: the waveform is too short for the framing.
        """
        return self.config.compression.transform_in_place(self.magnitudes(waveform))

    def with_energy(self, waveform: framing.Samples) -> tuple[Mel, Energy]:
        """Return the log-mel spectrogram, [n_frames, n_mels], and the norm of each frame's magnitudes, [n_frames].

        The norm is over all FFT bins, before power offset and floor.

        Raises:
            AudioError: the waveform is too short for the framing.
        """
        magnitudes, energy = self._computed(waveform, with_energy=True)
        return self.config.compression.transform_in_place(magnitudes), energy

    def magnitudes(self, waveform: framing.Samples) -> Mel:
        """Return the mel spectrogram before the logarithm, [n_frames, n_mels] float32."""
        return self._computed(waveform, with_energy=False)[0]

    def _computed(self, waveform: framing.Samples, *, with_energy: bool) -> tuple[Mel, Energy]:
        """Return the magnitudes of mels, and the norms of frames if they are needed, otherwise none."""
        config = self.config
        if not config.n_mels and not with_energy:
            return np.empty((framing.n_frames(len(waveform), config), 0), np.float32), np.empty(0, np.float32)
        level = framing.level_factor(waveform, config)
        if config.preemphasis and not config.frame_preemphasis:
            waveform = framing.preemphasized(waveform, config.preemphasis)
        simd = None if config.processes_frames else compiled_kernel()
        is_16 = waveform.dtype == np.int16
        # The machine code takes addresses.
        waveform = np.ascontiguousarray(waveform, None if is_16 else np.float32)
        runs = framing.frame_runs(waveform, config, simd.LANES if simd else None)
        n_frames = runs[-1].stop
        out, energy = np.empty((n_frames, config.n_mels), np.float32), np.empty(n_frames * with_energy, np.float32)
        # The scale is applied to the float64 window, which avoids another rounding of the float32 waveform.
        if simd is None:
            padded = framing.as_float(runs[0].samples)
            _plain_frames(padded, self._window * level, config, self.filter_bank, out, energy)
            return out, energy
        found = simd.tables(config.n_fft // 2)
        compiled = simd.function(simd.mel_name(found, energy=with_energy))
        bank, window = self.filter_bank, self._window * (level * framing.FULL_SCALE if is_16 else level)
        if config.n_fft % simd.LANES:
            # The kernel reads full vectors, past the end of a frame.
            window = np.concatenate([window, np.zeros(-config.n_fft % simd.LANES)])
        scratch = simd.scratch(len(window), config.n_fft, config.n_mels, found)
        constant, _ = _places(bank, config.n_fft)
        in_window, (mels, _), memory = simd.places(window, out, scratch)
        energies = energy.ctypes.data if with_energy else 0
        for run in runs:
            n, samples = run.stop - run.first, (run.samples.ctypes.data, run.samples.size)
            given = (_NO_SAMPLES, samples) if is_16 else (samples, _NO_SAMPLES)
            mel, norm = mels + run.first * out.strides[0], energies + run.first * energy.itemsize
            compiled(
                [*given, in_window, *constant, (mel, n * config.n_mels), (norm, n * with_energy), memory],
                (config.hop_length, bank.n_bins, config.power, n),
                (config.power_offset, config.power_floor),
            )
        return out, energy

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


@lru_cache(maxsize=1)
def compiled_kernel() -> ModuleType | None:
    """Return the compiled kernel, or None if its compiler is missing or does not support this Python or numpy."""
    try:
        from tts_prep.preprocess.audio.simd import machine_code

        if not machine_code.load("moments"):
            # The compiler takes half a second to load.
            from tts_prep.preprocess.audio.simd import kernel  # noqa: F401
    except ImportError:
        return None
    return machine_code


@lru_cache(maxsize=16)
def _places(bank: FilterBank, n_fft: int) -> tuple[list[tuple[int, int]], object]:
    """Return the places of the arrays that all frames have in common, and those arrays, which must stay there."""
    from tts_prep.preprocess.audio.simd.machine_code import places, tables, twiddles

    arrays = (bank.starts, bank.offsets, bank.weights, *twiddles(n_fft), *tables(n_fft // 2))
    return places(*arrays), arrays


def mel_statistics(mel: Mel) -> MelStatistics:
    """Return the statistics of every bin of a mel, [n_frames, n_mels] float32 with at least one frame."""
    mean, m2 = both = np.zeros((2, mel.shape[1]))
    if (simd := compiled_kernel()) is None:
        mel.mean(axis=0, dtype=np.float64, out=mean)
        np.square(mel - mean).sum(axis=0, out=m2)
    elif mel.shape[1]:
        mel = np.ascontiguousarray(mel, np.float32)
        given, (place, size) = simd.places(mel, both)
        simd.function("moments")([given, (place, size // 2), (place + both.strides[0], size // 2)])
    return MelStatistics(len(mel), mean, m2)


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


_extractor = lru_cache(maxsize=16)(MelExtractor)


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


def compile_kernels(
    config: MelConfig, note: Callable[[str], object] = lambda _: None, *, energy: bool = False
) -> float:
    """Compile the kernels for these settings, or load them from files; a repeated call does nothing.

    One process compiles, if a file is missing or broken; others of this user wait, and load it.

    Args:
        note: called with a text when the compiler starts, and with an empty one when it has finished.
        energy: whether frames' energies are computed, too.

    Returns:
        The seconds that it took; 0 if everything was in files.
    """
    simd = compiled_kernel()
    if simd is None or not (config.n_mels or energy):
        return 0.0
    names = ["moments"] + (
        [] if config.processes_frames else [simd.mel_name(simd.tables(config.n_fft // 2), energy=energy)]
    )
    seconds: float = simd.prepare(names, lambda: note(COMPILING))
    if seconds:
        note("")
    return seconds


_BLOCK = 64
"""The number of frames per block, whose spectra fit into the second-level cache."""


def _plain_frames(
    padded: framing.Waveform,
    window: npt.NDArray[np.float64],
    config: MelConfig,
    bank: FilterBank,
    out: npt.NDArray[np.float32],
    energy: npt.NDArray[np.float32],
) -> None:
    """Fill ``out`` with mel magnitudes, and ``energy`` with the norms of spectra.

    Args:
        padded: [n] float32, the samples of all frames.
        window: [n_fft] float64.
        out: [n_frames, n_mels] float32.
        energy: [n_frames] float32, √Σ|X|² over the bins 0 to n_fft / 2; empty if it is not wanted.
    """
    from scipy.fft import rfft

    dense = np.zeros((bank.n_bins, config.n_mels), np.float32)
    for m, (start, first, stop) in enumerate(zip(bank.starts, bank.offsets, bank.offsets[1:], strict=False)):
        dense[start : start + stop - first, m] = bank.weights[first:stop]
    frames = np.lib.stride_tricks.sliding_window_view(padded, config.n_fft)[:: config.hop_length]
    for first in range(0, len(out), _BLOCK):
        block = out[first : first + _BLOCK]
        spectrum = rfft(_processed(frames[first : first + len(block)], config) * window, axis=1)
        if len(energy):
            energy[first : first + len(block)] = np.linalg.norm(spectrum, axis=1)
        spectrum = spectrum[:, : bank.n_bins]
        power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
        power += np.float32(config.power_offset)
        np.maximum(power, np.float32(config.power_floor), out=power)
        if config.power == 1:
            np.sqrt(power, out=power)
        np.matmul(power, dense, out=block)


def _processed(frames: npt.NDArray[np.float32], config: MelConfig) -> npt.NDArray[Any]:
    """Return frames without their mean and with pre-emphasis, where settings say so.

    Args:
        frames: [n_frames, n_fft] float32.
    """
    if not config.processes_frames:
        return frames
    left = (config.n_fft - config.win_length) // 2
    # The window is 0 outside these samples.
    result = frames.astype(np.float64)
    samples = result[:, left : left + config.win_length]
    if config.remove_dc:
        samples -= samples.mean(axis=1, keepdims=True)
    if config.frame_preemphasis:
        samples -= config.preemphasis * samples[:, [0, *range(config.win_length - 1)]]
    return result
