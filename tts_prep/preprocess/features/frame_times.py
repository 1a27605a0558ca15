"""The centres of mel frames, and alignment of pitch trackers with them.

Pitch trackers return one value per hop, the first one at sample 0. With framing that pads (n_fft − hop) / 2, mel frames
are centred half a hop later. All trackers use `TrackerGrid`, because a misaligned track is hard to notice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.framing import Waveform, frame_padding, n_frames


def first_centre(n_samples: int, config: MelConfig) -> int:
    """Return the sample at which the first mel frame of a waveform is centred. Frame *t* is t · hop_length later.

    It is negative if the settings add zeros before the waveform (``edge_zeros``).

    Raises:
        AudioError: the waveform is too short for the framing.
    """
    left, _ = frame_padding(n_samples, config)
    return config.n_fft // 2 - left - config.edge_zeros


@dataclass(frozen=True)
class TrackerGrid:
    """Padding and selection that align a tracker with one value per hop with the mel frames of a waveform.

    Attributes:
        lead: the number of zeros to add before the waveform.
        first: the index of the tracker's value for mel frame 0.
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
            AudioError: the waveform is too short for the framing.
        """
        centre = first_centre(n_samples, config)
        hop = config.hop_length
        lead = -centre % hop if centre > 0 else -centre
        return cls(lead, (centre + lead) // hop, n_frames(n_samples, config), hop)

    def padded(self, waveform: Waveform, tail: int = 0) -> Waveform:
        """Return the waveform with the leading zeros and ``tail`` trailing zeros."""
        return np.pad(waveform, (self.lead, tail)) if self.lead or tail else waveform

    def select(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Select the values of the mel frames, [n_frames], from those of a tracker; missing ones are 0."""
        selected = values[self.first : self.first + self.n_frames]
        return np.pad(selected, (0, self.n_frames - len(selected)))
