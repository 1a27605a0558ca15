"""The loader and samplers in torch.distributed, accelerate, Lightning and torchdata: no row is lost or repeated."""

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ranks import run_ranks
from stores import make_rows, write_store

import tts_prep.loader
from tts_prep.loader import Collator, DataLoader, LengthBucketBatchSampler, RandomSampler, UtteranceDataset, collate

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
N_FRAMES = [7, 3, 9, 4, 5, 11, 2, 6, 8, 10, 5, 7]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return UtteranceDataset(write_store(tmp_path_factory.mktemp("store") / "s", make_rows(N_FRAMES), n_shards=3))


@pytest.fixture(scope="module")
def ranks(dataset):
    """Return what each of two ranks prints."""
    try:
        import accelerate  # noqa: F401

        extra = ["accelerate"]
    except ImportError:
        extra = []
    write_store(dataset.path.parent / "newer", make_rows(N_FRAMES[::-1]), n_shards=3)
    found = run_ranks([str(Path(__file__).with_name("two_ranks.py")), str(dataset.path), *extra])
    return [json.loads(out.splitlines()[-1]) for out in found]


LOADERS = ["sequential", "random", "weighted", "subset", "mixing", "buckets", "loader"]
LOADERS += ["torch's sampler", "torch's batches"]
PREPARED = ["accelerate, ours", "accelerate, torch", "accelerate, counted"]


@pytest.mark.whole
@pytest.mark.parametrize("name", LOADERS + PREPARED)
def test_two_ranks_share_an_epoch(ranks, name):
    if name not in ranks[0]:
        pytest.skip("accelerate is not installed")
    a, b = (rank[name] for rank in ranks)
    assert len(a) == len(b)
    assert sorted(row for batch in a + b for row in batch) == list(range(len(N_FRAMES)))


@pytest.mark.whole
def test_nothing_is_shared_twice_or_not_at_all_without_an_error(ranks):
    for rank in ranks:
        assert "torch.distributed has no process group yet" in rank["before"]
        assert "each would get the same batches; pass rank='auto'" in rank["forgotten"]
        assert "each would get the same batches" in rank["forgotten batches"]
        assert sorted(row for batch in rank["replicated"] for row in batch) == list(range(len(N_FRAMES)))
        if "accelerate, twice" in rank:
            assert "already sharded" in rank["accelerate, twice"]
            assert "each would get the same batches" in rank["accelerate, unshared"]
            assert rank["tensors"] == ["<class 'torch.Tensor'>"]
        if "accelerate, unsaid" in rank:
            # 12 utterances in batches of 5 are 3 batches, of which accelerate makes 4.
            (text,) = rank["warned"]
            assert "2 ranks, and each gets all 3 elements" in text
            assert "repeats at least 1 of them; pass rank='all'" in text
            assert sum(len(batch) for rank in ranks for batch in rank["accelerate, unsaid"]) > len(N_FRAMES)
    assert sorted(row for rank in ranks for batch in rank["chain"] for row in batch) == sorted([*range(12)] * 2)


@pytest.mark.whole
def test_a_store_that_is_replaced_is_noticed_by_every_rank_at_the_same_step(ranks):
    if "versions" not in ranks[0]:
        pytest.skip("fsspec is not installed")
    said, by_other = (rank["versions"] for rank in ranks)
    assert said[:2] == by_other[:2] == ["", ""]
    for noticed in (said, by_other):
        assert "the store was replaced since it was opened; open it again" in noticed[2]
        assert "rank 1 opened another version than rank 0; open it again" in noticed[3]


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata calls it
def test_a_stateful_data_loader_goes_on_in_mid_epoch(dataset):
    stateful = pytest.importorskip("torchdata.stateful_dataloader")

    def make():
        sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=12, seed=1)
        return stateful.StatefulDataLoader(dataset, batch_sampler=sampler, collate_fn=collate)

    expected = [batch.indices.tolist() for batch in make()]
    for stop in (1, 3):
        first = make()
        iterator = iter(first)
        taken = [next(iterator).indices.tolist() for _ in range(stop)]
        second = make()
        second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
        assert taken + [batch.indices.tolist() for batch in second] == expected


def make_module(seen):
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(5, 1)

        def training_step(self, batch, batch_idx):
            seen.append((self.current_epoch, batch.indices.tolist()))
            return self.layer(batch.mel).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    return lightning, Module()


def make_loader(dataset):
    sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=14, seed=1, tolerance=1)
    return DataLoader(dataset, batch_sampler=sampler, output="torch")


def make_trainer(lightning, folder, **settings):
    return lightning.Trainer(
        accelerator="cpu",
        default_root_dir=folder,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        reload_dataloaders_every_n_epochs=1,
        **settings,
    )


