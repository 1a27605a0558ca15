"""StyleTTS2's loader: its signature, its eight fields, and improvements."""

import inspect

import numpy as np
import pytest
from stores import make_rows, write_store

from tts_prep.errors import ConfigurationError
from tts_prep.loader import OutOfDomainText, UtteranceDataset
from tts_prep.recipes import Collater, FilePathDataset, build_dataloader

N_FRAMES = [7, 300, 9, 4, 193, 11]
NUMPY = {"output": "numpy"}


@pytest.fixture
def lines(rows):
    return [f"wavs/{row.id}.wav|{row.phoneme_text}|{'001' if i % 2 else 'p2'}\n" for i, row in enumerate(rows)]


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "ood.txt"
    path.write_text("abcabc\nab\ncabcab\nbbbbbbb\n", encoding="utf-8")
    return path


def test_the_signature_is_that_of_styletts2():
    names = ["path_list", "root_path", "validation", "OOD_data", "min_length", "batch_size", "num_workers", "device"]
    parameters = inspect.signature(build_dataloader).parameters
    assert list(parameters) == [*names, "collate_config", "dataset_config"]
    assert [parameters[name].default for name in names[2:]] == [False, "Data/OOD_texts.txt", 50, 4, 1, "cpu"]


def test_a_batch_is_the_eight_of_styletts2(store, lines, texts, rows):
    loader = build_dataloader(lines, store, True, texts, 5, 6, collate_config=NUMPY, dataset_config={"settings": "any"})
    (batch,) = loader
    waves, ids, input_lengths, ref_texts, ref_lengths, mels, output_lengths, ref_mels = batch
    order = sorted(range(6), key=lambda i: -(N_FRAMES[i] - N_FRAMES[i] % 2))
    assert output_lengths.tolist() == [300, 192, 10, 8, 6, 4]
    assert mels.shape == (6, 5, 300)
    assert ref_mels.shape == (6, 5, 192)
    for row, i in enumerate(order):
        np.testing.assert_array_equal(mels[row, :, : output_lengths[row]], rows[i].mel[: output_lengths[row]].T)
        assert not mels[row, :, output_lengths[row] :].any()
        assert ids[row, : input_lengths[row]].tolist() == [0, *rows[i].phonemes.tolist(), 0]
        assert not ids[row, input_lengths[row] :].any()
        np.testing.assert_allclose(waves[row], rows[i].waveform / 32_768, atol=1e-7)
        text = ref_texts[row, : ref_lengths[row]].tolist()
        # a, b, c are 1, 2, 3; "ab" is too short.
        assert text in ([0, 1, 2, 3, 1, 2, 3, 0], [0, 3, 1, 2, 3, 1, 2, 0], [0, *[2] * 7, 0])


def test_a_reference_is_of_the_same_speaker_and_cropped_anywhere(store, lines, texts, rows):
    dataset = FilePathDataset(lines, store, texts, 5, settings="any")
    seen = set()
    for epoch in range(300):
        dataset.set_epoch(epoch)
        label, _, _, _, ref_mel, ref_label, path, _ = dataset[1]
        assert label == ref_label
        n = ref_mel.shape[1]
        candidates = [(i, s) for i in (1, 3, 5) for s in range(max(1, N_FRAMES[i] - 192 + 1))]
        (found,) = [(i, s) for i, s in candidates if np.array_equal(rows[i].mel[s : s + n].T, ref_mel)]
        assert n == min(192, N_FRAMES[found[0]])
        seen.add(found)
    assert {i for i, _ in seen} == {1, 3, 5}
    assert path == f"wavs/{rows[1].id}.wav"
    assert len(seen) > 40


def test_training_shuffles_and_drops_the_last_and_validation_does_not(store, lines, texts):
    train = build_dataloader(lines, store, False, texts, 5, 4, collate_config=NUMPY, dataset_config={"settings": "any"})
    assert len(train) == 1
    assert [len(batch[0]) for batch in train] == [4]
    valid = build_dataloader(
        lines, store, True, texts, 5, 4, num_workers=0, collate_config=NUMPY, dataset_config={"settings": "any"}
    )
    assert [len(batch[0]) for batch in valid] == [4, 2]
    one, other = ([batch[5].tolist() for batch in valid] for _ in range(2))
    assert one == other


def test_everything_random_is_a_function_of_seed_and_epoch(store, lines, texts):
    def epochs(seed):
        loader = build_dataloader(
            lines, store, False, texts, 5, 2, 2, collate_config=NUMPY, dataset_config={"seed": seed, "settings": "any"}
        )
        return [[(batch[3].tolist(), batch[7].sum()) for batch in loader] for _ in range(2)]

    assert epochs(1) == epochs(1) != epochs(2)
    assert epochs(1)[0] != epochs(1)[1]


def test_the_whole_store_does_without_a_list_and_speakers_may_be_any_text(store, rows, texts):
    dataset = FilePathDataset(None, store, texts, 5, settings="any")
    assert [dataset[i][0] for i in range(3)] == [0, 2, 1]  # ljspeech, zoë, p225, by name
    assert dataset[2][2].tolist() == [0, *rows[2].phonemes.tolist(), 0]
    assert FilePathDataset(None, store, texts, 5, settings="any").utterances.id[0] == rows[0].id
    spaced = FilePathDataset([f" {rows[0].id}.wav|ab \r\n", "\n"], store, texts, 5, settings="any")
    assert [example[2].tolist() for example in spaced] == [[0, 1, 2, 0]]
    numbered = FilePathDataset([f"{rows[0].id}.wav|ab|001", f"{rows[1].id}.wav|ab"], store, texts, 5, settings="any")
    assert [numbered[i][0] for i in range(2)] == [1, 0]


