"""Plots of utterances: axes in seconds and Hz, and positions of elements."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import librosa
import numpy as np
import pytest
import soundfile
from commands import run
from jinja2 import Environment
from PIL import Image
from stores import make_rows, write_store

from tts_prep.loader import UtteranceDataset
from tts_prep.pictures.clip import Clip, Phone, clip_of
from tts_prep.pictures.drawing import MelAxis
from tts_prep.pictures.figure import plot_clip
from tts_prep.pictures.spectrogram import PIXELS_PER_SECOND, clip_html, draw_spectrogram
from tts_prep.preprocess.audio.mel import mel_spectrogram
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.quantities import number_text, share_text

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"' $x_{2}$ \u202e \U0010fffd"


def make_clip() -> Clip:
    """Return a second of 100 frames of 10 ms with pitch in its second half."""
    rng = np.random.default_rng(0)
    pitch = np.full(100, np.nan)
    pitch[50:] = np.linspace(100, 200, 50)
    phones = (Phone("a", 0.0, 0.25), Phone("b", 0.25, 0.25), Phone("aɪ", 0.25, 1.0))
    return Clip(
        id="clip",
        speaker="p225",
        text="A text.",
        phoneme_text="ɐ tˈɛkst",
        language="en",
        seconds=1.0,
        sample_rate=16_000,
        hop=0.01,
        first_frame=0.005,
        mel=rng.normal(size=(100, 80)).astype(np.float32),
        mel_range=(-2.0, 2.0),
        mel_axis=MelAxis("slaney", 0, 8000, 80),
        waveform=rng.integers(-3000, 3000, 16_000).astype(np.int16),
        phones=phones,
        pitch=pitch,
        energy=rng.random(100),
    )


def test_the_score_of_an_alignment_is_in_the_title() -> None:
    pytest.importorskip("matplotlib")
    titles = [
        plot_clip(replace(make_clip(), alignment_score=score)).get_suptitle().splitlines()[0]
        for score in (-1.234, math.nan)
    ]
    assert titles == ["clip, p225, alignment score −1.23", "clip, p225"]


@pytest.mark.parametrize("scale", ["slaney", "htk"])
def test_frequencies_lie_on_the_bins_whose_filters_librosa_centres_there(scale: str) -> None:
    axis = MelAxis(scale, 55.0, 7600.0, 80)
    centres = librosa.mel_frequencies(82, fmin=55.0, fmax=7600.0, htk=scale == "htk")[1:-1]
    assert [axis.bin(hertz) for hertz in centres] == pytest.approx(list(range(80)), abs=1e-6)
    labels = axis.labels()
    assert 3 <= len(labels) <= 7
    assert all(55 <= hertz <= 7600 for hertz, _ in labels)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(0, "0"), (3, "3"), (12_345, "12,345"), (-0.5, "−0.5"), (1.234, "1.23"), (12.34, "12.3"), (99.96, "100")],
        *[(345.6, "346"), (0.012345, "0.0123"), (float("nan"), "unknown"), (float("-inf"), "−∞")],
    ],
)
def test_numbers_have_three_digits_and_true_signs(value: float, text: str) -> None:
    assert number_text(value) == text


def test_a_share_that_is_not_zero_does_not_look_like_zero() -> None:
    assert [share_text(share) for share in (0, 1 / 13_000, 0.0005, 0.126, 1)] == [
        "0.0%",
        "<0.1%",
        "0.1%",
        "12.6%",
        "100.0%",
    ]


def test_every_second_has_the_same_width_and_everything_lies_at_its_time() -> None:
    clip = make_clip()
    drawing = draw_spectrogram(clip)
    left = next(label.x for label in drawing.labels if label.text == "0 s")
    right = next(label.x for label in drawing.labels if label.text == "1 s")
    assert right - left == PIXELS_PER_SECOND
    (image,) = drawing.images
    assert (image.x, image.width) == pytest.approx((left, PIXELS_PER_SECOND))
    curves = {path.style: path.data for path in drawing.paths}
    boundaries = [float(x) for x in re.findall(r"M([\d.]+) ", curves["boundary"])]
    # The phone that takes no time has no boundary.
    assert boundaries == pytest.approx([left, left + 0.25 * PIXELS_PER_SECOND])
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", curves["pitch"])]
    assert len(points) == 50
    assert points[0][0] == pytest.approx(left + 0.505 * PIXELS_PER_SECOND, abs=0.06)
    # The axis of pitch is on the right; the line rises from 100 to 200 Hz.
    marks = {int(label.text[:-3]): label.y - 4 for label in drawing.axis}
    (low, y_low), *_, (high, y_high) = sorted(marks.items())
    hertz = [low + (y - y_low) / (y_high - y_low) * (high - low) for _, y in points]
    assert hertz == pytest.approx(np.linspace(100, 200, 50), abs=0.2)
    # It is beside what scrolls, and wide enough for its labels.
    assert drawing.axis_width >= max(label.x + 6.5 * len(label.text) for label in drawing.axis)


def test_of_a_long_recording_the_first_minute_is_drawn_and_named() -> None:
    clip = replace(make_clip(), hop=1.0, first_frame=0.5, seconds=100.0, phones=())
    drawing = draw_spectrogram(clip)
    assert "100 s, the first 60 s" in drawing.name
    assert drawing.width < 61 * PIXELS_PER_SECOND
    assert drawing.images[0].width == pytest.approx(60 * PIXELS_PER_SECOND)


def test_a_plot_has_a_panel_for_each_thing_over_one_time_axis() -> None:
    clip = make_clip()
    figure = plot_clip(clip)
    names = [axes.get_ylabel() for axes in figure.axes]
    assert names == ["amplitude", "frequency (Hz)", "energy", "phones", "pitch (Hz)"]
    assert {axes.get_xlim() for axes in figure.axes} == {(0.0, 1.0)}
    assert [text.get_text() for text in figure.axes[3].texts] == ["a", "aɪ"]
    (line,) = figure.axes[4].lines
    assert line.get_xdata()[50] == pytest.approx(0.505)  # type: ignore[index]
    less = replace(clip, waveform=None, energy=None, pitch=None, phones=(), mel_axis=None)
    assert [axes.get_ylabel() for axes in plot_clip(less).axes] == ["mel bin"]


def test_a_plot_takes_texts_for_texts_and_says_what_no_font_has() -> None:
    figure = plot_clip(replace(make_clip(), text=HOSTILE, id="$\\frac$"))
    figure.draw_without_rendering()
    title = figure.get_suptitle()
    assert r"\$x_{2}\$" in title
    assert "(no installed font has " in title
    assert "\U0010fffd" not in title


@pytest.mark.parametrize("text", ["They gave information to the police. " * 5, "他们向警察报告了这件事" * 8])
def test_the_title_of_a_short_recording_with_a_long_text_fits_the_figure(text: str) -> None:
    figure = plot_clip(replace(make_clip(), text=text))
    figure.draw_without_rendering()
    title = figure.texts[0].get_window_extent()
    assert title.x0 >= 0
    assert title.x1 <= figure.bbox.width


def test_in_a_notebook_texts_are_escaped_and_words_stay_whole() -> None:
    clip = replace(make_clip(), id=HOSTILE, text=HOSTILE * 100, speaker=HOSTILE, language='en" onload="alert(1)')
    page = clip_html(clip)
    assert "<script" not in page
    assert not re.search(r"<[^>]*onload", page)
    assert "<img" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;" in page
    assert f"… ({len(HOSTILE) * 100:,} characters)" in page
    assert '<span class="word">tˈɛkst</span>' in page
    assert page.count("<audio") == 1
    assert "<audio" not in clip_html(replace(clip, waveform=None))


def test_words_of_spaced_phonemes_stay_whole() -> None:
    page = clip_html(replace(make_clip(), phoneme_text="HH ER0 ▁ , ▁ AH0 ▁ L IH1 T"))
    assert re.findall('<span class="word">([^<]*)</span>', page) == ["HH ER0", ",", "AH0", "L IH1 T"]


def test_an_utterance_of_a_store_shows_itself(tmp_path: Path) -> None:
    audio = {"framing": "ceil", "mel_scale": "htk", "fmin": 0.0, "fmax": 8000.0}
    store = write_store(tmp_path / "store", make_rows([40, 30]), waveform=True, configuration={"audio": audio})
    utterance = UtteranceDataset(store)[0]
    clip = clip_of(utterance)
    hop = 256 / 22_050
    # With this framing a frame is centred in the middle of its hop.
    assert (clip.first_frame, clip.first_edge, clip.hop) == pytest.approx((hop / 2, 0.0, hop))
    assert clip.mel_axis == MelAxis("htk", 0.0, 8000.0, 5)
    assert (clip.pitch, clip.energy, clip.phones) == (None, None, ())
    html = utterance._repr_html_()
    assert html is not None
    assert utterance.id in html
    assert [axes.get_ylabel() for axes in utterance.plot().axes] == ["amplitude", "frequency (Hz)"]


def test_the_template_of_a_notebook_is_compiled_once_for_all_utterances(monkeypatch: pytest.MonkeyPatch) -> None:
    before = clip_html(make_clip())
    monkeypatch.setattr(Environment, "compile", lambda *_, **__: pytest.fail("compiled again"))
    assert clip_html(make_clip()) == before


def test_the_command_draws_an_utterance_and_names_those_that_it_could_mean(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store = write_store(tmp_path / "store", make_rows([40, 30]))
    status, out, err = run(capsys, "plot", store, "LJ001-é", "-o", tmp_path / "a.png", "--dpi", "50")
    assert (status, err) == (0, "")
    assert out == f"{tmp_path / 'a.png'}: LJ001-é, 0.34 s\n"
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size[0] == 6 * 50
    for name in ("a.svg", "b.svg"):
        assert run(capsys, "plot", store, "LJ001-é", "-o", tmp_path / name)[0] == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    status, _, err = run(capsys, "plot", store, "LJ002-é", "-o", tmp_path / "c.png")
    assert status == 2
    assert "no utterance 'LJ002-é' among 2; did you mean " in err
    status, _, err = run(capsys, "plot", store, "LJ001-é", "-o", tmp_path / "c.gif")
    assert status == 2
    assert "expected a name that ends in .png, .svg, .pdf" in err
    assert not list(tmp_path.glob("c.*"))


def test_the_command_writes_what_a_mel_sounds_like(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, corpus: Path
) -> None:
    store = tmp_path / "store"
    assert run(capsys, "ljspeech", corpus, store, "--jobs", 1, "--frontend", "none", "--limit", 1)[0] == 0
    utterance = UtteranceDataset(store)[0]
    sound = tmp_path / "a.wav"
    status, out, err = run(capsys, "plot", store, utterance.id, "-o", tmp_path / "a.png", "--sound", sound)
    assert (status, err) == (0, "")
    assert out.splitlines()[1] == f"{sound}: the mel, made audible; its phase is estimated"
    samples, rate = soundfile.read(sound, dtype="float32")
    assert (rate, len(samples)) == (22050, 256 * (len(utterance.mel) - 1))
    heard = mel_spectrogram(samples, PRESETS["parakeet"])
    loud = utterance.mel > np.median(utterance.mel)
    assert np.abs(heard - utterance.mel)[loud].mean() < 0.7
    status, _, err = run(capsys, "plot", store, utterance.id, "-o", tmp_path / "b.png", "--sound", tmp_path / "b.mp3")
    assert (status, "b.mp3: expected a name that ends in .wav" in err) == (2, True)
    assert not (tmp_path / "b.png").exists()
