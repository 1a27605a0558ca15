"""The data configurations of SpeeChain's published recipes, on stores."""

from pathlib import Path

import numpy as np
import pytest
from stores import make_rows, write_store

from tts_prep.cli.main import main
from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.recipes import build_iterators
from tts_prep.recipes.speechain import MainDataset
from tts_prep.recipes.speechain.iterators import cut_by_sum, split_batches
from tts_prep.recipes.speechain.main_data import collate_main_data

# As recipes/tts/libritts/train-clean-100/data_cfg has it: anchors, elements of lists, several iterators.
TEACHER_FORCING = """
dataset_path: {root}
subsets:
- dev
- test
first: &first dev-clean
wav_format: wav16000
data_root: !ref <dataset_path>/data

test:
    *first :
        type: abs.Iterator
        conf:
            dataset_type: speech_text.SpeechTextDataset
            dataset_conf:
                main_data:
                    feat: !ref <data_root>/<subsets[0]>/idx2wav
                    text: !ref <data_root>/<subsets[0]>/idx2phones
                    duration: !ref <data_root>/<subsets[0]>/idx2duration
                    spk_feat: !ref <data_root>/<subsets[0]>/idx2ecapa_spk_feat
                    spk_ids: !ref <data_root>/<subsets[0]>/idx2spk
                sample_rate: 22050
            shuffle: False
            data_len: !ref <data_root>/<subsets[0]>/idx2wav_len
            group_info:
                speaker: !ref <data_root>/<subsets[0]>/idx2spk
"""

# As recipes/asr/librispeech/train-960/exp_cfg has it: the groups below data_cfg, beside much else.
EXPERIMENT = """
batch_len: 9e1
best_model_selection: !tuple (valid, loss, min, 10)
data_cfg:
  train:
    type: block.BlockIterator
    conf:
      dataset_type: speech_text.SpeechTextDataset
      dataset_conf:
        main_data:
          feat: {root}/data/dev/idx2feat
          text: {root}/data/dev/idx2text
      data_len: {root}/data/dev/idx2feat_len
      shuffle: True
      is_descending: True
      batch_len: !ref <batch_len>
  valid:
    type: abs.Iterator
    conf:
      dataset_type: speech_text.RandomSpkFeatDataset
      dataset_conf:
        main_data:
          text: {root}/data/dev/idx2text
        spk_feat: {root}/data/dev/idx2ecapa_spk_feat
        use_aver_feat: True
      shuffle: False
      batch_size: 3
train_cfg:
  model: {{model_type: ar_asr.ARASR, conv_dims: !list [256, -1]}}
"""

N_FRAMES = [40, 20, 30, 10, 50]


@pytest.fixture(scope="module")
def rows():
    return make_rows(N_FRAMES)


@pytest.fixture(scope="module")
def root(tmp_path_factory, rows):
    root = tmp_path_factory.mktemp("speechain")
    store = write_store(root / "store", rows, waveform=True)
    folder = root / "data" / "dev"
    with pytest.raises(SystemExit) as status:
        main(["export", str(store), str(folder), "--to", "speechain"])
    assert status.value.code == 0

    def write(name, values):
        lines = [f"{uid} {value}\n" for uid, value in values.items()]
        (folder / name).write_text("".join(lines), encoding="utf-8")

    tokens = ["<space>", "HH", "AH0", "<space>", "L", "<space>", "<space>"]
    write("idx2phones", dict.fromkeys([row.id for row in rows], str(tokens)))
    write("idx2duration", dict.fromkeys([row.id for row in rows], "['1', '2', '3', '1', '1', '1.5', '0.5']"))
    for i, name in enumerate(("ljspeech", "p225", "zoë")):
        np.save(folder / f"{name}.npy", np.full(4, i, np.float32))
    write("spk2aver_ecapa_spk_feat", {name: f"{name}.npy" for name in ("ljspeech", "p225", "zoë")})
    write("idx2ecapa_spk_feat", {row.id: f"{row.speaker}.npy" for row in rows})
    return root