def test_texts_may_be_ids_and_a_list_of_wavs_has_them_in_field_1(store, tmp_path):
    ids = FilePathDataset(None, store, [[1, 2, 3], [1]], 3, settings="any")
    assert [text.tolist() for text in ids.ptexts] == [[0, 1, 2, 3, 0]]
    path = tmp_path / "list.txt"
    path.write_text("x.wav|abc|0\ny.wav|bca|0\n", encoding="utf-8")
    assert [text.tolist() for text in FilePathDataset(None, store, path, 3, settings="any").ptexts] == [
        [0, 1, 2, 3, 0],
        [0, 2, 3, 1, 0],
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data_list": ["a|b|c|d"]}, "line 1: expected wav.phonemes.speaker, found 4 fields"),
        ({"data_list": ["no.wav|ab|0"]}, "no utterance for 1 line of the file list: 1 is unknown to it, such as 'no'"),
        ({"data_list": []}, "the file list is empty"),
        ({"OOD_data": ["ab", "c"]}, "all texts are shorter than min_length = 5"),
        ({"OOD_data": ["abcxyz"]}, r"line 1: \['x', 'y', 'z'\] are not in the vocabulary"),
        ({"OOD_data": [[1] * 6, [1, 2, 3, 1, 2, 999]]}, "line 2: expected ids, integers from 0 to .*, found .*999"),
        ({"OOD_data": [np.full(6, 1.5)]}, "line 1: expected ids, integers from 0 to .*1.5"),
        ({"OOD_data": "nowhere.txt"}, "nowhere.txt: cannot be read as out-of-domain texts"),
    ],
)
def test_what_cannot_be_used_is_named(store, change, message):
    with pytest.raises(ConfigurationError, match=message):
        FilePathDataset(
            **{
                "data_list": None,
                "root_path": store,
                "OOD_data": ["abcabc"],
                "min_length": 5,
                "settings": "any",
                **change,
            }
        )


def test_only_line_feeds_end_a_text(store, rows, tmp_path):
    # The separators are not in the vocabulary: a text that was split there would not name them.
    path = tmp_path / "ood.txt"
    path.write_bytes("\ufeffabc\r\naaaaa\u2028bbbbb\n".encode())
    with pytest.raises(ConfigurationError, match=r"ood.txt, line 2: \['\\u2028'\] are not in the vocabulary"):
        FilePathDataset([f"{rows[0].id}.wav|ab"], store, path, 5, settings="any")
    path.write_bytes(b"\xef\xbb\xbfabcab\r\nab\r\n")
    assert [text.tolist() for text in FilePathDataset(None, store, path, 5, settings="any").ptexts] == [
        [0, 1, 2, 3, 1, 2, 0]
    ]


def test_an_unknown_symbol_is_not_dropped(store, rows):
    dataset = FilePathDataset([f"{rows[0].id}.wav|a?b|0"], store, ["abcabc"], 5, settings="any")
    with pytest.raises(ConfigurationError, match=r"line 1: \['\?'\] are not in the vocabulary"):
        dataset[0]


def test_a_store_without_waveforms_gives_none_on_request(tmp_path):
    path = write_store(tmp_path / "s", make_rows([4, 6]), n_shards=1)
    with pytest.raises(ConfigurationError, match="it has no waveform; .* --waveform int16"):
        FilePathDataset(None, path, ["abcabc"], 5, settings="any")
    dataset = FilePathDataset(None, UtteranceDataset(path), ["abcabc"], 5, waveform=False, settings="any")
    assert Collater(output="numpy")(list(dataset))[0] == [None, None]
    with pytest.raises(ConfigurationError, match="'torch' or 'numpy', found 'jax'"):
        Collater(output="jax")


def test_the_stores_own_out_of_domain_texts_are_taken_where_no_file_is_given(store, monkeypatch, tmp_path):
    with pytest.raises(ConfigurationError, match="it has no out-of-domain texts; .* --ood-texts FILE"):
        FilePathDataset(None, store, OOD_data=None, settings="any")
    texts = [OutOfDomainText(i, "", "", np.array(ids, np.int32)) for i, ids in enumerate([[1, 2, 3], [1], [3, 3, 2]])]
    monkeypatch.setattr(UtteranceDataset, "ood_texts", texts)
    monkeypatch.chdir(tmp_path)
    for settings in ({"OOD_data": None}, {}):
        dataset = FilePathDataset(None, store, min_length=2, settings="any", **settings)
        assert [ids.tolist() for ids in dataset.ptexts] == [[0, 1, 2, 3, 0], [0, 3, 3, 2, 0]]
    (tmp_path / "Data").mkdir()
    (tmp_path / "Data/OOD_texts.txt").write_text("abca\n", encoding="utf-8")
    assert len(FilePathDataset(None, store, min_length=2, settings="any").ptexts) == 1
