"""Mel spectrograms and recordings as ``data:`` URIs, so that pages are self-contained."""

from __future__ import annotations

import base64
import io
import wave
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

Array = npt.NDArray[Any]

_MAX_COLUMNS = 3000
"""The maximum width of an image in pixels. Adjacent frames of longer utterances are averaged."""

_PALETTE = bytes.fromhex(
    "00000402010903031206051a0a08220e0b2b130d34180f3d1d114722115029115a2f116336106b3d0f71440f764a1079"
    "52137c59157e5f187f651a806b1d81721f817822817e24828426818b2981912b81982d809e2f7fa5317eab337cb2357b"
    "ba3878c03a76c73d73cd4071d3436ed9466bdf4a68e44f64e95462ed5a5ff1605df4675cf66e5cf8765cfa7d5efb8560"
    "fc8e64fd9668fe9d6cfea571feac76feb47bfebb81fec287feca8dfed194fed89afde0a1fde7a9fceeb0fcf6b8fcfdbf"
)
"""64 colours of matplotlib's colormap "magma" (S. van der Walt and N. Smith, CC0), from dark to bright."""


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
    scaled = np.nan_to_num((values - low) / max(1e-9, high - low), nan=0.0, posinf=1.0, neginf=0.0)
    # 64 levels look the same as 256, and halve the compressed size.
    levels = np.rint(np.clip(scaled, 0, 1) * 63).astype(np.uint8)
    picture = Image.fromarray(np.ascontiguousarray(levels.T[::-1]), mode="P")
    picture.putpalette(_PALETTE)
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
