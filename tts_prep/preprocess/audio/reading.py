"""Read recordings: decode, select or average channels, resample."""

import math
import os
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from io import BytesIO, FileIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import soundfile
import xxhash

from tts_prep import doors
from tts_prep.errors import AudioError
from tts_prep.format.files.checksums import add_bytes
from tts_prep.format.files.paths import file_version, open_regular
from tts_prep.preprocess.audio.config import DEFAULT_RESAMPLER, ReadingConfig
from tts_prep.preprocess.audio.containers.inspection import inspect
from tts_prep.preprocess.audio.containers.stream import BrokenRecordingError, PcmFile, Stream, read_from
from tts_prep.preprocess.audio.framing import FULL_SCALE, Samples, Waveform, as_float
from tts_prep.preprocess.source_utterance import open_recording

MIN_RATE, MAX_RATE = 1_000, 1_000_000
"""The range of sample rates, Hz. Others are signs of a broken header, and resampling could exhaust memory."""

MAX_SAMPLES_PER_BYTE = 1024
"""The maximum number of samples per byte of a recording; silence in FLAC, Vorbis and Opus reaches half of it."""

MAX_PEAK = 8.0
"""The maximum sample of a usable recording with full scale 1; larger samples are integers stored as floats."""

BEYOND_FULL_SCALE = "float samples beyond full scale"
"""The remark on a recording of floats with a peak above 1, whose scale is doubtful."""