@pytest.mark.whole
def test_a_published_configuration_runs(root, rows):
    (group,) = build_iterators(TEACHER_FORCING.format(root=root)).values()
    (dataset,) = (loader.dataset for loader in group.loaders.values())
    assert list(group.loaders) == ["dev-clean"]
    assert dataset.group_info == {"speaker": {row.id: row.speaker for row in rows}}
    batches = list(group)
    by_length = sorted(rows, key=lambda row: -len(row.waveform))
    assert [batch["spk_ids"] for batch in batches] == [[row.speaker] for row in by_length]
    for batch, row in zip(batches, by_length, strict=True):
        # A tenth of the durations is <space> in front, a fifth behind.
        n = len(row.waveform)
        samples = row.waveform[int(0.1 * n) : n - int(0.2 * n)] / 32_768
        np.testing.assert_allclose(batch["feat"][0, :, 0], samples, atol=1e-7)
        assert batch["feat_len"].tolist() == [len(samples)]
        assert batch["text"] == [["HH", "AH0", "<space>", "L"]]
        assert batch["duration"].tolist() == [[2, 3, 1, 1]]
        assert batch["duration"].dtype == np.float32
        assert batch["duration_len"].tolist() == [4]
        assert batch["spk_feat"].tolist() == [[["ljspeech", "p225", "zoë"].index(row.speaker)] * 4]


@pytest.mark.whole
def test_an_experiments_configuration_runs(root, rows):
    groups = build_iterators(EXPERIMENT.format(root=root), output="numpy")
    # Sums of 90 and more, the longest first: 50 + 40, and 30 + 20 + 10.
    assert sorted(batch["feat_len"].tolist() for batch in groups["train"]) == [[30, 20, 10], [50, 40]]
    batches = list(groups["valid"])
    # By the number of characters, which is the same for all.
    assert [batch["text"] for batch in batches] == [[row.text for row in rows[:3]], [row.text for row in rows[3:]]]
    for batch in batches:
        expected = [["ljspeech", "p225", "zoë"].index(speaker) for speaker in batch["spk_ids"]]
        assert batch["spk_feat"][:, 0].tolist() == expected
        assert batch["spk_feat_ids"] == ["aver_spk_feat"] * len(expected)


@pytest.mark.whole
def test_random_speakers_are_other_ones_in_every_epoch_and_the_same_again(root, rows):
    def names(epoch):
        group = build_iterators(EXPERIMENT.format(root=root))["valid"]
        group.set_epoch(epoch)
        return [name for batch in group for name in batch["spk_ids"]]

    assert names(0) == names(0)
    assert len({tuple(names(epoch)) for epoch in range(6)}) > 1


@pytest.mark.whole
def test_averaged_embeddings_are_of_different_speakers(root):
    text = EXPERIMENT.replace("use_aver_feat: True", "mixup_number: {number}")
    for number, repeated in ((2, []), (3, []), (4, [1])):
        (loader,) = build_iterators(text.format(root=root, number=number))["valid"].loaders.values()
        for example in (loader.dataset[i] for i in range(5)):
            names = example["spk_ids"].split("+")
            assert [n - 1 for n in sorted(map(names.count, set(names))) if n > 1] == repeated
            mean = np.mean([["ljspeech", "p225", "zoë"].index(name) for name in names])
            np.testing.assert_allclose(example["spk_feat"], [mean] * 4, rtol=1e-6)


def test_batches_end_where_their_sum_reaches_the_total():
    assert cut_by_sum(range(5), np.array([5, 4, 3, 2, 1]), 8) == [[0, 1], [2, 3, 4]]
    assert cut_by_sum(range(3), np.array([9, 9, 1]), 8) == [[0], [1], [2]]


def test_ranks_share_each_batch():
    # The odd one of a batch goes to the next one.
    batches = [[0, 1, 2], [3, 4], [5, 6]]
    assert split_batches(batches, 0, 2) == [[1], [3], [5], [6]]
    assert split_batches(batches, 1, 2) == [[0], [2], [4], [6]]
    assert split_batches(batches, 0, 2, first_to_last=True) == [[0], [2], [4], [6]]
    assert split_batches(batches, 0, 1) == batches


def write_features(folder, text):
    (folder / "idx2feat").write_text(text, encoding="utf-8")
    return {"feat": str(folder / "idx2feat")}


