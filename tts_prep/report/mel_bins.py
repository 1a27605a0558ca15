"""A chart of mean and standard deviation by mel bin."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tts_prep.pictures.drawing import Drawing, Label, Line, Path
from tts_prep.pictures.scales import MelAxis, Scale, padded_scale, tick_texts, ticks
from tts_prep.quantities import number_text

_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 10, 408, 192


def mel_bins(mean: npt.ArrayLike, std: npt.ArrayLike, axis: MelAxis | None) -> Drawing:
    """Draw the mean by mel bin as a curve, with a band of ± one standard deviation; both are [n_mels]."""
    middle, spread = np.asarray(mean, float), np.asarray(std, float)
    x = Scale(0, max(1, len(middle) - 1), _LEFT, _RIGHT)
    y = padded_scale(float((middle - spread).min(initial=0)), float((middle + spread).max(initial=0)), _BOTTOM, _TOP)
    curve, upper, lower = (
        [f"{x(i):.1f},{y(value):.1f}" for i, value in enumerate(values.tolist())]
        for values in (middle, middle + spread, middle - spread)
    )
    marks = ticks(y.low, y.high)
    lines = [Line(_LEFT, y(tick), _RIGHT, y(tick)) for tick in marks]
    labels = [Label(_LEFT - 6, y(tick) + 4, text, "end") for tick, text in tick_texts(marks)]
    places = axis.labels(6) if axis else [(tick, tick) for tick in ticks(0, x.high)]
    labels += [Label(x(place), _BOTTOM + 16, number_text(value)) for value, place in places]
    title = "centre of the mel bin (Hz)" if axis else "mel bin"
    labels.append(Label((_LEFT + _RIGHT) / 2, _BOTTOM + 34, title))
    labels.append(Label(12, (_TOP + _BOTTOM) / 2, "mel value", turned=True))
    return Drawing(
        "Line: mean and standard deviation of every mel bin",
        420,
        232,
        lines=tuple(lines),
        paths=(Path(f"M{' '.join([*upper, *lower[::-1]])}Z", "band"), Path(f"M{' '.join(curve)}", "curve")),
        labels=tuple(labels),
        legend=(("curve", "mean"), ("band", "± standard deviation")),
    )
