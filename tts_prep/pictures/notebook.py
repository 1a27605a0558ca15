"""HTML of an utterance for notebooks."""

from __future__ import annotations

from importlib.resources import files

from markupsafe import Markup

from tts_prep.pictures.clip import Clip
from tts_prep.pictures.media import sound
from tts_prep.pictures.spectrogram import draw_spectrogram
from tts_prep.pictures.templates import make_environment
from tts_prep.quantities import number_text

_MAX_SOUND_SECONDS = 120.0
"""The maximum duration of a recording that is embedded in a notebook."""


def clip_html(clip: Clip) -> str:
    """Return a card with spectrogram, text, phonemes and, if there is a waveform, an audio player."""
    has_sound = clip.waveform is not None and 0 < len(clip.waveform) <= _MAX_SOUND_SECONDS * clip.sample_rate
    return (
        make_environment()
        .get_template("notebook.html.j2")
        .render(
            clip=clip,
            facts=[f"{number_text(clip.seconds)} s"],
            drawing=draw_spectrogram(clip) if clip.mel.size else None,
            sound=sound(clip.waveform, clip.sample_rate) if has_sound and clip.waveform is not None else "",
            style=Markup(files("tts_prep.pictures").joinpath("card.css").read_text(encoding="utf-8")),
        )
    )
