"""The YAML of SpeeChain's documentation, on stores."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores import make_rows, write_store

from tts_prep.additions.add_columns import add_index_array
from tts_prep.cli.main import main
from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.export import export
from tts_prep.format.records.arrays import ArraySpec
from tts_prep.recipes import build_iterators, read_config
from tts_prep.recipes.kaldi_files import read_table, read_tables
from tts_prep.recipes.speechain import FixedBatches, SpeechTextDataset, cut_blocks, select_positions
from tts_prep.recipes.speechain.configuration import read_yaml

PARTS = {"train_clean_100": [7, 3, 9, 4], "train_clean_360": [5, 11], "train_other_500": [2, 6, 8]}

SEMI_SUPERVISED = """
train:
    sup:
        type: block.BlockIterator
        conf:
            dataset_type: speech.speech_text.SpeechTextDataset
            dataset_conf:
                src_data: {root}/train_clean_100/idx2feat
                tgt_label: {root}/train_clean_100/idx2text
                ...
            batch_len: 18
            ...
    unsup:
        type: block.BlockIterator
        conf:
            dataset_type: speech.speech_text.SpeechTextDataset
            dataset_conf:
                src_data: {root}/train_clean_360/idx2feat
                ...
            ...
valid:
    type: piece.PieceIterator
    conf:
        dataset_type: speech.speech_text.SpeechTextDataset
        dataset_conf:
            src_data: {root}/train_other_500/idx2feat
        batch_size: 2
        is_descending: none
"""

MIXED = """
data_root: {root}
train:
    type: block.BlockIterator
    conf:
        dataset_type: speech.speech_text.SpeechTextDataset
        dataset_conf:
            src_data:
                - !ref <data_root>/train_clean_100/idx2feat
                - !ref <data_root>/train_clean_360/idx2feat
                - !ref <data_root>/train_other_500/idx2feat
            tgt_label:
                - !ref <data_root>/train_clean_100/idx2text
                - !ref <data_root>/train_clean_360/idx2text
                - !ref <data_root>/train_other_500/idx2text

        selection_mode: rev_order
        selection_num: 0.5
        ...
valid:
    type: block.BlockIterator
    conf:
        dataset_type: speech.speech_text.SpeechTextDataset
        dataset_conf:
            src_data: !ref <data_root>/train_clean_100/idx2feat
            tgt_label: !ref <data_root>/train_clean_100/idx2text
            meta_info:
                speaker: !ref <data_root>/train_clean_100/idx2spk
                gender: !ref <data_root>/train_clean_100/idx2gen

        selection_mode: random
        selection_num: -3
        ...