@pytest.mark.filterwarnings("ignore")
def test_lightning_fits_epochs_of_differing_length_and_goes_on_in_mid_epoch(dataset, tmp_path):
    sampler = make_loader(dataset).batch_sampler
    expected = [(epoch, list(batch)) for epoch in range(4) for batch in sampler.draw(epoch)]
    counts = [sampler.count(epoch) for epoch in range(4)]
    assert len(set(counts)) > 1
    seen = []
    lightning, module = make_module(seen)
    trainer = make_trainer(lightning, tmp_path, max_epochs=4, enable_checkpointing=False)
    trainer.fit(module, make_loader(dataset))
    assert seen == expected

    stop = counts[0] + 2
    parts = []
    lightning, module = make_module(parts)
    checkpoint = lightning.pytorch.callbacks.ModelCheckpoint(tmp_path / "c", every_n_train_steps=stop, filename="c")
    trainer = make_trainer(lightning, tmp_path, max_steps=stop, callbacks=[checkpoint])
    trainer.fit(module, make_loader(dataset))
    assert parts == expected[:stop]
    lightning, module = make_module(parts)
    trainer = make_trainer(lightning, tmp_path, max_epochs=4, enable_checkpointing=False)
    trainer.fit(module, make_loader(dataset), ckpt_path=str(tmp_path / "c" / "c.ckpt"))
    assert parts == expected


@pytest.mark.whole
@pytest.mark.parametrize("wrap", ["ours", "torch"])
def test_fixed_shapes_survive_torchs_subset(dataset, wrap):
    subset = torch.utils.data.Subset(
        tts_prep.loader.SubsetDataset(dataset, range(len(dataset))), list(range(1, len(dataset)))
    )
    fields = {"n_frames": dataset.n_frames[1:], "n_phonemes": dataset.n_phonemes[1:]}
    sampler = LengthBucketBatchSampler(fields, max_frames=24, n_shapes=2)
    if wrap == "ours":
        loader = DataLoader(subset, batch_sampler=sampler)
    else:
        collator = Collator(shapes=sampler.shapes)
        loader = torch.utils.data.DataLoader(subset, batch_sampler=sampler, collate_fn=collator)
    shapes = {(shape.size, shape.lengths["n_frames"], shape.lengths["n_phonemes"]) for shape in sampler.shapes}
    batches = list(loader)
    assert {(len(batch), batch.mel.shape[1], batch.phonemes.shape[1]) for batch in batches} <= shapes
    assert sorted(i for batch in batches for i in batch.indices.tolist() if i >= 0) == list(range(1, len(dataset)))


def test_a_batch_moves_and_is_a_tree(dataset):
    batch = collate(dataset)
    moved = batch.to("meta", non_blocking=True)
    assert {moved[name].device.type for name in moved.keys() if name != "ids"} == {"meta"}  # noqa: SIM118
    assert moved.ids == batch.ids
    halved = batch.to(torch.float16)
    assert (halved.mel.dtype, halved.phonemes.dtype) == (torch.float16, torch.int64)
    assert dict(**batch).keys() == batch.as_dict().keys()
    with pytest.raises(KeyError):
        batch["waveform"]
    # torch.func maps over trees.
    sums = torch.func.vmap(lambda tree: tree["mel"].sum())({"mel": batch.torch().mel})
    assert sums.shape == (len(dataset),)
    leaves = torch.utils._pytree.tree_leaves(batch.torch())
    assert sum(isinstance(leaf, torch.Tensor) for leaf in leaves) == 6


def test_a_loader_of_tensors_can_be_sent_to_another_process(dataset):
    loader = pickle.loads(pickle.dumps(DataLoader(dataset, 4, output="torch", sampler=RandomSampler(dataset))))
    assert sum(len(batch) for batch in loader) == len(dataset)


@pytest.mark.filterwarnings("ignore")
def test_the_trainer_of_hugging_face_sees_every_utterance_once_an_epoch(dataset, tmp_path):
    transformers = pytest.importorskip("transformers")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(5, 1)
            self.seen = []

        def forward(self, mel, indices, **rest):
            self.seen += indices.tolist()
            return {"loss": self.layer(mel).mean() ** 2}

    def tensors(utterances):
        batch = collate(utterances).torch()
        return {name: value for name, value in batch.as_dict().items() if isinstance(value, torch.Tensor)}

    class Buckets(transformers.Trainer):
        def get_train_dataloader(self):
            sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=20, rank="auto")
            return DataLoader(dataset, batch_sampler=sampler, collate_fn=tensors)

    settings = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        num_train_epochs=2,
        per_device_train_batch_size=4,
        remove_unused_columns=False,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    for trainer in (transformers.Trainer, Buckets):
        model = Model()
        trainer(model, settings, train_dataset=dataset, data_collator=tensors).train()
        epochs = [model.seen[: len(dataset)], model.seen[len(dataset) :]]
        assert [sorted(epoch) for epoch in epochs] == [list(range(len(dataset)))] * 2
        assert epochs[0] != epochs[1]


