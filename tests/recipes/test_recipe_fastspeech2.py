"""FastSpeech 2's and FastPitch's batches from a store, compared with direct computations."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import write_ljspeech
from textgrids import short_form

from tts_prep.errors import ConfigurationError
from tts_prep.export import export as export_store
from tts_prep.imports.alignment import AlignmentConfig, AlignmentFolder, CorpusAlignments
from tts_prep.loader import ChainDataset, TransformDataset, Utterance, UtteranceDataset, beta_binomial_prior
from tts_prep.preprocess import add_columns
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.features.kinds import make_feature
from tts_prep.preprocess.run import prepare
from tts_prep.recipes.fastspeech2 import FastSpeech2Dataset, TTSCollate

N_FRAMES = (5, 7)
KINDS = ("mel", "pitch", "energy", "duration")
CUT = {"phonemes": "alignment", "silences": "cut", "surplus": "cut"}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> UtteranceDataset:
    """Build a store with phonemes, lengths and durations from TextGrids."""
    pytest.importorskip("pyworld")
    root = write_ljspeech(tmp_path_factory.mktemp("fs2") / "lj", ("One.", "Two.", "Three."))
    folder = root / "TextGrid"
    folder.mkdir()
    ends = [0.2, 0.31, 0.42]
    for number, end in enumerate(ends):
        middle = [(0.05, 0.1, "HH"), (0.1, 0.15, "AH0"), (0.15, end - 0.02, "L")][: 2 + number % 2]
        phones = [(0.0, 0.05, "sil"), *middle, (middle[-1][1], end, "sp")]
        (folder / f"S-000{number}.TextGrid").write_text(short_form({"phones": phones}, end))
    settings = AlignmentConfig(**CUT)
    mel = PRESETS["fastspeech2"]
    config = Configuration(mel=mel, text=TextConfig("phonemes", symbols="fastspeech2"), alignments=settings.as_dict())
    features = [
        make_feature("pitch", {"unvoiced": "interpolated"}, mel),
        make_feature("energy", {}, mel),
        make_feature("durations", CUT, mel, folder),
    ]
    alignments = CorpusAlignments(AlignmentFolder.open(folder), settings)
    store = root / "store"
    prepare(read_ljspeech(root), root, store, config, features=features, alignments=alignments)
    return UtteranceDataset(store, verify=True)


@pytest.mark.whole
def test_phones_of_the_alignment_replace_those_of_the_text_and_silences_are_cut(dataset: UtteranceDataset) -> None:
    ids = [dataset.symbols.index(symbol) for symbol in ("@HH", "@AH0", "@L")]
    assert [utterance.phonemes.tolist() for utterance in dataset] == [ids[:2], ids, ids[:2]]
    assert dataset[1].phoneme_text == "@HH @AH0 @L"
    # ming024: int(rate · end) - int(rate · start) samples, and round(end) - round(start) frames.
    assert dataset[0].seconds == (int(22050 * 0.15) - int(22050 * 0.05)) / 22050
    expected = [round(t * 22050 / 256) for t in (0.05, 0.1, 0.15, 0.29)]
    for utterance, n in zip(dataset, (2, 3, 2), strict=True):
        assert utterance.arrays["durations"].tolist() == np.diff(expected)[:n].tolist()
        assert len(utterance.mel) == len(utterance.arrays["pitch"]) == np.diff(expected)[:n].sum()


@pytest.mark.whole
def test_a_fastspeech2_batch_has_means_over_phones_as_z_scores(dataset: UtteranceDataset) -> None:
    examples = FastSpeech2Dataset(dataset, batch_size=2, sort=True, settings="any")
    batches = examples.collate_fn([examples[i] for i in range(3)])
    assert [batch[0] for batch in batches] == [["S-0001", "S-0000"], ["S-0002"]]
    _, raw, speakers, texts, lengths, longest, mels, mel_lengths, n_frames, pitches, energies, durations = batches[0]
    assert (raw, speakers.tolist(), longest, n_frames) == (["Two.", "One."], [0, 0], 3, max(mel_lengths))
    assert texts.shape == pitches.shape == energies.shape == durations.shape == (2, 3)
    assert (lengths.tolist(), durations[1].tolist()[2], mels.shape) == ([3, 2], 0, (2, n_frames, 80))
    # As in batches of ming024's Dataset, by conformance/fastspeech2.py.
    dtypes = [array.dtype.name for array in (texts, mels, pitches, energies, durations)]
    assert dtypes == ["int64", "float32", "float64", "float32", "int64"]
    means = []
    for utterance in dataset:
        place, found = 0, []
        for duration in utterance.arrays["durations"]:
            found.append(utterance.arrays["pitch"][place : place + duration].astype(float).mean())
            place += duration
        means.append(found)
    kept = []
    for found in means:
        low, high = np.percentile(found, [25, 75])
        kept += [v for v in found if low - 1.5 * (high - low) < v < high + 1.5 * (high - low)]
    np.testing.assert_allclose(pitches[0], (np.array(means[1]) - np.mean(kept)) / np.std(kept), rtol=1e-6)
    assert pitches[1, 2] == 0


@pytest.mark.whole
def test_a_split_of_numbers_names_no_validation_utterance(dataset: UtteranceDataset, tmp_path: Path) -> None:
    store = Path(shutil.copytree(dataset.path, tmp_path / "store"))
    add_columns(store, {"id": list(dataset.id), "split": list(map(float, range(len(dataset))))})
    export_store(store, "fastspeech2", tmp_path / "out")
    assert len((tmp_path / "out/train.txt").read_text(encoding="utf-8").splitlines()) == len(dataset)


@pytest.mark.whole
def test_an_export_has_the_files_that_preprocess_py_writes(dataset: UtteranceDataset, tmp_path: Path) -> None:
    folder = tmp_path / "LJSpeech"
    files = export_store(dataset.path, "fastspeech2", folder)
    assert len(files) == 3 * 4 + 4
    assert all(path.is_file() for path in files)
    assert (folder / "train.txt").read_text("utf-8").splitlines() == [
        "S-0000|ljspeech|{HH AH0}|One.",
        "S-0001|ljspeech|{HH AH0 L}|Two.",
        "S-0002|ljspeech|{HH AH0}|Three.",
    ]
    assert (folder / "val.txt").read_text("utf-8") == ""
    assert json.loads((folder / "speakers.json").read_text("utf-8")) == {"ljspeech": 0}
    stats = json.loads((folder / "stats.json").read_text("utf-8"))
    lows, highs = [], []
    for utterance in dataset:
        values = {kind: np.load(folder / f"{kind}/ljspeech-{kind}-{utterance.id}.npy") for kind in KINDS}
        np.testing.assert_array_equal(values["mel"], utterance.mel)
        np.testing.assert_array_equal(values["duration"], utterance.arrays["durations"])
        # Back from z-scores: the mean of the frames of the first phone.
        first = utterance.arrays["energy"][: utterance.arrays["durations"][0]].astype(float).mean()
        np.testing.assert_allclose(values["energy"][0] * stats["energy"][3] + stats["energy"][2], first, rtol=1e-6)
        lows.append(values["pitch"].min())
        highs.append(values["pitch"].max())
    assert stats["pitch"][:2] == [min(lows), max(highs)]


@pytest.mark.whole
def test_statistics_of_a_training_set_serve_another_one(dataset: UtteranceDataset) -> None:
    given = {"pitch": [0, 0, 100.0, 10.0], "energy": [0, 0, 0.0, 1.0]}
    example = FastSpeech2Dataset(dataset, statistics=given, pitch_feature="frame_level", settings="any")[0]
    np.testing.assert_allclose(example["pitch"], (dataset[0].arrays["pitch"] - 100.0) / 10)


def with_pitch(dataset: UtteranceDataset, pitch: list[list[float]]) -> Any:
    """Return the first utterances of a store, with other pitch."""

    def changed(utterance: Utterance) -> Utterance:
        values = pitch[utterance.index]
        arrays: Any = {**utterance.arrays, "pitch": np.array(values), "durations": np.ones(len(values), np.int64)}
        return replace(utterance, arrays=arrays)

    return TransformDataset(dataset[: len(pitch)], changed)


@pytest.mark.whole
@pytest.mark.parametrize("n", [1, 2])
def test_equal_values_are_normalized_to_0(dataset: UtteranceDataset, n: int) -> None:
    # ming024's remove_outlier removes 0 and all of [50, 50, 50]; scale_ of scikit-learn's StandardScaler is then 1.
    store = with_pitch(dataset, [[0, 0.1, 0.1, 0.1], [50, 50, 50]][:n])
    examples = FastSpeech2Dataset(store, settings="any")
    np.testing.assert_allclose(examples[0]["pitch"], [-0.1, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(examples.statistics["pitch"], [-0.1, [0, 49.9][n - 1], 0.1, 1], atol=1e-15)


@pytest.mark.whole
def test_values_that_the_outlier_rule_removes_without_exception_are_an_error(dataset: UtteranceDataset) -> None:
    # remove_outlier returns nothing, and StandardScaler, which is never fitted, has no mean_: an AttributeError.
    store = with_pitch(dataset, [[120, 120, 120], [80]])
    with pytest.raises(ConfigurationError, match="pitch cannot be normalized: .* pass pitch_normalization=False"):
        FastSpeech2Dataset(store, settings="any")[0]
    assert FastSpeech2Dataset(store, pitch_normalization=False, settings="any")[0]["pitch"].tolist() == [120, 120, 120]


@pytest.mark.whole
def test_a_dataset_has_the_columns_of_its_store_and_is_told_from_others(dataset: UtteranceDataset) -> None:
    assert FastSpeech2Dataset(dataset, settings="any").n_frames.tolist() == dataset.n_frames.tolist()
    assert (
        FastSpeech2Dataset(dataset[:2], settings="any").fingerprint
        == FastSpeech2Dataset(dataset[:2], settings="any").fingerprint
        != FastSpeech2Dataset(dataset[1:3], settings="any").fingerprint
    )


@pytest.mark.whole
def test_a_fastpitch_batch_is_ordered_by_text_and_keeps_unvoiced_zeros(dataset: UtteranceDataset) -> None:
    text, lengths, mel, frames, len_x, pitch, energy, speaker, prior, ids = TTSCollate(
        200, 50, prior="exact", settings="any"
    )(dataset)
    assert (ids, speaker) == (["S-0001", "S-0000", "S-0002"], None)
    assert (lengths.tolist(), len_x.tolist()) == ([3, 2, 2], [2, 3, 2])
    assert (text.shape, mel.shape[:2], pitch.shape[:2]) == ((3, 3), (3, 80), (3, 1))
    first = dataset[1]
    np.testing.assert_allclose(pitch[0, 0, : frames[0]], (first.arrays["pitch"] - 200) / 50, rtol=1e-5)
    np.testing.assert_allclose(energy[0, : frames[0]], np.sqrt((first.mel.astype(float) ** 2).sum(1)), rtol=1e-6)
    np.testing.assert_allclose(prior[1, : frames[1], :2], beta_binomial_prior(2, int(frames[1])), rtol=1e-6)
    assert not pitch[1, 0, frames[1] :].any()
    assert TTSCollate(200, 50, settings="any")._pitch(np.array([0, 250], np.float32)).tolist() == [0, 1]


def test_a_store_without_features_is_refused(store: Path) -> None:
    with pytest.raises(ConfigurationError, match="no durations, pitch, energy; run: tts-prep add"):
        FastSpeech2Dataset(UtteranceDataset(store), settings="any")
    with pytest.raises(
        ConfigurationError, match="it has no pitch; run: tts-prep add .* --feature pitch:algorithm=pyin"
    ):
        TTSCollate(settings="any")(UtteranceDataset(store))


@pytest.mark.whole
def test_in_a_chain_examples_have_the_speaker_codes_of_the_chain(dataset: UtteranceDataset) -> None:
    chain = ChainDataset(
        FastSpeech2Dataset(dataset, settings="any"), FastSpeech2Dataset(dataset[:2], settings="any"), speakers="dataset"
    )
    assert [example["speaker"] for example in chain] == [0, 0, 0, 1, 1]
    assert chain.speakers == tuple(f"{number}/{dataset.speakers[0]}" for number in range(2))
