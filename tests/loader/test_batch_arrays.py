"""Added arrays in batches: padded, by name, and normalized by a store's statistics."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from stores import of_room

import tts_prep.loader
from tts_prep.errors import ConfigurationError
from tts_prep.loader import UtteranceDataset, collate
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare

add_array = of_room("additions.add_arrays", "add_array")

N_FRAMES = (5,)

pytestmark = pytest.mark.whole


def pitch(utterance):
    values = np.arange(1, len(utterance.mel) + 1, dtype=np.float32)
    values[0] = 0
    return values


def codes(utterance):
    return np.full((len(utterance.phonemes) + 1, 2), 7, np.int16)


def vector(utterance):
    return np.full(3, len(utterance.text), np.float32)


def stress(utterance):
    return utterance.phonemes % 3


@pytest.fixture(scope="module")
def dataset(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> UtteranceDataset:
    path = tmp_path_factory.mktemp("arrays") / "store"
    prepare(read_ljspeech(corpus), corpus, path, Configuration(mel=PRESETS["hifigan"], text=TextConfig("characters")))
    add_array(path, "pitch", pitch)
    add_array(path, "codes", codes, dtype="int16", row_shape=(2,), axis="own", rate=50)
    add_array(path, "vector", vector, row_shape=(3,), axis="utterance")
    add_array(path, "stress", stress, dtype="int32", axis="phoneme")
    add_array(path, "as_long", lambda utterance: utterance.mel[:, 0], axis="own")
    return UtteranceDataset(path, verify=True)


@pytest.mark.parametrize("listed", [False, True])
def test_arrays_are_padded_as_what_they_follow(dataset: UtteranceDataset, listed: bool) -> None:
    chosen = dataset[:3]
    batch = collate(
        list(chosen) if listed else chosen, arrays=("pitch", "codes", "vector", "stress"), pad_to_multiple=8
    )
    assert batch.pitch is batch.arrays["pitch"]
    assert batch.pitch.shape == batch.mel.shape[:2]
    assert (batch.pitch.dtype, batch.codes.dtype) == (np.float32, np.int64)
    assert batch.stress.shape == batch.phonemes.shape
    for row, utterance in enumerate(chosen):
        n = len(utterance.mel)
        assert np.array_equal(batch.pitch[row, :n], utterance.arrays["pitch"])
        assert not batch.pitch[row, n:].any()
        assert np.array_equal(batch.stress[row, : len(utterance.phonemes)], utterance.phonemes % 3)
        assert batch.array_lengths["codes"][row] == len(utterance.phonemes) + 1
        assert (batch.vector[row] == len(utterance.text)).all()
    assert batch["arrays"].keys() == {"pitch", "codes", "vector", "stress"}


@pytest.fixture(scope="module")
def other(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> UtteranceDataset:
    """Return a second store of the corpus, whose arrays differ from those of the first in one respect each."""
    path = tmp_path_factory.mktemp("arrays") / "other"
    prepare(read_ljspeech(corpus), corpus, path, Configuration(mel=PRESETS["hifigan"], text=TextConfig("characters")))
    add_array(path, "pitch", pitch, settings={"unit": "ln_hz", "floor": 80})
    add_array(path, "codes", stress, dtype="int32", axis="phoneme")
    add_array(path, "vector", lambda utterance: vector(utterance)[:2], row_shape=(2,), axis="utterance")
    add_array(path, "stress", lambda utterance: stress(utterance).astype(np.int16), dtype="int16", axis="phoneme")
    return UtteranceDataset(path)


@pytest.mark.parametrize("listed", [False, True])
def test_arrays_of_several_stores_are_mixed_only_if_they_mean_the_same(
    dataset: UtteranceDataset, other: UtteranceDataset, listed: bool
) -> None:
    chosen = tts_prep.loader.ChainDataset(dataset[:2], other[:1]).__getitems__([2, 0, 1])
    batch = collate(list(chosen) if listed else chosen, arrays=("stress",))
    for row, utterance in enumerate([other[0], dataset[0], dataset[1]]):
        assert np.array_equal(batch.stress[row, : len(utterance.phonemes)], utterance.phonemes % 3)
    for name, difference in (
        ("pitch", "unit is (None|ln_hz) in one and (None|ln_hz) in the other"),
        ("codes", r"axis is (own|phoneme) in one and (own|phoneme) in the other; row_shape is \["),
        ("vector", r"row_shape is \[[23]\] in one and \[[23]\] in the other"),
    ):
        with pytest.raises(ConfigurationError, match=f"^array '{name}' of .* cannot be mixed: {difference}"):
            collate(list(chosen) if listed else chosen, arrays=(name,))
    with pytest.raises(ConfigurationError, match="no array 'energy'"):
        collate(chosen, arrays=("energy",))


def test_arrays_are_by_name_in_every_batch(dataset: UtteranceDataset) -> None:
    for batch in (
        collate(dataset[:2], arrays=("pitch", "mel")),
        tts_prep.loader.SegmentCollator(4, arrays=("pitch", "mel"))(dataset[:2]),
    ):
        assert batch["pitch"] is batch.pitch is batch.arrays["pitch"]
        assert batch["mel"] is batch.mel is not batch.arrays["mel"]
        assert "pitch" in batch
        assert "energy" not in batch
        with pytest.raises(KeyError):
            batch["energy"]


def test_codes_as_long_as_the_mel_are_not_taken_for_frames(dataset: UtteranceDataset) -> None:
    with pytest.raises(ConfigurationError, match="'as_long' has not one row per frame or per sample"):
        tts_prep.loader.SegmentCollator(4, arrays=("as_long",))(dataset[:2])


def test_a_batch_has_no_arrays_that_were_not_asked_for(dataset: UtteranceDataset) -> None:
    batch = collate(dataset[:2])
    assert batch.arrays is None
    with pytest.raises(AttributeError, match="the batch has no 'pitch'; request arrays with"):
        batch.pitch  # noqa: B018
    with pytest.raises(ConfigurationError, match="no array 'energy'"):
        collate(dataset[:2], arrays=("energy",))


def test_arrays_become_tensors(dataset: UtteranceDataset) -> None:
    torch = pytest.importorskip("torch")
    batch = collate(dataset[:2], arrays=("pitch",)).to("cpu")
    assert isinstance(batch.pitch, torch.Tensor)


def test_pitch_is_normalized_by_the_statistics_and_unvoiced_stays_zero(dataset: UtteranceDataset) -> None:
    every = np.concatenate([utterance.arrays["pitch"] for utterance in dataset]).astype(np.float64)
    for by in ("corpus", "speaker"):
        found = tts_prep.loader.ArrayNormalizer.of(dataset, "pitch", by).transform(
            dataset[0].arrays["pitch"], speaker=0
        )
        expected = (dataset[0].arrays["pitch"] - every.mean()) / every.std()
        np.testing.assert_allclose(found[1:], expected[1:], rtol=1e-5)
        assert found[0] == 0
    with pytest.raises(ConfigurationError, match="by: expected 'corpus' or 'speaker', found 'text'"):
        tts_prep.loader.ArrayNormalizer.of(dataset, "pitch", "text")


def test_lengths_of_rows_of_their_own_filter_a_dataset(dataset: UtteranceDataset) -> None:
    longest = int(dataset.n_codes.max())
    assert len(dataset.filter(lambda m: m.n_codes == longest)) == 1


def test_codes_are_padded_with_a_value_that_is_no_code(dataset: UtteranceDataset) -> None:
    chosen = dataset[:3]
    batch = collate(chosen, arrays=("codes", "pitch"), array_padding={"codes": 1024})
    lengths = batch.array_lengths["codes"]
    assert len(set(lengths.tolist())) > 1
    for row, n in zip(batch.codes, lengths, strict=True):
        assert (row[:n] == 7).all()
        assert (row[n:] == 1024).all()
    for row, n in zip(batch.pitch, batch.mel_lengths, strict=True):
        assert not row[n:].any()
    longest = int(chosen.n_frames.max())
    segments = tts_prep.loader.SegmentCollator(
        longest + 2, waveform=False, arrays=["pitch"], array_padding={"pitch": -1}
    )(chosen)
    for row, n in zip(segments.pitch, chosen.n_frames, strict=True):
        assert (row[n:] == -1).all()
        assert (row[:n] >= 0).all()


def test_padding_that_does_not_fit_is_refused(dataset: UtteranceDataset) -> None:
    with pytest.raises(ConfigurationError, match=r"array_padding: 'codes' is none of arrays=\('pitch',\)"):
        collate(dataset[:2], arrays=("pitch",), array_padding={"codes": 1})
    with pytest.raises(ConfigurationError, match="array_padding: array 'codes' has integers, found 0.5"):
        collate(dataset[:2], arrays=("codes",), array_padding={"codes": 0.5})


def test_an_array_is_an_attribute_of_an_utterance_as_of_a_batch(dataset: UtteranceDataset) -> None:
    utterance = dataset[0]
    np.testing.assert_array_equal(utterance.pitch, utterance.arrays["pitch"])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(utterance)).codes, utterance.codes)
    with pytest.raises(AttributeError, match="the utterance has no 'energy'; its arrays are .*pitch"):
        _ = utterance.energy
    assert not hasattr(utterance, "energy")


def test_a_filter_by_arrays_says_that_columns_are_meant(dataset: UtteranceDataset) -> None:
    for name in ("mel", "phonemes", "waveform", "codes"):
        with pytest.raises(ConfigurationError, match=f"filter: '{name}' is an array of each utterance, and these are"):
            dataset.filter(lambda columns, name=name: len(getattr(columns, name)) > 1)
    with pytest.raises(AttributeError, match="no column 'mels'; it has "):
        dataset.filter(lambda columns: columns.mels)
    with pytest.raises(AttributeError, match="'int' object has no attribute 'mel'"):
        dataset.filter(lambda columns: (3).mel)
