"""Decode MP4, WebM, Matroska and AAC by FFmpeg's libraries, in a process of its own.

FFmpeg applies what containers say about the encoder's delay: edit lists and iTunSMPB in MP4, CodecDelay and
DiscardPadding in WebM. AAC frames alone (ADTS) do not say it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import av.logging
import numpy as np
import numpy.typing as npt

from tts_prep.errors import AudioError

_SHORTER = 2
"""The number of frames of the decoder by which a recording may be shorter than its container says."""

_MILLISECONDS = 0.002
"""The rounding of durations in Matroska, seconds."""

_FULL_SCALE = {"u1": 2.0**7, "i2": 2.0**15, "i4": 2.0**31}


def decode(path: Path, form: str, max_samples: int) -> tuple[dict[str, int], bytes]:
    """Return sample rate and channels of the only audio stream of a file, and its samples, float32, interleaved.

    Args:
        form: FFmpeg's name of the container.
        max_samples: the largest number of samples of all channels.

    Raises:
        AudioError: the file is truncated or damaged, or has no or several audio streams.
    """
    av.logging.set_level(None)
    try:
        with av.open(str(path), format=form) as container:
            streams = container.streams.audio
            if len(streams) != 1:
                raise AudioError(f"{len(streams)} audio streams, expected one")
            # Before decoding, which changes the delay.
            left = _left_of_delay(streams[0])
            blocks, rate = _decoded(container, streams[0], max_samples)
            largest = max(block.shape[1] for block in blocks)
            samples = np.concatenate(blocks, axis=1)[:, left:]
            promised = _promised(container, streams[0])
            if samples.shape[1] < (promised - _MILLISECONDS) * rate - _SHORTER * largest:
                seconds = samples.shape[1] / rate
                raise AudioError(f"truncated, {seconds:.3f} s, the header says {promised:.3f} s")
            if form == "mov" and 0 <= samples.shape[1] - round(promised * rate) < largest:
                # The edit list says where the padding of the last frame begins.
                samples = samples[:, : round(promised * rate)]
    except av.FFmpegError as error:
        raise AudioError(f"truncated or damaged ({error.strerror or type(error).__name__})") from error
    return {"rate": rate, "channels": len(samples)}, np.ascontiguousarray(samples.T, "<f4").tobytes()


def _decoded(container: Any, stream: Any, max_samples: int) -> tuple[list[npt.NDArray[np.float32]], int]:
    """Return the samples of a stream, at least one block of [channels, n], and their rate."""
    blocks: list[npt.NDArray[np.float32]] = []
    rate = n_samples = 0
    for block, block_rate in _blocks(container, stream):
        if blocks and (block_rate != rate or block.shape[0] != blocks[0].shape[0]):
            raise AudioError("the sample rate or the number of channels changes")
        rate = block_rate
        n_samples += block.size
        if n_samples > max_samples:
            raise AudioError(f"more than {max_samples:,} samples, which its size does not let expect")
        blocks.append(block)
    if not blocks:
        raise AudioError("no samples")
    return blocks, rate


def _blocks(container: Any, stream: Any) -> Iterator[tuple[npt.NDArray[np.float32], int]]:
    """Yield the samples of each frame, [n_channels, n_samples], and their rate."""
    for frame in container.decode(stream):
        values = frame.to_ndarray()
        if not frame.format.is_planar:
            values = values.reshape(-1, len(frame.layout.channels)).T
        kind = values.dtype.str[1:]
        if kind in _FULL_SCALE:
            values = (values.astype(np.float64) - (128 if kind == "u1" else 0)) / _FULL_SCALE[kind]
        yield values.astype(np.float32), frame.sample_rate


def _left_of_delay(stream: Any) -> int:
    """Return the samples of the encoder's delay that the decoder of Opus leaves.

    FFmpeg takes the delay for one at the sample rate in the header of the container, but Opus is decoded at 48 kHz.
    """
    head = stream.codec_context.extradata or b""
    if stream.codec_context.name not in ("opus", "libopus") or head[:8] != b"OpusHead" or len(head) < 12:
        return 0
    return max(0, int.from_bytes(head[10:12], "little") - (stream.codec_context.delay or 0))


def _promised(container: Any, stream: Any) -> float:
    """Return the duration in the header, seconds; 0 if it has none."""
    if container.format.name == "aac":
        return 0.0  # an estimate from the bit rate
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    return container.duration / av.time_base if container.duration is not None else 0.0
