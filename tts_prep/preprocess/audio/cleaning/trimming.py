"""Where a recording begins and ends once its silent ends are cut off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.cleaning.config import CleaningConfig
from tts_prep.preprocess.audio.framing import Waveform


@dataclass(frozen=True)
class Cut:
    """The samples of a recording that are kept.

    Attributes:
        start, stop: the first one, and the one behind the last.
        n_samples: of the recording before.
    """

    start: int
    stop: int
    n_samples: int

    def widened(self, margin: int) -> Cut:
        """Return a cut with so many samples more at both ends, as far as there are any."""
        return Cut(max(0, self.start - margin), min(self.n_samples, self.stop + margin), self.n_samples)


def energy_cut(waveform: Waveform, config: CleaningConfig) -> Cut:
    """Return the samples from the first loud frame to the last one, without a margin.

    The frames are those of ``librosa.effects.trim``: centred on multiples of the hop length, with zeros outside of the
    recording. With the reference ``loudest_frame`` the cut is librosa's, which ParallelWaveGAN and ESPnet use; with
    ``peak``, that of NeMo's ``EnergyAudioTrimmer``.

    Args:
        waveform: [n_samples] float32.

    Raises:
        AudioError: no frames are loud.
    """
    import librosa

    assert config.trim_db is not None
    by_peak = config.trim_reference == "peak"
    if by_peak:
        # To an amplitude of 1 first, as NeMo does: that decides on the rounding.
        waveform = waveform / np.abs(waveform).max()
    rms = librosa.feature.rms(y=waveform, frame_length=config.trim_frame_length, hop_length=config.trim_hop_length)[0]
    levels = np.asarray(librosa.amplitude_to_db(rms, ref=1.0 if by_peak else np.max, top_db=None))
    span = first_and_last(levels > -config.trim_db, config.trim_min_frames)
    if span is None:
        raise AudioError(
            f"nothing is left after trimming: no {_frames(config.trim_min_frames)} within {config.trim_db:g} dB of the "
            f"{'peak' if by_peak else 'loudest frame'}; give a larger trim_db"
        )
    n_samples, hop = len(waveform), config.trim_hop_length
    return Cut(span[0] * hop, min(n_samples, span[1] * hop), n_samples)


def first_and_last(active: npt.NDArray[np.bool_], min_frames: int) -> tuple[int, int] | None:
    """Return the first frame and the one behind the last of the frames that are active so many in a row.

    None where there are none. The rule is that of NeMo's ``get_start_and_end_of_speech_frames``.
    """
    if len(active) < min_frames:
        return None
    runs = np.flatnonzero(np.convolve(active, np.ones(min_frames), "valid") > min_frames - 0.5)
    return (int(runs[0]), int(runs[-1]) + min_frames) if len(runs) else None


def _frames(n: int) -> str:
    return "frame is" if n == 1 else f"{n} frames in a row are"
