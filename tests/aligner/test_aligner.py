"""Durations from a model that is trained on the store: exact times of synthetic voices, bytes, updates, bad input."""

from __future__ import annotations

import os
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import run
from corpora import write_ljspeech, write_text
from killing import contents
from praatio import textgrid

from tts_prep.acoustics.mels import decibels_of_unit
from tts_prep.additions import add_arrays
from tts_prep.aligner.model import AlignmentModel, Recording, Vocabulary, phone_name
from tts_prep.aligner.training import TRAINED, AlignerConfig
from tts_prep.demo.corpus import FAULTS
from tts_prep.errors import ConfigurationError, FeatureError
from tts_prep.format.layout import ALIGNMENT_SCORE
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import PRESETS, add_durations

SYMBOLS = ("<pad>", " ", ",", "ˈ", "a", "b", "s", "AH0", "AH1")
VOCABULARY = Vocabulary(SYMBOLS, 0)
IDS = {symbol: number for number, symbol in enumerate(SYMBOLS)}
OPTIONS = ("--frontend", "characters", "--preset", "hifigan", "--shard-utterances", 3, "--quiet")
STRESS = "',%="
DECIBELS = 20 / np.log(10)
HOP = 256 / 22_050
DAMAGED = ("0", "-1", "NaN", "Infinity")


def synthetic(symbols: str, frames: list[int], seed: int) -> Recording:
    """Return a recording whose phones have a peak at a bin of their own, and pauses low noise."""
    rng = np.random.default_rng(seed)
    mel = rng.normal(-9, 0.2, (sum(frames), 20)).astype(np.float32)
    start = 0
    for symbol, n in zip(symbols, frames, strict=True):
        if symbol in "abs":
            peak = {"a": 3, "b": 10, "s": 16}[symbol]
            mel[start : start + n] += 8 * np.exp(-0.5 * (np.arange(20) - peak) ** 2 / 4)
        start += n
    return Recording(np.array([IDS[symbol] for symbol in symbols], np.int32), mel)


TEXTS = {
    "ˈab a,sb": [4, 6, 5, 0, 7, 9, 4, 8],
    "ba sa": [5, 7, 0, 6, 4],
    "sab,ba": [8, 3, 5, 9, 4, 9],
    "as": [5, 5],
    "bsb": [4, 4, 4],
}


@pytest.fixture(scope="module")
def model() -> AlignmentModel:
    # Of five recordings, a state learns from about ten frames, and one boundary of 170 is a frame off; of ten, none is.
    examples = [*TEXTS.items()] * 4
    recordings = [synthetic(text, frames, seed) for seed, (text, frames) in enumerate(examples, start=100)]
    return AlignmentModel.train(recordings, VOCABULARY, DECIBELS, HOP)


@pytest.mark.parametrize(
    ("text", "frames", "found"),
    [
        # 8 frames are 93 ms, 9 are 104 ms.
        ("sab,ba", [8, 3, 5, 8, 4, 9], [8, 3, 5, 0, 12, 9]),
        ("sab,ba", [8, 3, 5, 9, 4, 9], [8, 3, 5, 9, 4, 9]),
        ("ba sa", [5, 7, 6, 6, 4], [5, 7, 6, 6, 4]),
        (",ba", [6, 5, 7], [6, 5, 7]),
    ],
)
def test_a_short_silence_before_a_stop_is_its_closure(
    model: AlignmentModel, text: str, frames: list[int], found: list[int]
) -> None:
    assert model.align(synthetic(text, frames, seed=7))[0].tolist() == found


