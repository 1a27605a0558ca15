"""Pitch: at the centres of the mel frames, for every framing, and as many values as frames."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import packages_distributions, version

import numpy as np
import pytest

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.framing import n_frames, pad_waveform
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.signals.pitch import PitchConfig, PitchFeature, TrackerGrid, first_centre, pitch_of, world_frames

FRAMINGS = {name: PRESETS[name] for name in ("tacotron2", "hifigan", "parakeet-waveflow", "styletts2", "speechain-tts")}
LENGTHS = [(22050, 256), (24000, 300), (22050, 275), (16000, 160)]
START, SLOPE = 120.0, 400.0


def swept(rate: int, seconds: float) -> np.ndarray:
    """Five harmonics of a tone whose pitch at t seconds is START + SLOPE · t Hz."""
    t = np.arange(round(seconds * rate) + 137) / rate
    phase = 2 * np.pi * (START * t + SLOPE / 2 * t * t)
    return (0.3 * sum(np.sin(k * phase) / k for k in range(1, 6))).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "algorithm"),
    # pyin takes seconds, and the grid is the same for all algorithms.
    [*((name, algorithm) for name in FRAMINGS for algorithm in ("dio", "harvest")), ("hifigan", "pyin")],
)
def test_a_sweep_has_the_pitch_of_its_formula_at_the_centre_of_every_frame(name: str, algorithm: str) -> None:
    if algorithm != "pyin":
        pytest.importorskip("pyworld")
    config = FRAMINGS[name]
    rate = config.sample_rate
    waveform = swept(rate, 0.8)
    found = pitch_of(waveform, config, PitchConfig(algorithm))
    assert len(found.pitch) == len(found.voiced) == n_frames(len(waveform), config)
    # The definition, apart from the code: frame t of the padded waveform begins at t · hop, and is n_fft long.
    left = np.flatnonzero(pad_waveform(np.ones(len(waveform), np.float32), replace(config, pad_mode="constant")))[0]
    seconds = (np.arange(len(found.pitch)) * config.hop_length + config.n_fft / 2 - left) / rate
    inside = (seconds > 0.15) & (seconds < 0.65)
    assert found.voiced[inside].all()
    expected = START + SLOPE * seconds[inside]
    assert np.abs(found.pitch[inside] / expected - 1).max() < 0.01
    # Half a hop is 2.3 Hz of this sweep, and pyin's steps are a tenth of a semitone, 1.4 Hz at 240 Hz.
    half_a_hop = SLOPE * config.hop_length / 2 / rate
    assert abs(np.mean(found.pitch[inside] - expected)) < half_a_hop / (2 if algorithm == "pyin" else 10)


def test_the_centres_are_those_of_librosas_and_hifigans_frames() -> None:
    assert first_centre(2560, PRESETS["tacotron2"]) == 0
    assert first_centre(2560, PRESETS["hifigan"]) == 128
    assert first_centre(24000, PRESETS["styletts2"]) == -5000


@pytest.mark.parametrize(("rate", "hop"), LENGTHS)
@pytest.mark.parametrize("framing", ["center", "hifigan", "ceil"])
def test_the_grid_meets_every_centre_and_a_tracker_has_enough_values(framing: str, rate: int, hop: int) -> None:
    config = MelConfig(sample_rate=rate, hop_length=hop, framing=framing, fmax=rate / 2)
    random = np.random.default_rng(hop)
    lengths = [*random.integers(1024, 400_000, 300).tolist(), *range(100 * hop - 2, 100 * hop + 3)]
    for n in lengths:
        grid = TrackerGrid.of(n, config)
        places = (grid.first + np.arange(grid.n_frames)) * hop - grid.lead
        assert np.array_equal(places, first_centre(n, config) + hop * np.arange(n_frames(n, config)))
        assert len(grid.select(np.ones(3))) == n_frames(n, config)


@pytest.mark.parametrize(("rate", "hop"), LENGTHS)
def test_there_are_as_many_values_as_frames_where_world_has_one_too_few(rate: int, hop: int) -> None:
    pyworld = pytest.importorskip("pyworld")
    config = MelConfig(sample_rate=rate, hop_length=hop, fmax=rate / 2)
    period = 1000 * hop / rate
    lengths = [hop * k for k in range(8, 2000)]
    short = [n for n in lengths if world_frames(n, rate, period) < n_frames(n, config)]
    for n in [*short[:3], 8 * hop, 9 * hop + 1, 20 * hop - 1]:
        tone = np.sin(2 * np.pi * 200 * np.arange(n) / rate).astype(np.float32)
        values, _ = pyworld.dio(tone.astype(np.float64), rate, frame_period=period)
        assert len(values) == world_frames(n, rate, period)
        found = pitch_of(tone, config, PitchConfig())
        assert len(found.pitch) == n_frames(n, config)


@pytest.mark.soak
@pytest.mark.parametrize(("rate", "hop"), LENGTHS)
def test_ten_thousand_random_lengths_give_as_many_values_as_frames(rate: int, hop: int) -> None:
    pytest.importorskip("pyworld")
    random = np.random.default_rng(rate + hop)
    for n in random.integers(1024, 60_000, 2500).tolist():
        config = MelConfig(
            sample_rate=rate, hop_length=hop, fmax=rate / 2, framing=("center", "hifigan", "ceil")[n % 3]
        )
        assert len(pitch_of(np.zeros(n, np.float32), config, PitchConfig()).pitch) == n_frames(n, config)


def test_dio_and_harvest_are_pyworlds_own() -> None:
    pyworld = pytest.importorskip("pyworld")
    config = PRESETS["tacotron2"]
    waveform = swept(22050, 0.7)
    x = waveform.astype(np.float64)
    values, times = pyworld.dio(x, 22050, f0_floor=80.0, f0_ceil=400.0, frame_period=256 / 22050 * 1000)
    values = pyworld.stonemask(x, values, times, 22050)
    found = pitch_of(waveform, config, PitchConfig("dio", 80, 400))
    assert np.array_equal(found.pitch, values[: len(found.pitch)].astype(np.float32))
    values, _ = pyworld.harvest(x, 22050, frame_period=256 / 22050 * 1000)
    found = pitch_of(waveform, config, PitchConfig("harvest"))
    assert np.array_equal(found.pitch, values[: len(found.pitch)].astype(np.float32))


def test_pyin_is_librosas_own_with_the_range_of_fastpitch() -> None:
    import librosa

    waveform = swept(22050, 0.5)
    values, voiced, _ = librosa.pyin(
        waveform, fmin=librosa.note_to_hz("C2"), fmax=librosa.note_to_hz("C7"), sr=22050, frame_length=1024
    )
    found = pitch_of(waveform, PRESETS["tacotron2"], PitchConfig("pyin"))
    assert np.array_equal(found.voiced, voiced)
    assert np.array_equal(found.pitch, np.nan_to_num(values).astype(np.float32))


def half_voiced() -> np.ndarray:
    tone = swept(22050, 0.4)
    return np.concatenate(
        [np.zeros(6000, np.float32), tone, np.zeros(8000, np.float32), tone, np.zeros(5000, np.float32)]
    )


def test_unvoiced_frames_are_zero_or_interpolated_as_numpy_does() -> None:
    pytest.importorskip("pyworld")
    config, waveform = PRESETS["hifigan"], half_voiced()
    plain = pitch_of(waveform, config, PitchConfig())
    filled = pitch_of(waveform, config, PitchConfig(unvoiced="interpolated"))
    assert np.array_equal(plain.voiced, filled.voiced)
    assert 0 < plain.voiced.sum() < len(plain.voiced)
    assert not plain.pitch[plain.voiced == 0].any()
    at = np.flatnonzero(plain.voiced)
    np.testing.assert_allclose(filled.pitch, np.interp(np.arange(len(plain.pitch)), at, plain.pitch[at]), rtol=1e-6)
    logs = pitch_of(waveform, config, PitchConfig(unvoiced="interpolated", unit="ln_hz"))
    np.testing.assert_allclose(logs.pitch, np.log(filled.pitch), rtol=1e-6)
    assert not pitch_of(waveform, config, PitchConfig(unit="ln_hz")).pitch[plain.voiced == 0].any()


@pytest.mark.parametrize("unvoiced", ["zero", "interpolated"])
@pytest.mark.parametrize("unit", ["hz", "ln_hz"])
def test_silence_is_all_unvoiced_and_all_zeros(unvoiced: str, unit: str) -> None:
    pytest.importorskip("pyworld")
    found = pitch_of(np.zeros(9000, np.float32), PRESETS["tacotron2"], PitchConfig(unvoiced=unvoiced, unit=unit))
    assert not found.voiced.any()
    assert not found.pitch.any()
    assert found.pitch.dtype == np.float32


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"algorithm": "swipe"}, "pitch: algorithm: expected one of dio, harvest, pyin, found 'swipe'"),
        ({"unit": "mel"}, "pitch: unit: expected one of hz, ln_hz, found 'mel'"),
        ({"unvoiced": "nan"}, "pitch: unvoiced: expected one of zero, interpolated, found 'nan'"),
    ],
)
def test_refuses_settings_that_do_not_exist(settings: dict, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{message}$"):
        PitchConfig(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (PitchConfig(floor=500, ceiling=400), r"expected 0 < floor < ceiling <= 8000 Hz, found 500 and 400"),
        (PitchConfig(ceiling=9000), r"found 71 and 9000"),
        (PitchConfig("pyin", frame_length=256), r"needs a frame_length of 490, found 256"),
    ],
)
def test_refuses_a_range_that_the_sample_rate_cannot_have(settings: PitchConfig, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        settings.resolved(16000)


def test_the_software_of_pitch_is_the_package_that_the_standard_library_finds_for_the_module() -> None:
    pytest.importorskip("pyworld")
    name = packages_distributions()["pyworld"][0]
    pitch, voiced = PitchFeature.of(PitchConfig(), PRESETS["hifigan"]).specs
    assert pitch.software == voiced.software == {"pyworld": f"{name} {version(name)}"}