# Formats with contiguous samples, which are read in blocks. Seeking in FLAC is exact too, but slow.
_PLAIN_FORMATS = ("WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "CAF", "NIST")
_PLAIN_SUBTYPES = ("PCM_U8", "PCM_S8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE")
_BLOCK = 1 << 18

_HEAD = 1 << 12
"""The bytes within which the samples of a recording begin that are hashed as they are decoded."""

_HASHED_AT_ONCE = 1 << 16
"""The bytes that are read at once to be hashed: few enough for the processor's cache."""


def read_waveform(
    path: Path,
    sample_rate: int,
    config: ReadingConfig = ReadingConfig(),
    *,
    inside: str = "",
    remarks: list[str] | None = None,
) -> Waveform:
    """Read a recording as one channel at a sample rate.

    Supported are WAV, RF64, BW64, Wave64, AIFF, AU, CAF, NIST SPHERE, FLAC, MP3, Ogg Vorbis, Opus and FLAC; with the
    extra ``ffmpeg``, MP4 (M4A), WebM, Matroska and AAC. Integer samples are divided by their full scale; 16 and 24 bits
    remain exact.

    Args:
        path: the file.
        sample_rate: Hz; a recording with another rate is resampled.
        inside: the location of the recording in the file, see `tts_prep.preprocess.source_utterance`.
        remarks: a list to which remarks on the recording are added.

    Returns:
        [n_samples] float32.

    Raises:
        AudioError: the file is missing, not a regular file, not audio, truncated, damaged, empty or silent, or holds
            several recordings, NaN, infinity or samples far beyond full scale.
        MemoryError: the samples do not fit into memory.
    """
    return as_float(read_samples(path, sample_rate, config, inside=inside, remarks=remarks, keeps_16_bits=False))


def read_samples(
    path: Path | str,
    sample_rate: int,
    config: ReadingConfig = ReadingConfig(),
    *,
    inside: str = "",
    remarks: list[str] | None = None,
    keeps_16_bits: bool = True,
    contents: list[str] | None = None,
) -> Samples:
    """Read a recording as `read_waveform`, whose samples stay int16 if they are so at this rate.

    Args:
        contents: an empty list, to which the `contents_of` the file are added: those that are decoded, or were there
            before. If reading fails, or for unusual headers, it can stay empty.
    """
    staying: list[tuple[FileIO, bytes]] = []

    def hashed_and_inspected(raw: FileIO) -> Stream:
        if contents is not None:
            head = os.pread(raw.fileno(), _HEAD, 0)
            if keeps_16_bits and _is_of_16_bits(head, sample_rate):
                # Samples that stay as they are in the file are not read twice.
                staying.append((raw, head))
            else:
                contents.append(contents_of(raw, (0, None)))
        return inspect(raw)

    with _opened(path, inside, hashed_and_inspected) as recording:
        file = recording.file
        keeps = keeps_16_bits and file.samplerate == sample_rate
        waveform, silent = _decoded(recording, 0, recording.n_samples, config, remarks, keeps_16_bits=keeps)
        if contents is not None and staying and keeps and isinstance(file, PcmFile) and file.first_byte <= _HEAD:
            (raw, head), start = staying[0], file.first_byte
            contents.append(contents_of(raw, head[:start], waveform, (start + waveform.nbytes, None)))
        if len(waveform) == 0:
            raise AudioError(f"{Path(path).name}: no samples")
        if silent:
            raise AudioError(f"{Path(path).name}: digital silence, every sample is 0")
        return prepared(waveform, file.samplerate, sample_rate, config, _rounding(file), keeps_16_bits=keeps_16_bits)


def _is_of_16_bits(head: bytes, sample_rate: int) -> bool:
    """Return whether a file begins as a usual WAV file of one channel of 16 bits, in the byte order of this machine."""
    if head[:4] + head[8:16] != b"RIFFWAVEfmt " or len(head) < 36 or sys.byteorder != "little":
        return False
    kind, channels, rate, _, _, bits = struct.unpack("<HHIIHH", head[20:36])
    return (kind, channels, rate, bits) == (1, 1, sample_rate, 16)


def contents_of(file: FileIO, *parts: tuple[int, int | None] | bytes | Samples) -> str:
    """Return the XXH3 of bytes of a file, 128 bits, hexadecimal.

    Args:
        parts: the positions of bytes, of which None is the end of the file, or what was read from it.
    """
    digest = xxhash.xxh3_128()
    for part in parts:
        if isinstance(part, tuple):
            add_bytes(digest, file, *part, _HASHED_AT_ONCE)
        else:
            digest.update(part)
    return digest.hexdigest()


def prepared(
    samples: Samples,
    rate: int,
    sample_rate: int,
    config: ReadingConfig,
    rounding: float | None = None,
    *,
    keeps_16_bits: bool = False,
) -> Samples:
    """Return decoded samples as the system of these settings has them in training: resampled, clipped, written.

    Args:
        samples: [n_samples] of one channel.
        rate, sample_rate: their rate, and the new one, Hz.
        rounding: what is added before they are rounded down to 16 bits; None rounds to the nearest, half to even.

    Returns:
        [n_samples] float32, or int16 if it may be kept.
    """
    between = config.through or sample_rate
    found: Any = samples
    # Otherwise, no step before the last changes these integers.
    if found.dtype != np.int16 or rate != between or config.written not in ("", "int16"):
        found = resample(as_float(samples), rate, between, config.resampler)
        if config.clips:
            found = np.clip(found, -1, 1)
        if config.written:
            found = _written(found, config.written, rounding if rate == between else None)
    if not keeps_16_bits or found.dtype != np.int16 or between != sample_rate:
        found = resample(as_float(found), between, sample_rate, config.resampler)
    return np.ascontiguousarray(found, None if found.dtype == np.int16 else np.float32)


def _rounding(file: soundfile.SoundFile | PcmFile) -> float | None:
    """Return how ffmpeg rounds what it does not resample: means of 16 bits half up, more bits of one channel down."""
    if file.subtype == "PCM_16":
        return 0.5
    return 0.0 if file.subtype in ("PCM_24", "PCM_32") and file.channels == 1 else None


def _written(samples: Any, how: str, rounding: float | None) -> Any:
    """Return samples as they are in the files that a system's own scripts write, int16; silence as it is."""
    samples = np.asarray(samples, np.float32)
    if how == "int16":
        # In float32, as ffmpeg, where what lies halfway between two numbers stays there.
        scaled = samples * np.float32(32768)
        whole = np.rint(scaled) if rounding is None else np.floor(scaled + rounding)
        return np.clip(whole, -32768, 32767).astype(np.int16)
    if how == "floor":
        return np.clip(np.floor(np.float32(32768) * samples), -32768, 32767).astype(np.int16)
    peak = np.abs(samples).max(initial=0)
    if not peak:
        return samples
    # In the order of the scripts: rounding decides which fraction is cut off. What does not fit wraps round, as there.
    if how == "full":
        return (samples / peak * np.float32(32768)).astype(np.int32).astype(np.int16)
    mixed = samples / peak * np.float32(0.95 * 16384) + np.float32(16384) * samples
    return mixed.astype(np.int32).astype(np.int16)


def read_excerpt(
    path: Path,
    sample_rate: int,
    start: int,
    stop: int | None,
    config: ReadingConfig,
    *,
    inside: str = "",
    remarks: list[str] | None = None,
) -> tuple[Samples, int] | None:
    """Read samples ``start`` to ``stop`` of a recording; return them and the length of the recording.

    It is not `prepared`. Return None if an excerpt cannot be read separately: the recording must be resampled, or its
    format does not support exact seeking (in MP3 and Opus, samples after a seek differ from those of a read from the
    start).

    Returns:
        [n_samples] float32, fewer than requested if the recording ends earlier; the number of samples of the recording.

    Raises:
        AudioError: as for `read_waveform`, for the samples that are read.
    """
    # The temporary files of recordings inside others can have the same number, size and time one after another.
    with _opened(path, inside, inspect if inside else inspect_once) as recording:
        plain = _is_plain(recording.file) or recording.file.format == "FLAC"
        if recording.file.samplerate != sample_rate or not plain:
            return None
        length = recording.n_samples
        start, stop = min(start, length), length if stop is None else min(stop, length)
        return _decoded(recording, start, stop - start, config, remarks)[0], length


def read_within(
    path: Path,
    sample_rate: int,
    within: tuple[float, float | None],
    config: ReadingConfig,
    *,
    inside: str = "",
    remarks: list[str] | None = None,
) -> Samples:
    """Read a recording from a second to another, or to its end, as `read_waveform`.

    Start and end are rounded to the nearest samples. If an excerpt cannot be read separately (see `read_excerpt`), it
    is cut from the full recording after resampling. The full recording is cached for the next row, which is usually
    another excerpt of it; a worker then holds one full recording in memory.

    Raises:
        AudioError: the recording is unusable, ends 0.1 s before the excerpt or earlier, or is silent there.
    """
    # What a system's scripts do to the level of a file, they do to that of the excerpt.
    rate, plain = config.through or sample_rate, replace(config, through=0, written="")
    start, stop = round(within[0] * rate), None if within[1] is None else round(within[1] * rate)
    result = read_excerpt(path, rate, start, stop, plain, inside=inside, remarks=remarks)
    if result is None:
        recording, found = _full_recording(path, file_version(path), inside, rate, plain)
        if remarks is not None:
            remarks.extend(found)
        result = recording[start:stop], len(recording)
    excerpt, length = result
    if len(excerpt) == 0 or (stop or 0) > length + rate // 10:
        end = "its end" if within[1] is None else f"{within[1]:g}"
        raise AudioError(f"{path.name}: {length / rate:.3f} s long, expected an excerpt from {within[0]:g} to {end} s")
    if not excerpt.any():
        raise AudioError(f"{path.name}: digital silence from {within[0]:g} s on, every sample is 0")
    return prepared(np.array(excerpt, np.float32), rate, sample_rate, config)


@lru_cache(maxsize=1)
def _full_recording(
    path: Path, _version: tuple[int, ...], inside: str, sample_rate: int, config: ReadingConfig
) -> tuple[Samples, list[str]]:
    """Return a whole recording and remarks on it, kept until another one, or another version of it, is read."""
    remarks: list[str] = []
    samples = read_samples(path, sample_rate, config, inside=inside, remarks=remarks, keeps_16_bits=False)
    return samples, remarks


class _Recording(NamedTuple):
    """An open recording, and its number of samples per channel."""

    file: soundfile.SoundFile | PcmFile
    n_samples: int
    is_lossy: bool


@contextmanager
def _opened(path: Path | str, inside: str, inspected: Callable[[FileIO], Stream]) -> Iterator[_Recording]:
    """Open a recording, check its header against the size of the file, and convert exceptions to `AudioError`."""
    try:
        raw = open_recording(Path(path), inside) if inside else open_regular(path)
    except FileNotFoundError:
        raise AudioError(f"{Path(path).name}: no such file") from None
    except (OSError, ValueError) as error:
        raise AudioError(f"{Path(path).name}: cannot be opened ({_reason(error)})") from error
    try:
        with raw:
            stream = inspected(raw)
            with PcmFile(raw, stream.plain) if stream.plain else _decoder(raw, stream) as file:
                n_samples = file.frames if stream.n_samples is None else stream.n_samples
                if stream.plain is None:
                    # Of plain samples, inspection has checked it.
                    _check_claim(n_samples * file.channels, raw)
                if n_samples > file.frames:
                    raise BrokenRecordingError(f"truncated, {file.frames:,} samples, the header says {n_samples:,}")
                if not MIN_RATE <= file.samplerate <= MAX_RATE:
                    raise BrokenRecordingError(
                        f"a sample rate of {file.samplerate:,} Hz, expected {MIN_RATE:,} to {MAX_RATE:,}"
                    )
                yield _Recording(file, n_samples, stream.is_lossy)
    except BrokenRecordingError as error:
        raise AudioError(f"{Path(path).name}: {error}") from error
    except (soundfile.SoundFileError, OSError, ValueError) as error:
        raise AudioError(f"{Path(path).name}: cannot be read as audio ({_reason(error)})") from error


def _decoder(raw: FileIO, stream: Stream) -> soundfile.SoundFile:
    """Return what libsndfile decodes."""
    _check_claim(stream.n_samples or 0, raw)
    raw.seek(0)
    # By descriptor, because soundfile guesses the format from the extension of a name.
    source = raw.fileno() if stream.contents is None else BytesIO(stream.contents)
    file = soundfile.SoundFile(source, closefd=False)
    if not stream.padding or file.frames >= (stream.n_samples or 0):
        return file
    file.close()
    return soundfile.SoundFile(BytesIO((stream.contents or read_from(raw, 0)) + bytes(stream.padding)))


def _check_claim(n_samples: int, raw: FileIO) -> None:
    size = os.fstat(raw.fileno()).st_size
    if not 0 <= n_samples <= MAX_SAMPLES_PER_BYTE * size:
        raise BrokenRecordingError(f"damaged, its {size:,} bytes cannot hold the {n_samples:,} samples it claims")


def inspect_once(raw: FileIO) -> Stream:
    """Inspect a recording; the result is cached for successive excerpts of one recording."""
    version = file_version(raw.fileno())
    stream = _inspected.get(version)
    if stream is None:
        stream = inspect(raw)
        _inspected.clear()
        _inspected[version] = stream
    return stream


_inspected: dict[tuple[int, ...], Stream] = {}


def _is_plain(file: soundfile.SoundFile | PcmFile) -> bool:
    return file.format in _PLAIN_FORMATS and file.subtype in _PLAIN_SUBTYPES


def _decoded(
    recording: _Recording,
    start: int,
    count: int,
    config: ReadingConfig,
    remarks: list[str] | None,
    *,
    keeps_16_bits: bool = False,
) -> tuple[Samples, bool]:
    """Decode ``count`` samples from ``start`` as one channel, [count]; return also whether all are 0.

    Args:
        keeps_16_bits: return int16 if the recording has 16 bits, unless channels are averaged; otherwise float32.
    """
    file = recording.file
    channel = _channel(file, config)
    averages = config.channel in ("mean", "power") and file.channels > 1
    if start:
        file.seek(start)
    # 16-bit samples are read unconverted, because numpy converts faster than libsndfile.
    name, dtype = ("int16", np.int16) if file.subtype == "PCM_16" else ("float32", np.float32)
    keeps = keeps_16_bits and dtype == np.int16 and not averages
    waveform: Samples = np.empty(count, np.int16) if keeps else np.empty(count, np.float32)
    if keeps and file.channels == 1:
        _fill(file, waveform, name, 0, count)
        return waveform, _is_silent(waveform)
    # ffmpeg divides the sum of two channels by √2; the mean is half of the sum.
    factor = math.sqrt(2) if averages and config.channel == "power" else 1.0
    # Other formats are read in one call: every read starts with a seek, which changes samples of MP3 and Opus.
    size = _BLOCK if count > _BLOCK and _is_plain(file) else count
    block = np.empty((size, file.channels), dtype)
    peak, silent = 0.0, True
    for first in range(0, count, max(1, size)):
        target = waveform[first : first + size]
        samples: Any = block[: len(target)]
        _fill(file, samples, name, first, count)
        with np.errstate(over="ignore", invalid="ignore"):
            chosen = samples.mean(axis=1, dtype=np.float32) if averages else samples[:, channel]
        if dtype == np.float32:
            peak = max(peak, _peak(chosen))
        silent = silent and _is_silent(chosen)
        if keeps:
            target[:] = chosen
        else:
            # Scaling by a power of two is exact, so the mean may be taken before it.
            np.multiply(chosen, np.float32(factor * (FULL_SCALE if dtype == np.int16 else 1)), out=target)
    if dtype == np.float32:
        _check_peak(recording, peak, remarks)
    return waveform, silent


def _fill(file: soundfile.SoundFile | PcmFile, samples: Any, name: str, first: int, count: int) -> None:
    """Fill an array with the next samples of ``count``, of which ``first`` have been read."""
    # `read` would derive the type of the samples from the array in every call, which takes as long as a short read.
    if (n_read := file.buffer_read_into(samples, name)) != len(samples):
        raise BrokenRecordingError(f"truncated, {first + n_read:,} samples, the header says {count:,}")


def _is_silent(samples: Any) -> bool:
    """Return whether all samples are 0."""
    # The beginning of most recordings says so; all of one takes as long as to open the file.
    return not (np.count_nonzero(samples[:4096]) or samples.any())


def _channel(file: soundfile.SoundFile | PcmFile, config: ReadingConfig) -> int:
    channel = config.channel if isinstance(config.channel, int) else 0
    if config.channel == "power" and file.channels > 2:
        raise BrokenRecordingError(f"has {file.channels} channels, expected one or two; give channel = 'mean'")
    if not 0 <= channel < file.channels:
        raise BrokenRecordingError(f"has {file.channels} channels, expected a channel {channel}, counted from 0")
    return channel


def _peak(samples: Any) -> float:
    lowest, highest = float(samples.min()), float(samples.max())
    # NaN propagates to both; infinity is one of them.
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        raise BrokenRecordingError("holds NaN or infinite samples")
    return max(highest, -lowest)


def _check_peak(recording: _Recording, peak: float, remarks: list[str] | None) -> None:
    """Refuse integers that are stored as floats, and remark on floats whose scale is doubtful."""
    if peak > MAX_PEAK:
        raise BrokenRecordingError(
            f"samples of up to {peak:,.6g}, expected full scale to be 1; divide integers by theirs"
        )
    is_of_floats = recording.file.subtype in ("FLOAT", "DOUBLE") and not recording.is_lossy
    if remarks is not None and is_of_floats and peak > 1:
        remarks.append(BEYOND_FULL_SCALE)


def _reason(error: Exception) -> str:
    if isinstance(error, soundfile.LibsndfileError):
        return str(error.error_string).rstrip(".") or f"libsndfile's error {error.code}"
    return str(getattr(error, "strerror", None) or error).splitlines()[0]


def resample(
    waveform: Waveform, rate: int, sample_rate: int, resampler: str = DEFAULT_RESAMPLER
) -> Waveform | npt.NDArray[np.float64]:
    """Return a waveform at another sample rate.

    Args:
        waveform: [n_samples] float32.
        rate, sample_rate: the present and the new sample rate, Hz.
        resampler: one of `tts_prep.preprocess.audio.config.RESAMPLERS`.

    Returns:
        [n_new] float32, and float64 of ``ffmpeg``: ⌈n_samples · sample_rate / rate⌉ samples. Where soxr returns one
        less, a zero follows, as in ``librosa.resample``; ffmpeg returns up to one less or more.
    """
    if rate == sample_rate:
        return waveform
    if not resampler.startswith("soxr_"):
        resampled: npt.NDArray[np.float64] = doors.need("resamplers", resampler)(waveform, rate, sample_rate)
        return resampled
    import soxr

    made = soxr.resample(waveform, rate, sample_rate, quality=resampler.removeprefix("soxr_").upper())
    # librosa's ratio is rounded before it is multiplied, which can make one more of the samples.
    n_samples = math.ceil(len(waveform) * (sample_rate / rate))
    result = np.zeros(n_samples, np.float32)
    result[: len(made)] = made[:n_samples]
    return result
