"""Reading a recording: decode, choose a channel, resample."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from tts_prep.errors import AudioError, ConfigurationError
from tts_prep.preprocess.audio.framing import Waveform

CHANNELS = ("first", "mean")

# Decoded by arithmetic or, FLAC, in blocks that know nothing of each other.
_EXACT_FORMATS = ("WAV", "WAVEX", "FLAC")
_EXACT_SUBTYPES = ("PCM_U8", "PCM_S8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE")


@dataclass(frozen=True)
class ReadingConfig:
    """How recordings are read.

    Attributes:
        channel: what to make of several channels: ``"first"`` keeps the first one, sample for sample; ``"mean"``
            averages them.
        trim_db: cut silence off both ends: what is more than so many dB below the loudest part. None keeps all.
    """

    channel: str = "first"
    trim_db: float | None = None

    def __post_init__(self) -> None:
        if self.channel not in CHANNELS:
            raise ConfigurationError(f"channel: expected one of {', '.join(CHANNELS)}, found {self.channel!r}")
        if self.trim_db is not None and not (math.isfinite(self.trim_db) and self.trim_db > 0):
            raise ConfigurationError(f"trim_db: expected a number of dB over 0, found {self.trim_db}")


def read_waveform(path: Path, sample_rate: int, config: ReadingConfig = ReadingConfig()) -> Waveform:
    """Read a recording as one channel at a sample rate.

    Whatever libsndfile reads is read. Integer samples are divided by their full scale, so 16 and 24 bits stay exact.

    Args:
        sample_rate: Hz; a recording at another rate is resampled (soxr, high quality).

    Returns:
        [n_samples] float32.

    Raises:
        AudioError: the file is missing, not audio, truncated, empty, silent, or holds NaN or infinity.
    """
    with _opened(path) as file:
        (waveform, silent), rate = _decoded(path, file, file.frames, config), file.samplerate
    if len(waveform) == 0:
        raise AudioError(f"{path.name}: no samples")
    if silent:
        raise AudioError(f"{path.name}: digital silence, every sample is 0")
    if rate != sample_rate:
        waveform = _resample(waveform, rate, sample_rate)
    if config.trim_db is not None:
        waveform = trim_silence(waveform, config.trim_db)
    return np.ascontiguousarray(waveform)


def read_part(
    path: Path, sample_rate: int, start: int, stop: int | None, config: ReadingConfig
) -> tuple[Waveform, int] | None:
    """Read samples ``start`` to ``stop`` of a recording, and return them with the length of the whole.

    None where only the whole can be read: it has to be resampled, or its format cannot be sought in exactly (in MP3 and
    Opus the samples behind a jump are others than those of a read from the start).

    Returns:
        [n_samples] float32, fewer than asked for where the recording ends before; number of samples of the whole.

    Raises:
        AudioError: the file is missing, not audio, truncated, or the part holds NaN or infinity.
    """
    with _opened(path) as file:
        exact = file.format in _EXACT_FORMATS and file.subtype in _EXACT_SUBTYPES
        if file.samplerate != sample_rate or not exact:
            return None
        start, stop = (min(place, file.frames) for place in (start, file.frames if stop is None else stop))
        file.seek(start)
        return _decoded(path, file, stop - start, config)[0], file.frames


@contextmanager
def _opened(path: Path) -> Iterator[soundfile.SoundFile]:
    """Open a recording; what goes wrong in there is an `AudioError`."""
    _check_riff_size(path)
    try:
        # As bytes: soundfile cannot encode a path that is not UTF-8.
        with soundfile.SoundFile(os.fsencode(path)) as file:
            yield file
    except (soundfile.SoundFileError, OSError, ValueError) as error:
        raise AudioError(f"{path.name}: cannot be read as audio ({_reason(error)})") from error


def _decoded(path: Path, file: soundfile.SoundFile, count: int, config: ReadingConfig) -> tuple[Waveform, bool]:
    """Read the next ``count`` samples of an open recording as one channel, [count] float32; and whether all are 0."""
    # As they are in the file, where they are 16 bits: numpy converts faster than the library.
    samples = file.read(count, dtype="int16" if file.subtype == "PCM_16" else "float32", always_2d=True)
    if len(samples) != count:
        raise AudioError(f"{path.name}: truncated, {len(samples):,} samples, the header says {count:,}")
    # Still as integers where they are some: their extremes take a third of the time.
    chosen = samples[:, 0] if config.channel == "first" else samples.mean(axis=1, dtype=np.float32)
    low, high = (float(chosen.min()), float(chosen.max())) if count else (0.0, 0.0)
    # NaN survives both; infinity is one of them.
    if not (math.isfinite(low) and math.isfinite(high)):
        raise AudioError(f"{path.name}: holds NaN or infinite samples")
    # By a power of two, so the mean of integers comes out the same before and after.
    waveform: Waveform = chosen * np.float32(2.0**-15) if samples.dtype == np.int16 else chosen
    return waveform, low == high == 0


def _resample(waveform: Waveform, rate: int, sample_rate: int) -> Waveform:
    import soxr

    # Gives ceil(n · sample_rate / rate) samples or one less; longer or shorter edges are the resampler's own.
    return np.asarray(soxr.resample(waveform, rate, sample_rate, quality="HQ"), np.float32)


def trim_silence(waveform: Waveform, top_db: float) -> Waveform:
    """Return a waveform without the parts at its ends that are more than ``top_db`` dB below its loudest part."""
    from librosa.effects import trim

    return np.asarray(trim(waveform, top_db=top_db)[0], np.float32)


def _check_riff_size(path: Path) -> None:
    """Refuse a missing or empty file, and a WAV file that is shorter than its data chunk.

    libsndfile reads what is left of a truncated WAV file without a word.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise AudioError(f"{path.name}: empty file")
            magic = file.read(12)
            if magic[:4] != b"RIFF" or magic[8:] != b"WAVE":
                return
            position = 12
            # Bounded: a crafted file can hold millions of tiny chunks.
            for _ in range(1000):
                file.seek(position)
                header = file.read(8)
                if len(header) < 8:
                    return
                length = struct.unpack("<I", header[4:])[0]
                if header[:4] == b"data":
                    if position + 8 + length > size:
                        raise AudioError(
                            f"{path.name}: truncated, {size - position - 8:,} bytes of samples, "
                            f"the header says {length:,}"
                        )
                    return
                position += 8 + length + length % 2
    except FileNotFoundError:
        raise AudioError(f"{path.name}: no such file") from None
    except (OSError, ValueError) as error:
        raise AudioError(f"{path.name}: cannot be opened ({_reason(error)})") from error


def _reason(error: Exception) -> str:
    if isinstance(error, soundfile.LibsndfileError):
        return str(error.error_string).rstrip(".")
    return str(getattr(error, "strerror", None) or error).splitlines()[0]