"""


def make_part(name, n_frames):
    rows = make_rows(n_frames)
    for row in rows:
        row.id = f"{name}-{row.id}"
    return rows


@pytest.fixture(scope="module")
def rows():
    return {row.id: row for name, n_frames in PARTS.items() for row in make_part(name, n_frames)}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("data#1-")  # SpeeChain cuts a path at "#"
    for name, n_frames in PARTS.items():
        export(write_store(root / "stores" / name, make_part(name, n_frames), n_shards=2), "speechain", root / name)
    return root


def ids_of(group):
    return [uid for loader in group.loaders.values() for uid in loader.dataset.ids]


def test_iterators_by_name_come_together_and_one_comes_bare(root, rows):
    groups = build_iterators(SEMI_SUPERVISED.format(root=root))
    train = list(groups["train"])
    assert len(train) == len(groups["train"]) == 2  # sup: 9 + 7 and 4 + 3 in 18 frames each; unsup: two of one
    for batch in train:
        assert set(batch) == {"sup", "unsup"}
        assert set(batch["sup"]) == {"feat", "feat_len", "text", "text_len"}
        assert set(batch["unsup"]) == {"feat", "feat_len"}
    found = {
        int(n): feat for batch in train for n, feat in zip(batch["sup"]["feat_len"], batch["sup"]["feat"], strict=True)
    }
    assert sorted(found) == [3, 4, 7, 9]
    for row in (row for uid, row in rows.items() if uid.startswith("train_clean_100")):
        np.testing.assert_array_equal(found[len(row.mel)][: len(row.mel)], row.mel)
    valid = list(groups["valid"])
    assert [batch["feat_len"].tolist() for batch in valid] == [[2, 6], [8]]
    assert valid[0]["feat"].shape == (2, 6, 5)


def test_text_is_the_stores_ids(root, rows):
    (group,) = (build_iterators(SEMI_SUPERVISED.format(root=root))["train"],)
    dataset = group.loaders["sup"].dataset
    for uid, example in zip(dataset.ids, dataset, strict=True):
        assert example["text"].tolist() == rows[uid].phonemes.tolist()


def test_files_are_mixed_and_then_selected(root, rows):
    groups = build_iterators(MIXED.format(root=root))
    (loader,) = groups["train"].loaders.values()
    assert len(loader.dataset) == 9
    selected = {int(i) for batch in loader.batch_sampler.draw(0) for i in batch}
    assert selected == set(range(5, 9))  # the last int(9 / 2)
    valid = list(groups["valid"])
    assert len({batch["text"].tobytes() for batch in valid}) == 3  # different ones: no repeats
    for batch in valid:
        assert set(batch) == {"feat", "feat_len", "text", "text_len", "speaker", "gender"}
        (row,) = (row for row in rows.values() if row.mel.shape[0] == batch["feat_len"][0] and "clean_100" in row.id)
        assert (batch["speaker"], batch["gender"]) == ([row.speaker], [row.gender])


def test_a_label_file_listed_twice_leaves_out_what_has_none(root):
    text = MIXED.format(root=root).replace("train_clean_360/idx2text", "train_clean_100/idx2text")
    dataset = next(iter(build_iterators(text)["train"].loaders.values())).dataset
    assert len(dataset) == 7
    assert [uid.split("-")[0] for uid in dataset.left_out] == ["train_clean_360"] * 2


def test_a_store_itself_is_source_and_label(root, rows):
    store = str(root / "stores" / "train_clean_100")
    dataset = SpeechTextDataset(store, store)
    assert [example["feat"].shape[0] for example in dataset] == PARTS["train_clean_100"]
    assert dataset[0]["text"].tolist() == rows[dataset.ids[0]].phonemes.tolist()


def test_other_labels_are_spelled_or_go_to_the_tokenizer(root, tmp_path):
    store = str(root / "stores" / "train_clean_360")
    ids = SpeechTextDataset(store).ids
    (tmp_path / "text").write_text(f"{ids[0]} abé\n{ids[1]} ca\n", encoding="utf-8")
    dataset = SpeechTextDataset(store, str(tmp_path / "text"))
    assert [example["text"].tolist() for example in dataset] == [[1, 2, 4], [3, 1]]
    dataset = SpeechTextDataset(store, str(tmp_path / "text"), tokenizer=lambda text: [len(text)])
    assert [example["text"].tolist() for example in dataset] == [[3], [2]]
    (tmp_path / "text").write_text(f"{ids[0]} xyz\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"\['x', 'y', 'z'\] are not in its vocabulary; give a tokenizer"):
        SpeechTextDataset(store, str(tmp_path / "text"))


def test_npy_features_will_do(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 5), np.float32))
    (tmp_path / "feat.scp").write_text("a a.npy\n", encoding="utf-8")
    assert SpeechTextDataset(str(tmp_path / "feat.scp"))[0]["feat"].shape == (4, 5)
    (tmp_path / "wav.scp").write_text("a a.wav\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="audio goes into a store first"):
        SpeechTextDataset(str(tmp_path / "wav.scp"))


def test_ranks_share_batches_unless_they_do_not(root):
    text = SEMI_SUPERVISED.format(root=root)
    parts = [build_iterators(text, rank=rank, world_size=2) for rank in range(2)]
    assert [len(part["train"]) for part in parts] == [1, 1]
    seen = [set(map(float, batch["sup"]["feat_len"])) for part in parts for batch in part["train"]]
    assert sorted(map(sorted, seen)) == [[3, 4], [7, 9]]
    alone = text.replace("batch_size: 2", "batch_size: 2\n        distributed: false")
    assert len(build_iterators(alone, rank=1, world_size=2)["valid"]) == 2


def test_a_group_resumes_in_mid_epoch(root):
    def make():
        return build_iterators(MIXED.format(root=root))["train"]

    whole = [[batch["feat_len"].tolist() for batch in group] for group in [make()] * 2]
    group = make()
    iterator = iter(group)
    seen = [next(iterator)["feat_len"].tolist() for _ in range(2)]
    resumed = make()
    resumed.load_state_dict(json.loads(json.dumps(group.state_dict())))
    assert seen + [batch["feat_len"].tolist() for batch in resumed] == whole[0]
    resumed.set_epoch(1)
    assert [batch["feat_len"].tolist() for batch in resumed] == whole[1]
    with pytest.raises(ConfigurationError, match="expected iterators"):
        resumed.load_state_dict({"other": {}})


@pytest.mark.parametrize("kind", ["src_data", "main_data"])
def test_a_state_belongs_to_its_utterances(tmp_path, kind):
    key = "src_data" if kind == "src_data" else "main_data:\n        feat"
    iterator = "piece.PieceIterator" if kind == "src_data" else "abs.Iterator"
    dataset = "speech.speech_text.SpeechTextDataset" if kind == "src_data" else "speech_text.SpeechTextDataset"
    text = f"""
