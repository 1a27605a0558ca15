"""Mel spectrograms and recordings as ``data:`` URIs, so that pages are self-contained."""

from __future__ import annotations

import base64
import io
import wave
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from tts_prep.pictures.colours import PALETTE, mel_levels

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
    picture = Image.fromarray(np.ascontiguousarray(mel_levels(values, low, high).T[::-1]), mode="P")
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
