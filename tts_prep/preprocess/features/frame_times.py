"""The instants at which the frames of a mel spectrogram are centred, and bringing a waveform onto their grid.

Pitch trackers give one value every hop, the first one at sample 0. A mel whose framing pads (n_fft − hop) / 2 samples
has its frames half a hop later. A track on the wrong grid is hard to notice,
so every tracker gets its waveform from here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.framing import Waveform, frame_padding, n_frames


def first_centre(n_samples: int, config: MelConfig) -> int:
    """Return the sample of a waveform at which its first mel frame is centred; frame *t* is t · hop_length later.

    Negative where the recipe puts zeros in front of the waveform (``edge_zeros``).

    Raises:
        AudioError: the waveform is too short to be framed.
    """
    left, _ = frame_padding(n_samples, config)
    return config.n_fft // 2 - left - config.edge_zeros


def frame_centres(n_samples: int, config: MelConfig) -> npt.NDArray[np.int64]:
    """Return the samples of a waveform at which its mel frames are centred, [n_frames].

    Raises:
        AudioError: the waveform is too short to be framed.
    """
    return first_centre(n_samples, config) + config.hop_length * np.arange(n_frames(n_samples, config))


@dataclass(frozen=True)
class TrackerGrid:
    """A waveform such that a tracker with one value every hop, from sample 0 on, meets the centres of the mel frames.

    Attributes:
        lead: zeros to put in front of the waveform.
        first: the tracker's value that belongs to mel frame 0.
        n_frames: the number of mel frames.
        hop_length: samples.
    """

    lead: int
    first: int
    n_frames: int
    hop_length: int

    @classmethod
    def of(cls, n_samples: int, config: MelConfig) -> TrackerGrid:
        """Return the grid of a waveform's mel frames.

        Raises:
            AudioError: the waveform is too short to be framed.
        """
        centre = first_centre(n_samples, config)
        hop = config.hop_length
        lead = -centre % hop if centre > 0 else -centre
        return cls(lead, (centre + lead) // hop, n_frames(n_samples, config), hop)

    def padded(self, waveform: Waveform, tail: int = 0) -> Waveform:
        """Return the waveform with the zeros in front, and ``tail`` zeros behind."""
        return np.pad(waveform, (self.lead, tail)) if self.lead or tail else waveform

    def select(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the values of the mel frames, [n_frames], out of a tracker's; 0 where the tracker ended before."""
        selected = values[self.first : self.first + self.n_frames]
        return np.pad(selected, (0, self.n_frames - len(selected)))
