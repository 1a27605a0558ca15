"""Parakeet's recipes: the collector of the LJSpeech document and the WaveNet clips."""

import numpy as np
import pytest
from stores import HOP_LENGTH, SAMPLE_RATE, make_rows, write_store

from tts_prep.errors import ConfigurationError
from tts_prep.loader import DataLoader, UtteranceDataset
from tts_prep.recipes import DataCollector, LJSpeechCollector, stop_probabilities

N_FRAMES = [7, 3, 9, 4, 5, 11]


def test_stop_probabilities_are_ones_and_a_two():
    assert stop_probabilities(4).tolist() == [1, 1, 1, 2]
    assert stop_probabilities(1).tolist() == [2]


def test_ids_mels_and_stop_probabilities_are_padded(dataset, rows):
    ids, mels, stops = LJSpeechCollector(settings="any")(dataset[[1, 3]])
    assert mels.shape == (2, 4, 5)
    np.testing.assert_array_equal(mels[0, :3], rows[1].mel)
    assert not mels[0, 3].any()
    assert stops.tolist() == [[1, 1, 2, 0], [1, 1, 1, 2]]
    assert ids.tolist() == [rows[1].phonemes.tolist(), rows[3].phonemes.tolist()]
    assert (ids.dtype, mels.dtype, stops.dtype) == (np.int64, np.float32, np.int64)


def test_the_collector_takes_the_documents_tuples(dataset, rows):
    examples = [(row.phonemes, row.mel.T, stop_probabilities(len(row.mel))) for row in rows]
    for one, other in zip(
        LJSpeechCollector(0, -4.0, settings="any")(examples),
        LJSpeechCollector(0, -4.0, settings="any")(dataset),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("mel_dtype", ["float32", "float16"])
def test_a_selection_and_its_utterances_give_the_same_batch(tmp_path, mel_dtype):
    rows = make_rows([7, 1, 9, 4], mel_dtype=mel_dtype)
    dataset = UtteranceDataset(write_store(tmp_path / "s", rows))
    collate = LJSpeechCollector(3, -4.0, settings="any")
    for chosen in ([2, 0, 2], [1], [3, 1, 0]):
        for examples in (dataset[chosen], [dataset[i] for i in chosen]):
            ids, mels, stops = collate(examples)
            for i, of_ids, mel, of_stops in zip(chosen, ids, mels, stops, strict=True):
                n, m = len(rows[i].mel), len(rows[i].phonemes)
                assert of_ids.tolist() == rows[i].phonemes.tolist() + [3] * (len(of_ids) - m)
                np.testing.assert_array_equal(mel[:n], rows[i].mel.astype(np.float32))
                assert (mel[n:] == -4).all()
                assert of_stops.tolist() == [1] * (n - 1) + [2] + [3] * (len(of_stops) - n)
            assert {ids.dtype, stops.dtype} == {np.dtype(np.int64)}
            assert mels.dtype == np.float32


def collector(frames=2, context=1, **settings):
    # ceil(frames / 86 · 86) + context frames in a clip
    return DataCollector(
        context * HOP_LENGTH,
        SAMPLE_RATE,
        HOP_LENGTH,
        frames / (SAMPLE_RATE // HOP_LENGTH),
        **{"settings": "any", **settings},
    )


def test_clips_begin_at_a_frame_and_have_the_audio_that_stands_there(dataset, rows):
    batch = collector()
    assert batch.num_frames == 3
    audios, mels, starts = batch(dataset)
    assert audios.shape == (6, 3 * HOP_LENGTH)
    assert mels.shape == (6, 5, 11)
    np.testing.assert_array_equal(mels[1, :, :3], rows[1].mel.T)
    for audio, start, row in zip(audios, starts, rows, strict=True):
        assert start % HOP_LENGTH == 0
        padded = np.zeros(len(row.mel) * HOP_LENGTH)
        padded[: len(row.waveform)] = row.waveform / 32_768
        np.testing.assert_allclose(audio, padded[start : start + 3 * HOP_LENGTH], atol=1e-6)


def test_every_offset_is_drawn_the_last_one_too_and_an_exact_fit_works(dataset):
    batch = collector()
    seen = [set() for _ in N_FRAMES]
    for epoch in range(200):
        batch.set_epoch(epoch)
        for found, start in zip(seen, batch(dataset)[2].tolist(), strict=True):
            found.add(start // HOP_LENGTH)
    assert seen == [set(range(n - 3 + 1)) for n in N_FRAMES]


def test_clips_are_a_function_of_seed_epoch_and_audio(dataset):
    first = collector(seed=1)(dataset)[2]
    np.testing.assert_array_equal(collector(seed=1)(dataset[::-1])[2][::-1], first)
    assert collector(seed=2)(dataset)[2].tolist() != first.tolist()
    loader = DataLoader(dataset, 6, collate_fn=collector(seed=1))
    epochs = [batch[2].tolist() for _ in range(2) for batch in loader]
    assert epochs[0] == first.tolist() != epochs[1]


def test_validation_keeps_the_whole_audio(dataset):
    audios, _, starts = collector(valid=True)(dataset[:2])
    assert audios.shape == (2, 7 * HOP_LENGTH)
    assert starts.tolist() == [0, 0]


def test_what_cannot_be_cut_is_refused(dataset, tmp_path):
    with pytest.raises(ConfigurationError, match=r"too short for a clip of 4 frames.*n_frames >= 4"):
        collector(frames=3)(dataset)
    without = UtteranceDataset(write_store(tmp_path / "s", make_rows([9]), n_shards=1))
    with pytest.raises(ConfigurationError, match="it has no waveform; .* --waveform int16"):
        collector()(without)
    with pytest.raises(ConfigurationError, match="the collector was made for 24000 and 300"):
        DataCollector(0, 24_000, 300, 0.01, settings="any")(dataset)
    audio, mel = np.arange(1024.0), np.zeros((5, 4))
    assert collector()([(audio, mel)])[0].shape == (1, 768)
