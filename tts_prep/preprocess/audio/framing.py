"""Waveforms: the scale and level of their samples, their padding and framing."""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.config import MelConfig

Waveform = npt.NDArray[np.float32]

Samples: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.int16]
"""A waveform, or the 16-bit samples of a recording, which the kernel of the mel reads as they are."""

FULL_SCALE = 2.0**-15
"""What an int16 sample is multiplied by. A power of two, so that no bit is lost."""


def as_float(samples: Samples) -> Waveform:
    """Return samples as float32 with full scale ±1."""
    if samples.dtype == np.int16:
        return samples * np.float32(FULL_SCALE)
    return np.asarray(samples, np.float32)


def level_factor(waveform: Samples, config: MelConfig) -> float:
    """Return the factor that brings samples to the configured level: 1 for silence, or without a peak."""
    peak = largest_sample(waveform) if config.peak is not None else 0.0
    if config.peak is None or peak == 0 or (config.peak_mode == "limit" and peak <= config.peak):
        return 1.0
    return config.peak / peak


def largest_sample(waveform: Samples) -> float:
    """Return the largest absolute value of a waveform, with full scale 1; 0 without samples."""
    # An int16 has no 32,768.
    peak = max(float(waveform.max(initial=0)), -float(waveform.min(initial=0)))
    return peak * FULL_SCALE if waveform.dtype == np.int16 else peak


def preemphasized(samples: Samples, factor: float) -> Waveform:
    """Return y[n] = x[n] − factor · x[n − 1] with y[0] = x[0], [n_samples] float32."""
    waveform = as_float(samples)
    emphasized = waveform.copy()
    emphasized[1:] -= np.float32(factor) * waveform[:-1]
    return emphasized


def whole(waveform: Samples, config: MelConfig) -> Samples:
    """Return the waveform with zeros to ``least_length`` and a multiple of ``length_multiple``: itself if it is one."""
    missing = _whole_length(len(waveform), config) - len(waveform)
    return np.concatenate([waveform, np.zeros(missing, waveform.dtype)]) if missing else waveform


def _whole_length(n_samples: int, config: MelConfig) -> int:
    n_samples = max(n_samples, config.least_length if n_samples else 0)
    return n_samples + -n_samples % config.length_multiple


_LONG = 256
"""The minimum number of frames for which two more calls of the kernel, for the ends, are faster than a copy."""


