"""Spectrograms of utterances with pitch and phones at one time scale, and their recordings, for pages and notebooks.

Pictures and sounds are ``data:`` URIs, so that pages are self-contained.
"""

import base64
import io
import wave
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image
from markupsafe import Markup

from tts_prep.pictures.clip import Clip, Phone
from tts_prep.pictures.drawing import PALETTE, Drawing, Image, Label, Line, Path, Scale, mel_levels, tick_texts, ticks
from tts_prep.pictures.templates import make_environment
from tts_prep.quantities import number_text

Array = npt.NDArray[Any]

_MAX_COLUMNS = 3000
"""The maximum width of an image in pixels. Adjacent frames of longer utterances are averaged."""


def mel_picture(mel: Array, low: float, high: float) -> str:
    """Return a PNG image of a mel spectrogram, with low frequencies at the bottom.

    Args:
        mel: [n_frames, n_mels].
        low, high: the values of the darkest and the brightest colour.
    """
    values: npt.NDArray[Any] = np.asarray(mel, np.float32)
    step = max(1, -(-len(values) // _MAX_COLUMNS))
    starts = np.arange(0, len(values), step)
    if step > 1:
        values = np.add.reduceat(values, starts, axis=0) / np.diff([*starts, len(values)])[:, None].astype(np.float32)
    picture = PIL.Image.fromarray(np.ascontiguousarray(mel_levels(values, low, high).T[::-1]), mode="P")
    picture.putpalette(PALETTE)
    png = io.BytesIO()
    picture.save(png, "PNG", optimize=True)
    return _data_uri("image/png", png.getvalue())


def sound(samples: Array, sample_rate: int) -> str:
    """Return a 16-bit WAV file of a waveform.

    Args:
        samples: [n_samples] int16, or float32 within ±1.
    """
    if samples.dtype != np.int16:
        samples = (np.clip(np.nan_to_num(samples), -1, 1) * 32767).astype(np.int16)
    file = io.BytesIO()
    with wave.open(file, "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(sample_rate)
        wav.writeframes(samples.astype("<i2").tobytes())
    return _data_uri("audio/wav", file.getvalue())


def _data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


PIXELS_PER_SECOND = 150
"""The time scale of all utterances. A phone of 80 ms is 12 pixels wide, enough for its symbol."""

MAX_SECONDS = 60.0
"""The maximum duration that is drawn."""

_LEFT, _TOP, _HEIGHT = 50, 6, 128
_MARGIN = 24
"""The space on the right for half of the label of the last tick."""

_ROW = 14
"""The height of a line of phone symbols. They alternate between two lines, so that they do not overlap."""


def draw_spectrogram(clip: Clip, pitch_range: tuple[float, float] | None = None) -> Drawing:
    """Draw the mel spectrogram of an utterance with axes in seconds and Hz.

    Args:
        pitch_range: the range of the pitch axis in Hz; default: the range of the utterance.
    """
    # The left edge of the first frame can be half a hop before the recording.
    start, end = min(0.0, clip.first_edge), min(max(clip.last_edge, clip.seconds, 0.1), MAX_SECONDS)
    x = Scale(start, end, _LEFT, _LEFT + (end - start) * PIXELS_PER_SECOND)
    bottom = _TOP + _HEIGHT
    lines: list[Line] = []
    labels = [*_frequencies(clip, bottom)]
    paths: list[Path] = []
    if clip.phones:
        boundaries, symbols = _phones([phone for phone in clip.phones if phone.start < phone.end <= end], x, bottom)
        paths.extend(boundaries)
        labels.extend(symbols)
    axis = bottom + (2 * _ROW + 4 if clip.phones else 0)
    for half in range(int(end * 2) + 1):
        second = half / 2
        lines.append(Line(x(second), axis, x(second), axis + 4, "tick"))
        labels.append(Label(x(second), axis + 16, f"{number_text(second)} s"))
    pitch_axis: tuple[Label, ...] = ()
    if clip.pitch is not None and (curve := _pitch(clip, x, bottom, pitch_range)):
        path, pitch_axis = curve
        paths.append(path)
    part = f", the first {MAX_SECONDS:.0f} s" if end < clip.seconds else ""
    return Drawing(
        f"Mel spectrogram of {clip.id}, {number_text(clip.seconds)} s{part}",
        x.end + _MARGIN,
        axis + 20,
        images=tuple(_mel(clip, x, end)),
        lines=tuple(lines),
        paths=tuple(paths),
        labels=tuple(labels),
        scaled=False,
        axis=pitch_axis,
    )


def _mel(clip: Clip, x: Scale, end: float) -> Iterator[Image]:
    """Yield the picture of the mel up to a time, if it has frames."""
    mel = clip.mel[: round((end - clip.first_edge) / clip.hop)]
    left, right = x(clip.first_edge), x(clip.first_edge + len(mel) * clip.hop)
    if mel.size:
        yield Image(left, _TOP, right - left, _HEIGHT, mel_picture(mel, *clip.mel_range))


def _phones(shown: Sequence[Phone], x: Scale, bottom: float) -> tuple[list[Path], list[Label]]:
    """Return the boundaries of phones, and their symbols in two rows below the spectrogram."""
    edges = [f"M{x(phone.start):.1f} " for phone in shown]
    boundaries = "".join(f"{edge}{_TOP}v{_HEIGHT}" for edge in edges)
    below = "".join(f"{edge}{bottom}v{2 * _ROW + 4}" for edge in edges)
    labels = [
        Label((x(phone.start) + x(phone.end)) / 2, bottom + 12 + _ROW * (number % 2), phone.symbol[:8], style="phone")
        for number, phone in enumerate(shown)
    ]
    return [Path(boundaries, "boundary"), Path(below, "edge")], labels


def _frequencies(clip: Clip, bottom: float) -> Iterator[Label]:
    n_mels = clip.mel.shape[1]
    y = Scale(-0.5, n_mels - 0.5, bottom, _TOP)
    if clip.mel_axis is None:
        for at in ticks(0, n_mels - 1, 3) if n_mels else ():
            yield Label(_LEFT - 6, y(at) + 4, f"bin {at:.0f}", "end")
        return
    for hertz, place in clip.mel_axis.labels():
        text = f"{number_text(hertz / 1000)} kHz" if hertz >= 1000 else f"{hertz:.0f} Hz"
        # The lowest and the highest label must not extend beyond the drawing.
        yield Label(_LEFT - 6, min(max(y(place) + 4, _TOP + 8), bottom), text, "end")


def _pitch(
    clip: Clip, x: Scale, bottom: float, pitch_range: tuple[float, float] | None
) -> tuple[Path, tuple[Label, ...]] | None:
    assert clip.pitch is not None
    voiced = np.isfinite(clip.pitch)
    if not voiced.any():
        return None
    low, high = pitch_range or (float(clip.pitch[voiced].min()), float(clip.pitch[voiced].max()))
    if high <= low:
        low, high = low * 0.9 - 1, high * 1.1 + 1
    y = Scale(low, high, bottom - 4, _TOP + 4)
    times = clip.frame_times()
    parts = []
    pen_down = False
    for time, value in zip(times.tolist(), clip.pitch.tolist(), strict=True):
        if time > x.high:
            break
        if not np.isfinite(value):
            pen_down = False
            continue
        # Values outside the axis are clipped.
        parts.append(f"{'L' if pen_down else 'M'}{x(time):.1f} {min(max(y(value), _TOP), bottom):.1f}")
        # An isolated voiced frame is a dot.
        if not pen_down:
            parts.append("h.1")
        pen_down = True
    marks = tuple(Label(4, y(tick) + 4, f"{text} Hz", "start") for tick, text in tick_texts(ticks(low, high, 4)))
    return Path("".join(parts), "pitch"), marks


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