train:
  type: {iterator}
  conf:
    dataset_type: {dataset}
    dataset_conf:
      {key}: {tmp_path}/feat.scp
valid:
  type: {iterator}
  conf:
    dataset_type: {dataset}
    dataset_conf:
      {key}: {tmp_path}/feat.scp
"""
    np.save(tmp_path / "a.npy", np.zeros((3, 5), np.float32))

    def make(*ids):
        (tmp_path / "feat.scp").write_text("".join(f"{uid} a.npy\n" for uid in ids), encoding="utf-8")
        return build_iterators(text)["train"]

    state = make("a", "b").state_dict()
    make("a", "b").load_state_dict(state)
    with pytest.raises(ConfigurationError, match="the state is of another dataset"):
        make("a", "c").load_state_dict(state)


@given(lengths=st.lists(st.integers(1, 50), min_size=1, max_size=40), extra=st.integers(0, 100))
def test_blocks_keep_the_padded_size(lengths, extra):
    most = max(lengths) + extra
    batches = cut_blocks(range(len(lengths)), np.array(lengths), most)
    assert [i for batch in batches for i in batch] == list(range(len(lengths)))
    assert all(len(batch) * max(lengths[i] for i in batch) <= most for batch in batches)


def test_one_over_the_limit_is_named():
    with pytest.raises(SamplingError, match="example 1 alone has 9 frames, more than batch_len = 8"):
        cut_blocks([0, 1], np.array([4, 9]), 8)


@pytest.mark.parametrize(
    ("mode", "number", "expected"),
    [("order", 0.5, [0, 1]), ("rev_order", 0.5, [3, 4]), ("rev_order", -1, [4]), ("order", 0.01, [0])],
)
def test_selections(mode, number, expected):
    assert select_positions(5, mode, number, 0).tolist() == expected


def test_a_random_selection_draws_nobody_twice():
    assert len(set(select_positions(13_100, "random", -1000, 0).tolist())) == 1000


@pytest.mark.parametrize(
    ("mode", "number", "message"),
    [
        ("first", 0.5, "order, rev_order or random, found 'first'"),
        ("order", 1.5, "a share from 0 to 1, or a negative integer, found 1.5"),
        ("order", -9, "9 are wanted, there are 5"),
        ("order", "half", "a share or a negative count, found 'half'"),
    ],
)
def test_selections_that_cannot_be_are_refused(mode, number, message):
    with pytest.raises(ConfigurationError, match=message):
        select_positions(5, mode, number, 0)


def test_batches_per_epoch_go_on_through_the_data():
    sampler = FixedBatches([[0], [1], [2]], shuffle=True, batches_per_epoch=2)
    epochs = [list(sampler) for _ in range(6)]
    flat = [batch[0] for epoch in epochs for batch in epoch]
    assert [sorted(flat[i : i + 3]) for i in range(0, 12, 3)] == [[0, 1, 2]] * 4
    more = FixedBatches([[0], [1]], shuffle=False, batches_per_epoch=5)
    assert [list(more), list(more)] == [[[0], [1], [0], [1], [0]], [[1], [0], [1], [0], [1]]]


def test_references_keep_their_type_alone_and_become_text_within():
    value = read_yaml(
        "n: 3\nroot: !ref <base>/x\nbase: /data#1\nlist: !ref <parts>\nparts: [1, 2]\nat: !ref <root>/<n>\n"
    )
    assert value == {
        "n": 3,
        "root": "/data#1/x",
        "base": "/data#1",
        "list": [1, 2],
        "parts": [1, 2],
        "at": "/data#1/x/3",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !ref <b>\n", "<b>: no key of this name at the root"),
        ("a: !ref <b>\nb: !ref <c>/x\nc: !ref <a>\n", "circular references: b → c → a → b"),
        ("a: !ref b\n", "'!ref b' names no <key>"),
        ("a: !!python/object/apply:os.system ['true']\n", "invalid YAML"),
        ("a: !!python/name:os.system\nb: 1\n", "invalid YAML"),
        ("a: [1\nb: 2\n", "invalid YAML"),
        ("a: 1\na: 2\n", "the YAML:2: the key 'a' is repeated"),
        ("- 1\n- 2\n", "expected a mapping, found list"),
    ],
)
def test_yaml_that_cannot_be_used_is_refused(text, message):
    with pytest.raises(ConfigurationError, match=message):
        read_yaml(text)


BASE = """
train: &it
    type: block.BlockIterator
    conf:
        dataset_type: speech.speech_text.SpeechTextDataset
        dataset_conf:
            src_data: {root}/train_clean_100/idx2feat