def test_accelerate_skips_the_first_batches_of_our_loader(dataset):
    accelerate = pytest.importorskip("accelerate")
    for output in ("numpy", "torch"):
        sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=20)
        loader = DataLoader(dataset, batch_sampler=sampler, output=output)
        rest = list(accelerate.skip_first_batches(loader, 3))
        assert [batch.indices.tolist() for batch in rest] == list(sampler.draw(0))[3:]
        assert {type(batch.mel) for batch in rest} == {torch.Tensor if output == "torch" else np.ndarray}


@pytest.mark.filterwarnings("ignore")
def test_the_trainer_of_hugging_face_resumes_in_mid_epoch(dataset, tmp_path):
    transformers = pytest.importorskip("transformers")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(5, 1)
            self.seen = []

        def forward(self, mel, indices):
            self.seen.append(indices.tolist())
            return {"loss": self.layer(mel).mean() ** 2}

    def tensors(utterances):
        batch = collate(utterances).torch()
        return {"mel": batch.mel, "indices": batch.indices}

    def make_sampler():
        return LengthBucketBatchSampler(dataset.n_frames, max_frames=20, tolerance=1, equal_epochs=True, rank="auto")

    class Trainer(transformers.Trainer):
        def get_train_dataloader(self):
            return DataLoader(dataset, batch_sampler=make_sampler(), collate_fn=tensors)

    def train(resume=None):
        settings = transformers.TrainingArguments(
            output_dir=str(tmp_path),
            num_train_epochs=2,
            remove_unused_columns=False,
            report_to=[],
            save_strategy="no" if resume else "steps",
            save_steps=1,
            disable_tqdm=True,
            use_cpu=True,
        )
        model = Model()
        Trainer(model, settings, train_dataset=dataset).train(resume_from_checkpoint=resume)
        return model.seen

    sampler = make_sampler()
    per_epoch = sampler.count(0)
    expected = [batch for epoch in range(2) for batch in sampler.draw(epoch)]
    assert train() == expected
    for stop in (per_epoch, per_epoch + 2):
        assert train(str(tmp_path / f"checkpoint-{stop}")) == expected[stop:]


def blocks_of_the_page():
    text = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
    return re.findall(r"^```python[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["accelerate", "transformers", "lightning", "torchdata"])
def test_what_the_page_shows_runs(name, tmp_path, monkeypatch):
    pytest.importorskip(name)
    (shown,) = (code for code in blocks_of_the_page() if re.search(rf"^(import|from) {name}\b", code, re.MULTILINE))
    write_store(tmp_path / "store", make_rows([500 + 100 * i for i in range(12)]), n_shards=3)
    monkeypatch.chdir(tmp_path)
    # These stores have five mels.
    exec(compile(shown.replace("Linear(80, 1)", "Linear(5, 1)"), "shown.py", "exec"), {"__name__": "shown"})


@pytest.mark.soak
def test_the_table_of_what_is_exactly_once_is_what_the_frameworks_give_now():
    for name in ("accelerate", "lightning", "transformers", "torchdata"):
        pytest.importorskip(name)
    command = [sys.executable, str(ROOT / "conformance" / "exactly_once.py")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout in (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")


@pytest.mark.soak
@pytest.mark.parametrize("name", ["accelerate", "transformers", "lightning"])
def test_what_the_page_shows_runs_in_two_processes(name, tmp_path):
    pytest.importorskip(name)
    (shown,) = (code for code in blocks_of_the_page() if re.search(rf"^(import|from) {name}\b", code, re.MULTILINE))
    write_store(tmp_path / "store", make_rows([500 + 100 * i for i in range(12)]), n_shards=3)
    # These stores have five mels.
    shown = shown.replace("Linear(80, 1)", "Linear(5, 1)").replace("max_epochs=2", "devices=2, max_epochs=2")
    (tmp_path / "shown.py").write_text(shown, encoding="utf-8")
    run_ranks([str(tmp_path / "shown.py")], folder=tmp_path)


@pytest.mark.soak
def test_two_processes_of_lightning_share_each_epoch(dataset, tmp_path):
    pytest.importorskip("lightning")
    script = Path(__file__).with_name("lightning_ranks.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(script), str(dataset.path), str(tmp_path)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-3000:]
    seen = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    assert len(seen[0]) == len(seen[1])
    for epoch in range(2):
        rows = [row for rank in seen for number, batch in rank if number == epoch for row in batch]
        assert sorted(rows) == list(range(len(dataset)))


def test_a_batch_goes_through_jaxs_compiler(dataset):
    jax = pytest.importorskip("jax")
    batch = collate(dataset)
    compiled = jax.jit(lambda tree: tree.mel.sum())
    assert float(compiled(batch)) == pytest.approx(float(batch.mel.sum()), rel=1e-4)
    doubled = jax.tree_util.tree_map(lambda leaf: leaf * 2, batch)
    assert type(doubled) is type(batch)
    assert doubled.ids == batch.ids
    assert (doubled.mel_lengths == 2 * batch.mel_lengths).all()
