"""Mel pictures and sounds as ``data:`` URIs, so that a page needs no other file."""

from __future__ import annotations

import base64
import io
import wave
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from PIL import Image

from tts_prep.format.datasets import Array

_MOST_COLUMNS = 320
"""Of a picture; frames beyond are averaged. Twice as wide as a phone shows, and a tenth of a page's size."""


def mel_picture(mel: Array, low: float, high: float) -> str:
    """Return a PNG of a mel spectrogram, low frequencies at the bottom.

    Args:
        mel: [n_frames, n_mels].
        low, high: the values that are darkest and brightest.
    """
    values: npt.NDArray[Any] = np.asarray(mel, np.float32)
    step = max(1, -(-len(values) // _MOST_COLUMNS))
    starts = np.arange(0, len(values), step)
    if step > 1:
        values = np.add.reduceat(values, starts, axis=0) / np.diff([*starts, len(values)])[:, None].astype(np.float32)
    scaled = np.nan_to_num((values - low) / max(1e-9, high - low), nan=0.0, posinf=1.0, neginf=0.0)
    # 64 shades are more than an eye tells apart here, and compress to half.
    levels = np.rint(np.clip(scaled, 0, 1) * 63).astype(np.uint8)
    picture = Image.fromarray(np.ascontiguousarray(levels.T[::-1]), mode="P")
    picture.putpalette(_palette().tobytes())
    png = io.BytesIO()
    picture.save(png, "PNG", optimize=True)
    return _data_uri("image/png", png.getvalue())


def sound(samples: Array, sample_rate: int) -> str:
    """Return a WAV of a waveform, 16 bits.

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


def _palette() -> npt.NDArray[np.uint8]:
    colours = mpl.colormaps["magma"](np.linspace(0, 1, 64))[:, :3]
    palette: npt.NDArray[np.uint8] = np.rint(colours * 255).astype(np.uint8)
    return palette


def _data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
