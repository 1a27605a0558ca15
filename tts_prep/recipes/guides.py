"""What to run for each system, from raw recordings to a batch: a command and a few lines of Python.

The commands come from the records of what recipes accept, so that they say what messages and pages say. The code is in
``guides/NAME.txt``; it reads the store ``store``, and makes ``batch``.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tts_prep.recipes import accepted
from tts_prep.recipes.accepted import Recipe


@dataclass(frozen=True)
class Guide:
    """What to run for a system.

    Attributes:
        name: the name for ``tts-prep recipes``.
        recipe: what its recipe accepts.
        trains: what is trained, in some words.
        more: options that the system's own configuration needs besides those of its recipe, or that save time.
    """

    name: str
    recipe: Recipe
    trains: str
    more: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command that makes the store of a corpus."""
        options = (*self.recipe.options({}), *self.recipe.options_of_ids, *(need.option for need in self.recipe.needs))
        return " ".join(("tts-prep ljspeech CORPUS store", *options, *self.more))

    @property
    def code(self) -> str:
        """Python that makes the first batch of the store."""
        return importlib.resources.files(__package__).joinpath("guides", f"{self.name}.txt").read_text("utf-8")


_GUIDES: Final = (
    Guide("styletts2", accepted.STYLETTS2, "text to speech, end to end", ("--ood-texts OOD_TEXTS",)),
    Guide("f5-tts", accepted.F5_TTS, "text to mel, with a prompt"),
    Guide("matcha", accepted.MATCHA, "text to mel"),
    # Piper leaves out phonemes that its table lacks (phonemes_to_ids). Spectrograms are not computed at each step.
    Guide("piper", accepted.PIPER, "text to speech, end to end", ("--unknown drop", "--feature spectrogram")),
    Guide("vits", accepted.VITS, "text to speech, end to end", ("--feature spectrogram",)),
    Guide("fastpitch", accepted.FASTPITCH, "text to mel, with pitch"),
    Guide("fastspeech2", accepted.FASTSPEECH2, "text to mel, with durations, pitch and energy"),
    Guide("parakeet", accepted.PARAKEET, "text to mel (Transformer TTS)"),
    Guide("bigvgan", accepted.BIGVGAN, "mel to waveform"),
    # Its loss compares mels up to half of the sample rate: fmax_for_loss is null in its configuration files.
    Guide("hifigan", accepted.HIFI_GAN, "mel to waveform", ("--feature mel:preset=hifigan,fmax=11025",)),
    Guide("vocos", accepted.VOCOS, "mel to waveform"),
    Guide("parakeet-wavenet", accepted.WAVENET, "mel to waveform"),
)
GUIDES: Final[Mapping[str, Guide]] = MappingProxyType({guide.name: guide for guide in _GUIDES})
"""The systems by name."""