def frame_padding(n_samples: int, config: MelConfig) -> tuple[int, int]:
    """Return the numbers of samples that framing adds on the left and on the right of a waveform.

    Args:
        n_samples: the length of the waveform, without ``edge_zeros``.

    Raises:
        AudioError: the waveform is too short for the framing.
    """
    n = _whole_length(n_samples, config) + 2 * config.edge_zeros
    if config.framing == "center":
        left = right = config.n_fft // 2
    elif config.framing == "snip":
        # Only samples to which the window has no weight.
        left = (config.n_fft - config.win_length) // 2
        right = config.n_fft - config.win_length - left
    else:
        left = right = (config.n_fft - config.hop_length) // 2
        if config.framing == "ceil":
            padded = -(-n // config.hop_length) * config.hop_length + 2 * left
            left, odd = divmod(padded - n, 2)
            right = left + odd
    shortest = max(left, right) + 1 if _reflects(config) else config.win_length if config.framing == "snip" else 1
    if n < shortest:
        raise AudioError(
            f"too short: {n_samples} samples, "
            f"framing with n_fft {config.n_fft} needs {max(1, shortest - 2 * config.edge_zeros)}"
        )
    return left, right


def _reflects(config: MelConfig) -> bool:
    return config.pad_mode == "reflect" and config.framing != "snip"


def n_frames(n_samples: int, config: MelConfig) -> int:
    """Return the number of frames of a waveform.

    Raises:
        AudioError: the waveform is too short for the framing, or has no frame.
    """
    left, right = frame_padding(n_samples, config)
    padded = _whole_length(n_samples, config) + 2 * config.edge_zeros + left + right
    frames = 1 + (padded - config.n_fft) // config.hop_length
    frames -= config.drop_last_frame
    if config.round_frames:
        frames = min(frames, (2 * n_samples + config.hop_length) // (2 * config.hop_length))
    frames -= frames % 2 if config.even_frames else 0
    if frames < 1:
        raise AudioError(f"too short: {n_samples} samples give no frame, hop_length is {config.hop_length}")
    return frames


def aligned_waveform(waveform: Samples, config: MelConfig) -> Samples:
    """Return the waveform aligned with the frames, to train a vocoder with.

    With framing ``"ceil"`` it has ⌈N/hop⌉ · hop samples, so that frames × hop = samples; otherwise it is the waveform
    itself. It includes ``edge_zeros``, and zeros to ``least_length`` and a ``length_multiple``.

    Args:
        waveform: [n_samples] float32 or int16, of which the result is as well.
    """
    waveform = whole(waveform, config)
    if config.framing == "ceil":
        skip = (config.n_fft - config.hop_length) // 2
        return pad_waveform(waveform, config)[skip : skip + n_frames(len(waveform), config) * config.hop_length]
    if not config.edge_zeros:
        return waveform
    padded = np.zeros(config.edge_zeros + len(waveform) + config.edge_zeros, waveform.dtype)
    padded[config.edge_zeros : -config.edge_zeros] = waveform
    return padded


def zeros_before(n_samples: int, config: MelConfig) -> int:
    """Return the number of zeros before the first sample in an `aligned_waveform` of a waveform of a length."""
    skip = (config.n_fft - config.hop_length) // 2
    return config.edge_zeros + (frame_padding(n_samples, config)[0] - skip if config.framing == "ceil" else 0)


def pad_waveform(waveform: Samples, config: MelConfig, tail: int = 0) -> Samples:
    """Return the waveform with the padding of its framing.

    Args:
        waveform: [n_samples].
        tail: the number of zeros to append after the right padding, for a kernel that reads full blocks.

    Returns:
        [left + n_samples + 2 · edge_zeros + right + tail]
    """
    waveform = whole(waveform, config)
    left, right = frame_padding(len(waveform), config)
    inner = len(waveform) + 2 * config.edge_zeros
    padded = np.empty(left + inner + right + tail, waveform.dtype)
    first, stop = left + config.edge_zeros, left + inner
    padded[:first] = 0
    padded[first : first + len(waveform)] = waveform
    padded[first + len(waveform) :] = 0
    if _reflects(config):
        padded[:left] = padded[2 * left : left : -1]
        padded[stop : stop + right] = padded[stop - 2 : stop - 2 - right : -1] if right else 0
    return padded


class FrameRun(NamedTuple):
    """Consecutive frames and their samples.

    Attributes:
        first, stop: the range of frames.
        samples: the samples, beginning with those of frame ``first``.
    """

    first: int
    stop: int
    samples: Samples


def frame_runs(waveform: Samples, config: MelConfig, lanes: int | None) -> list[FrameRun]:
    """Split the frames of a waveform into runs: the waveform itself, and padded copies of its ends.

    The samples equal those of `pad_waveform`; a short waveform is a single run, as is one whose ``n_fft`` is no
    multiple of ``lanes``. This avoids copying long waveforms, which takes time, and 300 MB for an hour of audio.

    Args:
        waveform: [n_samples] float32 or int16.
        lanes: the number of frames that the kernel processes at a time. Runs are multiples of it, and the last one has
            ``lanes`` hops of zeros appended, or more. None gives a single run without them.
    """
    n_all = n_frames(len(waveform), config)
    if lanes is None:
        return [FrameRun(0, n_all, pad_waveform(waveform, config))]
    waveform = whole(waveform, config)
    n, hop, n_fft, edge = len(waveform), config.hop_length, config.n_fft, config.edge_zeros
    left, right = frame_padding(n, config)
    begin, tail = left + edge, lanes * hop
    # Frames from `first` on begin in the waveform. Frames before `stop` end in it, far enough from its end that the
    # copy of the rest contains all samples that are reflected.
    first = -(-begin // tail) * lanes
    stop = min((n + begin - n_fft) // hop + 1, (n + edge + begin - right - 1) // hop, n_all) // lanes * lanes
    if stop - first < _LONG or n_fft % lanes:
        return [FrameRun(0, n_all, pad_waveform(waveform, config, tail + lanes))]
    reflected = _reflects(config)
    runs = [FrameRun(first, stop, waveform[first * hop - begin :])]
    if first:
        head = np.empty((first - 1) * hop + n_fft, waveform.dtype)
        head[:begin] = 0
        head[begin:] = waveform[: len(head) - begin]
        if reflected:
            head[:left] = head[2 * left : left : -1]
        runs.insert(0, FrameRun(0, first, head))
    if stop < n_all:
        rest = waveform[stop * hop - begin :]
        end = len(rest) + edge
        last = np.zeros(end + right + tail, waveform.dtype)
        last[: len(rest)] = rest
        if reflected and right:
            last[end : end + right] = last[end - 2 : end - 2 - right if end - 2 >= right else None : -1]
        runs.append(FrameRun(stop, n_all, last))
    return runs