def test_features_come_from_npz_files(tmp_path):
    features = np.arange(12, dtype=np.float32).reshape(6, 2)
    np.savez(tmp_path / "a.npz", feat=features, sample_rate=16000)
    np.savez(tmp_path / "chunk.npz", b=features + 1)
    dataset = MainDataset(write_features(tmp_path, "a a.npz\nb chunk.npz:b\n"))
    np.testing.assert_array_equal(dataset[0]["feat"], features)
    np.testing.assert_array_equal(dataset[1]["feat"], features + 1)
    for value, message in (("c.wav", "recordings go into a store first"), ("no.npz:b", "cannot be read")):
        with pytest.raises(ConfigurationError, match=message):
            MainDataset(write_features(tmp_path, f"a {value}\n"))[0]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("selection", "kept"),
    [
        (["order", 0.4], [0, 1]),
        (["rev_order", -1], [4]),
        (["min", "30", "idx2feat_len"], [1, 2, 3]),
        (["max", -2, "idx2feat_len"], [0, 4]),
        (["middle", -3, "idx2feat_len"], [0, 1, 2]),
        (["group", ["m"], "idx2gen"], [1, 3]),
        ([["max", "20", "idx2feat_len"], ["order", -2]], [0, 1]),
    ],
)
def test_data_selection(root, rows, selection, kept):
    folder = root / "data" / "dev"
    several = selection if isinstance(selection[0], list) else [selection]
    selection = [[*one[:2], *(str(folder / name) for name in one[2:])] for one in several]
    dataset_conf = {"main_data": {"feat": str(folder / "idx2feat")}, "data_selection": selection}
    conf = {"dataset_type": "speech_text.SpeechTextDataset", "dataset_conf": dataset_conf}
    (group,) = build_iterators({"test": {"type": "abs.Iterator", "conf": conf}}).values()
    assert [loader.dataset.ids for loader in group.loaders.values()] == [[rows[i].id for i in kept]]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("abs.Iterator", "abs.It", r"test\.dev-clean\.type: expected one of abs\.Iterator, block\.BlockIterator"),
        ("sample_rate: 22050", "sample_rate: 16000", "sample_rate is 16000 Hz, the store has 22050; make it with"),
        ("sample_rate: 22050", "use_speed_perturb: True", "use_speed_perturb: not done while loading"),
        ("sample_rate: 22050", "sample_rate: 22050\n                pitch_conf: {{hop_length: 256}}", "has no pitch"),
        ("duration: ", "durations: ", "the key 'durations' is unknown"),
        ("subsets[0]>/idx2phones", "subsets[7]>/idx2phones", "'subsets' is no list with such an element"),
        ("idx2wav_len", "idx2spk", "data_len: expected a number for 'LJ000-é'"),
        ("shuffle: False", "batch_len: 3", "the key 'batch_len' is unknown"),
    ],
)
def test_a_configuration_that_cannot_be_used_names_the_key(root, old, new, message):
    with pytest.raises(ConfigurationError, match=message):
        list(build_iterators(TEACHER_FORCING.replace(old, new).format(root=root))["test"])


def test_what_has_no_voiced_frame_is_left_out_of_a_batch():
    pitches = ([0, 0], [90, 91, 92], [0])
    examples = [{"feat": np.ones((9, 1)), "text": str(n), "pitch": np.array(p)} for n, p in enumerate(pitches)]
    batch = collate_main_data(examples)
    assert (batch["text"], batch["pitch"].tolist(), len(batch["feat"])) == (["1"], [[90, 91, 92]], 1)
    assert collate_main_data(examples[::2])["text"] == ["0", "2"]


@pytest.mark.whole
def test_ids_that_some_file_lacks_are_listed(tmp_path, root, rows):
    (tmp_path / "idx2text").write_text(f"{rows[0].id} ['<space>']\n{rows[1].id} ['a']\nx ['b']\n", encoding="utf-8")
    data = {"feat": str(root / "data" / "dev" / "idx2feat"), "text": str(tmp_path / "idx2text")}
    dataset = MainDataset(data)
    assert dataset.ids == [rows[1].id]
    assert dataset.left_out == tuple(sorted({row.id for row in rows} - {rows[1].id} | {"x"}))
    with pytest.raises(SamplingError, match="no id of main_data"):
        dataset.keep({})
    Path(data["text"]).write_text(f"{rows[1].id} ['<space>', 'a']\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="begins or ends with <space>"):
        MainDataset(data)