valid: *it
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("valid:", "vaild:", "the key 'vaild' is unknown"),
        ("valid: *it\n", "\n", "found train"),
        ("    conf:", "    cnf:", "train: the key 'cnf' is unknown"),
        ("dataset_conf:", "batch_size: 3\n        dataset_conf:", "train.conf: the key 'batch_size' is unknown"),
        ("src_data:", "scr_data:", "train.conf.dataset_conf: the key 'scr_data' is unknown"),
        ("block.Block", "block.Brick", "train.type: expected one of block.BlockIterator, piece.PieceIterator"),
        ("SpeechTextDataset", "TextDataset", "train.conf.dataset_type: expected speech.speech_text.SpeechTextDataset"),
        ("idx2feat", "idx2none", "idx2none: cannot be read"),
        ("dataset_conf:", "selection_num: 0.5\n        dataset_conf:", "expected both or neither"),
        (
            "dataset_conf:",
            "batch_len: many\n        dataset_conf:",
            "batch_len: expected an integer >= 1, found 'many'",
        ),
        ("dataset_conf:", "seed: -1\n        dataset_conf:", "seed: expected an integer >= 0, found -1"),
        ("dataset_conf:", "shuffle: 3\n        dataset_conf:", "shuffle: expected true or false, found 3"),
        (
            "dataset_conf:",
            "data_len: {root}/train_clean_100/idx2spk\n        dataset_conf:",
            "data_len: expected a number",
        ),
        ("dataset_conf:", "is_descending: up\n        dataset_conf:", "is_descending: expected true, false or none"),
    ],
)
def test_a_configuration_that_cannot_be_used_names_the_key(root, old, new, message):
    with pytest.raises(ConfigurationError, match=message):
        build_iterators(BASE.replace(old, new).format(root=root))