@pytest.mark.parametrize(
    ("symbols", "stops"),
    [
        # ARPAbet, which has one case.
        ("AA1 TH DH T D CH JH HH", "T D CH JH"),
        ("aa1 th dh t d ch jh hh", "t d ch jh"),
        # X-SAMPA, where T and D are fricatives.
        ("@ i: t T d D tS 'k g C j", "t d tS 'k g"),
        ("ə t tʰ ɡ ʔ θ ð c j ˈ", "t tʰ ɡ ʔ c"),
        ("ʃ ʒ ʦ ʣ ʧ ʤ ʨ ʥ ʄ ʛ ʡ ʢ", "ʦ ʣ ʧ ʤ ʨ ʥ ʄ ʛ ʡ"),
        # ARPAbet beside letters.
        ("AA0 T D TH a b t", "T D b t"),
        # The table of Tacotron 2: letters, and ARPAbet after an @.
        ("a T t D @T @DH @CH @AA0 .", "t @T @CH"),
    ],
)
def test_stops_are_known_by_the_names_of_each_notation(symbols: str, stops: str) -> None:
    vocabulary = Vocabulary(("<pad>", *symbols.split()), 0)
    found = [symbol for symbol, is_stop in zip(vocabulary.symbols, vocabulary.stops, strict=True) if is_stop]
    assert found == stops.split()


@pytest.mark.parametrize("text", TEXTS)
def test_phones_of_distinct_spectra_get_their_frames_and_marks_what_is_defined(
    model: AlignmentModel, text: str
) -> None:
    durations, score, *_ = model.align(synthetic(text, TEXTS[text], seed=7))
    # Silence before the first phone belongs to the first symbol, a pause to the punctuation mark, none to a space.
    assert durations.tolist() == TEXTS[text]
    # Beside a step of 70 dB, which no window of speech shows, two texts have frames that are unlike the others of their
    # phone.
    assert (-1.5 if text in ("as", "bsb") else -0.1) < score <= 0


def test_another_text_has_a_lower_score(model: AlignmentModel) -> None:
    recording = synthetic("sab,ba", TEXTS["sab,ba"], 1)
    other = replace(recording, phonemes=synthetic("bas sb", [1, 1, 1, 1, 1, 1], 0).phonemes)
    assert model.align(other)[1] < model.align(recording)[1] - 1


@pytest.mark.parametrize(
    ("text", "n_frames", "expected"), [(",", 7, [7]), (", ,", 7, [2, 2, 3]), ("abab", 3, [0, 1, 1, 1])]
)
def test_what_cannot_be_aligned_is_divided_evenly_and_has_no_score(
    model: AlignmentModel, text: str, n_frames: int, expected: list[int]
) -> None:
    ids = np.array([IDS[symbol] for symbol in text], np.int32)
    durations, score, *_ = model.align(Recording(ids, np.zeros((n_frames, 20), np.float32)))
    assert durations.tolist() == expected
    assert np.isnan(score)


@pytest.mark.parametrize("n_frames", [3, 4, 5, 6, 8, 9])
def test_speech_too_fast_for_three_frames_of_each_phone_is_aligned(model: AlignmentModel, n_frames: int) -> None:
    assert model.n_states == 3
    shares = np.diff(np.arange(4) * n_frames // 3).tolist()
    durations, score, *_ = model.align(synthetic("bas", shares, seed=2))
    assert durations.sum() == n_frames
    assert (durations > 0).all()
    assert np.isfinite(score)


def test_a_phone_that_training_never_saw_is_aligned(model: AlignmentModel) -> None:
    recording = synthetic("ab", [9, 9], 3)
    durations, score, *_ = model.align(replace(recording, phonemes=np.array([IDS["AH0"], IDS["b"]], np.int32)))
    assert durations.sum() == 18
    assert (durations > 0).all()
    assert np.isfinite(score)


def test_stress_and_tone_do_not_make_other_phones() -> None:
    assert [phone_name(symbol) for symbol in ("AH0", "AH1", "ni3", "a", "5")] == ["AH", "AH", "ni", "a", "5"]
    assert [phone_name(symbol) for symbol in ("'@", ",3:", "%i", "'", "@2")] == ["@", "3:", "i", "'", "@"]


def test_five_minutes_in_one_recording_are_aligned_in_blocks_as_exactly_as_a_sentence(model: AlignmentModel) -> None:
    rng = np.random.default_rng(0)
    text, frames, n_frames = "", [], 5 * 60 * 22_050 // 256
    while sum(frames) < n_frames:
        text += rng.choice([phone for phone in "abs" if phone != text.rstrip()[-1:]])
        frames.append(int(rng.integers(4, 12)))
        if len(text) % 7 == 0:
            text, frames = f"{text} ", [*frames, 0]
    assert model.align(synthetic(text, frames, seed=1))[0].tolist() == frames


def test_music_and_a_text_that_is_not_spoken_have_lower_scores_than_any_speech(model: AlignmentModel) -> None:
    least = min(model.align(synthetic(text, frames, seed=7))[1] for text, frames in TEXTS.items())
    spoken = synthetic("sab,ba", TEXTS["sab,ba"], 1)
    # Chords of three partials, each for eight frames.
    music = np.full_like(spoken.mel, -9)
    for start in range(0, len(music), 8):
        for peak in np.random.default_rng(start).choice(20, 3, replace=False):
            music[start : start + 8, peak] = -1
    durations, score, *_ = model.align(replace(spoken, mel=music))
    assert durations.sum() == len(music)
    assert score < least - 1
    noise = np.random.default_rng(1).normal(-9, 3, spoken.mel.shape).astype(np.float32)
    assert model.align(replace(spoken, mel=noise))[1] < least - 1


def test_a_phone_that_occurs_once_is_learned_from_its_one_place() -> None:
    examples = [*TEXTS.items()] * 2
    recordings = [synthetic(text.replace("s", "a"), frames, seed) for seed, (text, frames) in enumerate(examples)]
    once = synthetic("ab sab", [5, 6, 0, 7, 5, 6], 9)
    model = AlignmentModel.train([*recordings, once], VOCABULARY, DECIBELS, HOP)
    assert "s" in model.phones
    assert model.align(once)[0].tolist() == [5, 6, 0, 7, 5, 6]


def test_constant_mels_give_durations_whose_sum_is_the_number_of_frames(model: AlignmentModel) -> None:
    recording = Recording(synthetic("ab a,sb", [1] * 7, 0).phonemes, np.full((50, 20), -11.5, np.float32))
    durations = model.align(recording).durations
    assert durations.sum() == 50
    assert all(durations[[0, 1, 3, 5, 6]] > 0)


def test_recordings_without_any_difference_train_a_model_that_aligns(model: AlignmentModel) -> None:
    ids = synthetic("ab a,sb", [1] * 7, 0).phonemes
    recordings = [Recording(ids, np.full((50, 20), -11.5, np.float32)), Recording(ids[:1], np.zeros((1, 20)))]
    durations, score, *_ = AlignmentModel.train(recordings, VOCABULARY, DECIBELS, HOP).align(recordings[0])
    assert durations.sum() == 50
    assert score == pytest.approx(0)


@pytest.mark.parametrize("n_mels", [1, 12, 13])
def test_a_mel_of_few_bins_is_aligned(n_mels: int) -> None:
    recordings = [synthetic(text, frames, seed) for seed, (text, frames) in enumerate(TEXTS.items())]
    recordings = [replace(recording, mel=recording.mel[:, -n_mels:]) for recording in recordings]
    trained = AlignmentModel.train(recordings, VOCABULARY, DECIBELS, HOP)
    durations, score, *_ = AlignmentModel.from_text(trained.as_text()).align(recordings[0])
    assert durations.sum() == len(recordings[0].mel)
    assert np.isfinite(score)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_mel_that_is_not_finite_is_divided_evenly_and_has_no_score(model: AlignmentModel, value: float) -> None:
    recording = synthetic("ab", [9, 9], 3)
    recording.mel[4, 2] = value
    durations, score, *_ = model.align(recording)
    assert durations.tolist() == [9, 9]
    assert np.isnan(score)


@pytest.mark.parametrize("number", [-1, len(SYMBOLS), 2_000_000_000])
def test_a_phoneme_beyond_the_vocabulary_is_an_error_not_a_read_of_other_memory(
    model: AlignmentModel, number: int
) -> None:
    recording = replace(synthetic("ab", [9, 9], 3), phonemes=np.array([IDS["a"], number], np.int32))
    with pytest.raises(FeatureError, match=f"a phoneme has the id {number:,}, of 9 symbols"):
        model.align(recording)
    with pytest.raises(FeatureError, match=f"a phoneme has the id {number:,}, of 9 symbols"):
        AlignmentModel.train([recording], VOCABULARY, DECIBELS, HOP)


def test_a_model_for_another_number_of_bins_is_an_error(model: AlignmentModel) -> None:
    settings = AlignerConfig(model=model.as_text())
    assert TRAINED.make(replace(PRESETS["hifigan"], n_mels=20), settings).settings == settings
    with pytest.raises(ConfigurationError, match="is for 26 features, a mel of 8 bins has 16"):
        TRAINED.make(replace(PRESETS["hifigan"], n_mels=8), settings)


def test_one_recording_alone_is_enough_to_train(model: AlignmentModel) -> None:
    recording = synthetic("ˈab a,sb", TEXTS["ˈab a,sb"], 1)
    durations = AlignmentModel.train([recording], VOCABULARY, DECIBELS, HOP).align(recording).durations
    assert durations.sum() == len(recording.mel)


def test_training_without_phones_is_an_error() -> None:
    recording = Recording(np.array([IDS[","]], np.int32), np.zeros((9, 20), np.float32))
    with pytest.raises(FeatureError, match="no utterance has phones"):
        AlignmentModel.train([recording], VOCABULARY, DECIBELS, HOP)


def test_a_model_is_the_same_after_its_text(model: AlignmentModel) -> None:
    assert AlignmentModel.from_text(model.as_text()) == model


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-40],
        lambda text: text.replace('"offsets":"', '"offsets":"AAAA'),
        lambda text: text.replace('"pad":0', '"pad":99'),
        lambda text: "[" * 100_000,
        lambda text: text + " " * (1 << 20),
        lambda text: text.replace('"decibels":', '"other":'),
        lambda text: text.replace('"states":3', '"states":2'),
        lambda text: text.replace('"states":3', '"states":0'),
        lambda text: text.replace('"states":3', '"states":1000000000'),
        *(lambda text, value=value: re.sub('"decibels":[^,]*', f'"decibels":{value}', text) for value in DAMAGED),
    ],
)
def test_a_damaged_model_is_an_error(model: AlignmentModel, damage) -> None:
    with pytest.raises(ConfigurationError, match="the model of the aligner is damaged"):
        AlignmentModel.from_text(damage(model.as_text()))