def test_a_missing_configuration_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"none\.yaml: cannot be read"):
        read_config(tmp_path / "none.yaml")


def test_ids_that_contradict_each_other_are_an_error(root, tmp_path):
    for name, value in (("one", "x"), ("two", "y")):
        (tmp_path / name).write_text(f"a {value}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="'a' has different values in .*one and .*two"):
        read_tables([str(tmp_path / "one"), str(tmp_path / "two")])
    (tmp_path / "three").write_text("a x\na x\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="three:2: the id 'a' is repeated"):
        read_table(tmp_path / "three")
    # A byte order mark is no part of an id, and a line separator within a text ends no line.
    (tmp_path / "four").write_bytes("\ufeffa x\u2028y z\r\nb y\n".encode())
    assert read_table(tmp_path / "four") == {"a": "x\u2028y z", "b": "y"}
    other = write_store(tmp_path / "other", make_part("train_clean_100", PARTS["train_clean_100"]), n_shards=1)
    with pytest.raises(ConfigurationError, match="with other data, in a file before it"):
        SpeechTextDataset([str(root / "train_clean_100" / "idx2feat"), str(other)])


def test_nothing_in_common_is_an_error(root):
    with pytest.raises(SamplingError, match="no id is in all of"):
        SpeechTextDataset(str(root / "train_clean_100/idx2feat"), str(root / "train_clean_360/idx2text"))


def test_the_tables_of_an_export_are_sorted_and_read_where_they_are_moved_with_the_store(root, rows, tmp_path, capsys):
    folder = tmp_path / "out"
    with pytest.raises(SystemExit) as status:
        main(["export", str(root / "stores" / "train_clean_100"), str(folder), "--to", "speechain"])
    assert status.value.code == 0
    tables = {path.name for path in folder.iterdir()}
    assert f"{len(tables)} files" in capsys.readouterr().out
    assert tables >= {"idx2feat", "idx2feat_len", "idx2text", "idx2phoneme_text", "idx2spk", "idx2gen"}
    speakers = (folder / "idx2spk").read_text(encoding="utf-8").splitlines()
    assert speakers == sorted(f"{uid} {row.speaker}" for uid, row in rows.items() if "clean_100" in uid)
    assert len(SpeechTextDataset(str(folder / "idx2feat"))) == 4


def test_a_column_of_the_corpus_replaces_no_file_of_an_export(tmp_path):
    path = write_store(tmp_path / "s", make_rows([3, 4]), waveform=True)
    names = ("spk", "gen", "num_frames", "feat_len", "wav", "corpus_gen")
    spec = ArraySpec("measures", "float64", (len(names),), "utterance", index_columns=names)
    add_index_array(path, lambda _: spec, lambda: np.arange(2.0 * len(names)).reshape(2, -1))
    files = export(path, "speechain", tmp_path / "out")
    assert len({file.name for file in files}) == len(files)
    for number, name in enumerate(names):
        taken = name in {"spk", "gen", "feat_len", "wav"}
        new = {"gen": "corpus_corpus_gen"}.get(name, f"corpus_{name}") if taken else name
        assert read_table(tmp_path / "out" / f"idx2{new}")["LJ001-é"] == str(len(names) + number + 0.0)
    assert read_table(tmp_path / "out" / "idx2spk")["LJ001-é"] == "zoë"
    assert read_table(tmp_path / "out" / "idx2gen")["LJ001-é"] == "m"


def test_a_feat_scp_of_a_store_that_changed_is_refused(tmp_path):
    write_store(tmp_path / "s", make_rows([3, 4]), n_shards=1)
    (tmp_path / "feat.scp").write_text("LJ000-é s:1\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="row 1 of .*s is not 'LJ000-é'; export the store again"):
        SpeechTextDataset(str(tmp_path / "feat.scp"))