@pytest.mark.whole
def test_synthetic_voices_are_aligned_within_two_frames_of_their_exact_times(
    demo_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grids = [textgrid.openTextgrid(str(path), False) for path in (demo_corpus / "TextGrid").iterdir()]
    labels = sorted({entry.label for grid in grids for entry in grid.getTier("phones").entries})
    write_text(tmp_path / "symbols.txt", "\n".join(["<pad>", "sp", *labels]) + "\n")
    options = ("--preset", "hifigan", "--frontend", "phonemes", "--symbols", tmp_path / "symbols.txt", "--quiet")
    features = ("--feature", "durations:phonemes=alignment", "--alignments", demo_corpus / "TextGrid")
    status, _, err = run(capsys, "ljspeech", demo_corpus, tmp_path / "exact", *options, *features)
    assert status == 0, err
    dataset = UtteranceDataset(tmp_path / "exact")
    decibels = decibels_of_unit(dataset.metadata.audio_settings)
    assert decibels is not None
    recordings = [Recording(utterance.phonemes, utterance.mel) for utterance in dataset]
    # espeak-ng's names of phones, of which some, such as '@' and '3:', have no letter, and begin with their stress.
    assert {name.lstrip(STRESS) for name in dataset.symbols} >= {"@", "3:"}
    model = AlignmentModel.train(recordings, Vocabulary(dataset.symbols, dataset.pad_id), decibels, HOP)
    errors = []
    for number, (utterance, recording) in enumerate(zip(dataset, recordings, strict=True)):
        if number in FAULTS:
            continue
        found, exact = np.cumsum(model.align(recording)[0]), np.cumsum(utterance.arrays["durations"])
        # The end of the last phone is that of the recording; of two pauses, the first has all frames.
        pause = np.array([dataset.symbols[number] == "sp" for number in utterance.phonemes])
        errors += np.abs(found - exact)[:-1][~(pause[:-1] & pause[1:])].tolist()
    seconds = np.array(errors) * dataset.hop_length / dataset.sample_rate
    assert np.median(seconds) < 0.012
    # Both are rounded to frames of 11.6 ms.
    assert (seconds < 0.024).mean() > 0.87
    assert (seconds < 0.05).mean() > 0.96


@pytest.fixture
def corpus_of_texts(tmp_path: Path) -> Path:
    return write_ljspeech(tmp_path / "lj", ("ab, a ba.", "cab ac.", "baa, ca?", "abc abc.", "cc ba.", "ac, b."))


@pytest.mark.whole
def test_durations_have_the_same_bytes_with_the_store_or_later_and_for_any_number_of_jobs(
    corpus_of_texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_store, later = tmp_path / "with", tmp_path / "later"
    for dtype in ("float32", "float16"):
        options = (*OPTIONS, "--dtype", dtype, "--overwrite")
        assert run(capsys, "ljspeech", corpus_of_texts, with_store, *options, "--feature", "durations:least=0")[0] == 0
        assert run(capsys, "ljspeech", corpus_of_texts, later, *options)[0] == 0
        add_durations(later, least=0, jobs=2 if dtype == "float32" else 1)
        assert contents(with_store) == contents(later)
    dataset = UtteranceDataset(later)
    assert all(utterance.arrays["durations"].sum() == len(utterance.mel) for utterance in dataset)
    assert np.isfinite(dataset.columns[ALIGNMENT_SCORE]).all()
    before = contents(later)
    add_durations(later, least=0)
    assert contents(later) == before


@pytest.mark.whole
def test_an_update_aligns_new_rows_by_the_old_model_and_moves_no_old_boundary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ("ab, a ba.", "cab ac.", "baa, ca?", "abc abc.", "cc ba.", "ac, b.", "bcb, cab.", "aa cc bb.")
    corpus = write_ljspeech(tmp_path / "lj", texts)
    metadata = corpus / "metadata.csv"
    rows = metadata.read_text("utf-8").splitlines(keepends=True)
    metadata.write_text("".join(rows[:6]), "utf-8")
    store = tmp_path / "store"
    for dtype in ("float32", "float16"):
        metadata.write_text("".join(rows[:6]), "utf-8")
        options = (*OPTIONS, "--dtype", dtype)
        first = run(capsys, "ljspeech", corpus, store, *options, "--feature", "durations:least=0", "--overwrite")
        assert first[0] == 0, first[2]
        old = UtteranceDataset(store)
        settings = old.arrays["durations"].settings
        durations = {utterance.id: utterance.arrays["durations"].tolist() for utterance in old}
        metadata.write_text("".join(rows), "utf-8")
        assert run(capsys, "ljspeech", corpus, store, *options, "--update")[0] == 0
        new = UtteranceDataset(store)
        assert new.arrays["durations"].settings == settings
        model = AlignmentModel.from_text(settings["model"])
        for utterance in new:
            found = utterance.arrays["durations"].tolist()
            assert found == durations.get(utterance.id, found)
            # The store returns half-precision mels in full; the model sees what is stored.
            assert dtype == "float16" or found == model.align(Recording(utterance.phonemes, utterance.mel))[0].tolist()
        assert run(capsys, "verify", store, "--quiet")[0] == 0


@pytest.mark.whole
def test_an_update_with_other_phonemes_leaves_durations_out_and_names_the_command_that_trains_again(
    corpus_of_texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, options = tmp_path / "store", [option for option in OPTIONS if option != "--quiet"]
    assert run(capsys, "ljspeech", corpus_of_texts, store, *options, "--feature", "durations:least=0")[0] == 0
    other = (*options, "--symbols", "vits", "--update")
    status, out, _ = run(capsys, "ljspeech", corpus_of_texts, store, *other)
    assert status == 0
    assert (
        f"durations: left out, no values for 6 rows, new or changed; 'tts-prep add {store} --feature durations'" in out
    )
    assert not {"durations", "alignment"} & {*UtteranceDataset(store).arrays}
    assert run(capsys, "ljspeech", corpus_of_texts, store, *other, "--feature", "durations:least=0")[0] == 0
    assert "durations" in UtteranceDataset(store).arrays


@pytest.mark.whole
def test_one_utterance_alone_in_a_store_is_aligned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, store = write_ljspeech(tmp_path / "lj", ("ab, a ba.",)), tmp_path / "store"
    status, _, err = run(capsys, "ljspeech", corpus, store, *OPTIONS, "--feature", "durations:least=0")
    assert status == 0, err
    (utterance,) = UtteranceDataset(store)
    assert utterance.arrays["durations"].sum() == len(utterance.mel)
    assert run(capsys, "check", store, "--quiet")[0] == 0


@pytest.mark.whole
def test_durations_are_trained_again_when_they_are_removed_and_added_by_name(
    corpus_of_texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    assert run(capsys, "ljspeech", corpus_of_texts, store, *OPTIONS, "--feature", "durations:sample=2,least=0")[0] == 0
    before = UtteranceDataset(store).arrays["durations"].settings
    # A store that has durations is not changed.
    assert run(capsys, "add", store, "--feature", "durations:least=0", "--quiet")[0] in (0, 2)
    assert UtteranceDataset(store).arrays["durations"].settings == before
    assert run(capsys, "remove", store, "--array", "durations")[0] == 0
    assert run(capsys, "add", store, "--feature", "durations:least=0", "--quiet")[0] == 0
    after = UtteranceDataset(store).arrays["durations"].settings
    assert (before["sample"], after["sample"]) == (2, 1000)
    assert after["model"] != before["model"]


def test_a_model_of_another_version_of_the_aligner_is_an_error_that_says_how_to_train_again(
    model: AlignmentModel,
) -> None:
    settings = AlignerConfig(model=model.as_text(), version="3")
    with pytest.raises(ConfigurationError, match=r"version 6, found a model of 3; .*remove STORE --array durations"):
        TRAINED.make(PRESETS["hifigan"], settings)


@pytest.mark.whole
def test_parts_are_refused_with_the_command_that_adds_durations(
    corpus_of_texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(
        capsys, "ljspeech", corpus_of_texts, tmp_path / "s", *OPTIONS, "--feature", "durations:least=0", "--part", "1/2"
    )
    assert (status, "--feature durations'" in err) == (2, True)


def test_a_killed_run_is_resumed_and_leaves_nothing(
    corpus_of_texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, whole = tmp_path / "store", tmp_path / "whole"
    assert run(capsys, "ljspeech", corpus_of_texts, store, *OPTIONS)[0] == 0
    shutil.copytree(store, whole)
    add_durations(whole, least=0)
    before = contents(store)
    child = os.fork()
    if child == 0:
        # Killed when all shards are aligned.
        monkeypatch.setattr(add_arrays, "assemble_store", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        add_durations(store, least=0)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert contents(store) == {**before, ".lock": contents(store)[".lock"]}
    add_durations(store, least=0)
    assert contents(store) == contents(whole)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
