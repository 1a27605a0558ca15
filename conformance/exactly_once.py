"""Count the utterances that training frameworks give, repeat and lose; print docs/frameworks.md's table.

    python conformance/exactly_once.py [--only accelerate,lightning,trainer,stateful] [--ranks 1 2 3]

Runs accelerate, Lightning, the Trainer of Hugging Face, and torch's DistributedDataParallel with torchdata's
StatefulDataLoader as they are installed, in processes of this machine, on a store of 191 short utterances for four
epochs. A resumed run is interrupted in the middle of its third epoch and continued from its checkpoint by a new object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("tests", "benchmarks")]

from corpus import require
from stores import make_rows, write_store

from tts_prep.errors import ExactlyOnceWarning
from tts_prep.loader import (
    BatchSampler,
    DataLoader,
    LengthBucketBatchSampler,
    RandomSampler,
    UtteranceDataset,
    collate,
)

N, EPOCHS, MAX_FRAMES, BATCH_SIZE = 191, 4, 400, 8
Epochs = list[list[list[int]]]
"""The utterances of a rank, by epoch and batch."""


def buckets(dataset: UtteranceDataset, **settings: Any) -> LengthBucketBatchSampler:
    # A coarse tolerance, so that the number of batches differs between epochs.
    return LengthBucketBatchSampler(dataset.n_frames, max_frames=MAX_FRAMES, tolerance=0.2, **settings)


def seen(loader: Any) -> list[list[int]]:
    return [batch.indices.tolist() for batch in loader]


def by_epoch(given: list[tuple[int, list[int]]]) -> Epochs:
    return [[rows for number, rows in given if number == epoch] for epoch in range(EPOCHS)]


def accelerate(dataset: UtteranceDataset, folder: Path) -> Iterator[tuple[str, Callable[[], Epochs]]]:
    import torch
    from accelerate import Accelerator, DataLoaderConfiguration

    def torchs(sampler: Any, **settings: Any) -> Epochs:
        accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(**settings))
        loader = torch.utils.data.DataLoader(dataset, batch_sampler=sampler, collate_fn=collate)
        prepared = accelerator.prepare(loader)
        return [seen(prepared) for _ in range(EPOCHS)]

    def ours() -> Epochs:
        loader = DataLoader(dataset, batch_sampler=buckets(dataset, rank="auto"), output="torch")
        prepared = Accelerator(cpu=True).prepare(loader)
        return [seen(prepared) for _ in range(EPOCHS)]

    Accelerator(cpu=True)
    yield '`DataLoader` of tts-prep, `rank="auto"`', ours
    yield '`DataLoader` of torch, `rank="all"`', lambda: torchs(buckets(dataset, rank="all"))
    yield (
        "the same with `BatchSampler`",
        lambda: torchs(BatchSampler(RandomSampler(dataset, rank="all"), BATCH_SIZE)),
    )
    yield "`DataLoader` of torch, no rank", lambda: torchs(buckets(dataset))
    yield "the same, `even_batches=False`", lambda: torchs(buckets(dataset), even_batches=False)


def lightning(dataset: UtteranceDataset, folder: Path) -> Iterator[tuple[str, Callable[[], Epochs]]]:
    import lightning
    import torch

    world_size = int(os.environ["WORLD_SIZE"])
    stop = 2 * buckets(dataset, rank="all", world_size=world_size).count(0) // world_size + 4

    def run(
        equal_epochs: bool = False, reload: int = 0, steps: int = -1, save: str = "", load: str = ""
    ) -> list[tuple[int, list[int]]]:
        class Module(lightning.LightningModule):
            def __init__(self) -> None:
                super().__init__()
                self.layer = torch.nn.Linear(5, 1)
                self.given: list[tuple[int, list[int]]] = []

            def training_step(self, batch: Any, batch_idx: int) -> Any:
                self.given.append((self.current_epoch, batch.indices.tolist()))
                return self.layer(batch.mel).mean()

            def configure_optimizers(self) -> Any:
                return torch.optim.SGD(self.parameters(), 0.001)

            def train_dataloader(self) -> Any:
                sampler = buckets(dataset, rank="auto", equal_epochs=equal_epochs)
                if reload:
                    sampler.set_epoch(self.current_epoch)
                return DataLoader(dataset, batch_sampler=sampler, output="torch")

        saving = lightning.pytorch.callbacks.ModelCheckpoint(folder, save, every_n_train_steps=max(steps, 1))
        module = Module()
        trainer = lightning.Trainer(
            accelerator="cpu",
            devices=world_size,
            strategy="ddp" if world_size > 1 else "auto",
            default_root_dir=folder,
            max_epochs=EPOCHS,
            max_steps=steps,
            reload_dataloaders_every_n_epochs=reload,
            logger=False,
            enable_checkpointing=bool(save),
            callbacks=[saving] if save else [],
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(module, ckpt_path=str(folder / f"{load}.ckpt") if load else None)
        return module.given

    def resumed(**settings: Any) -> Epochs:
        name = "-".join(settings)
        given = by_epoch(run(**settings, steps=stop, save=name) + run(**settings, load=name))
        assert given == by_epoch(run(**settings)), "a resumed run gives other batches"
        return given

    yield "`reload_dataloaders_every_n_epochs=1`, `set_epoch`", lambda: by_epoch(run(reload=1))
    yield "the same, resumed", lambda: resumed(reload=1)
    yield "`equal_epochs=True`", lambda: by_epoch(run(equal_epochs=True))
    yield "the same, resumed", lambda: resumed(equal_epochs=True)
    yield "neither", lambda: by_epoch(run())


def trainer(dataset: UtteranceDataset, folder: Path) -> Iterator[tuple[str, Callable[[], Epochs]]]:
    import torch
    import transformers

    transformers.logging.set_verbosity_error()

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(5, 1)
            self.epoch, self.given = 0, []

        def forward(self, mel: Any, indices: Any, **rest: Any) -> Any:
            self.given.append((self.epoch, indices.tolist()))
            return {"loss": self.layer(mel).mean() ** 2}

    class Count(transformers.TrainerCallback):
        def __init__(self, model: Model) -> None:
            self.model = model

        def on_epoch_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            self.model.epoch = int(round(state.epoch or 0, 6))

    def tensors(utterances: Any) -> dict[str, Any]:
        batch = collate(utterances).torch()
        return {name: batch[name] for name in ("mel", "indices")}

    class Buckets(transformers.Trainer):
        equal_epochs = True

        def get_train_dataloader(self) -> Any:
            sampler = buckets(dataset, rank="auto", equal_epochs=self.equal_epochs)
            return DataLoader(dataset, batch_sampler=sampler, collate_fn=tensors)

    class Unequal(Buckets):
        equal_epochs = False

    class AllRanks(transformers.Trainer):
        def get_train_dataloader(self) -> Any:
            self.sampler = buckets(dataset, rank="all", equal_epochs=True)
            loader = torch.utils.data.DataLoader(dataset, batch_sampler=self.sampler, collate_fn=tensors)
            return self.accelerator.prepare(loader)

    class EpochOfSampler(transformers.TrainerCallback):
        def __init__(self, sampler: Any) -> None:
            self.sampler = sampler

        def on_epoch_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            self.sampler.set_epoch(int(state.epoch))

    class SetEpoch(AllRanks):
        def get_train_dataloader(self) -> Any:
            loader = super().get_train_dataloader()
            self.add_callback(EpochOfSampler(self.sampler))
            return loader

    def run(kind: Any, resume: int = 0, save: int = 0, **more: Any) -> list[tuple[int, list[int]]]:
        model = Model()
        settings = transformers.TrainingArguments(
            output_dir=str(folder / kind.__name__),
            num_train_epochs=EPOCHS,
            per_device_train_batch_size=BATCH_SIZE,
            remove_unused_columns=False,
            report_to=[],
            save_strategy="steps" if save else "no",
            save_steps=save or 500,
            disable_tqdm=True,
            use_cpu=True,
            **more,
        )
        run = kind(model, settings, train_dataset=dataset, data_collator=tensors, callbacks=[Count(model)])
        run.train(resume_from_checkpoint=str(folder / kind.__name__ / f"checkpoint-{resume}") if resume else None)
        return model.given

    def resumed(kind: Any, is_same: bool = True) -> Epochs:
        whole = run(kind, save=1)
        stop = sum(epoch < 2 for epoch, _ in whole) + 4
        again = run(kind, resume=stop)
        assert again == whole[stop:] or not is_same, "a resumed run gives other batches"
        return by_epoch(whole[:stop] + again)

    yield '`DataLoader` of tts-prep, `rank="auto"`, `equal_epochs=True`', lambda: by_epoch(run(Buckets))
    yield "the same, resumed", lambda: resumed(Buckets)
    yield "the same, not equal epochs", lambda: by_epoch(run(Unequal))
    yield (
        '`DataLoader` of torch, prepared, `rank="all"`, `equal_epochs=True`',
        lambda: by_epoch(run(AllRanks)),
    )
    yield "the same, resumed", lambda: resumed(AllRanks, is_same=False)
    yield "the same, resumed, with the callback above", lambda: resumed(SetEpoch)
    yield "`train_dataset=dataset`", lambda: by_epoch(run(transformers.Trainer))


def stateful(dataset: UtteranceDataset, folder: Path) -> Iterator[tuple[str, Callable[[], Epochs]]]:
    import torch
    from torchdata.stateful_dataloader import StatefulDataLoader

    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("gloo")

    def make(workers: int = 0) -> Any:
        sampler = buckets(dataset, rank="auto")
        return StatefulDataLoader(dataset, batch_sampler=sampler, collate_fn=collate, num_workers=workers)

    def train(loader: Any, first: int = 0, stop: int | None = None) -> list[tuple[int, list[int]]]:
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(5, 1))
        given = []
        for epoch in range(first, EPOCHS):
            loader.batch_sampler.set_epoch(epoch)
            for batch in islice(loader, stop if epoch == 2 else None):
                given.append((epoch, batch.indices.tolist()))
                model(torch.from_numpy(batch.mel)).mean().backward()
            if epoch == 2 and stop:
                break
        return given

    def resumed(workers: int) -> Epochs:
        loader = make(workers)
        given = train(loader, stop=4)
        state = json.loads(json.dumps(loader.state_dict(), default=str)) if not workers else loader.state_dict()
        again = make(workers)
        again.load_state_dict(state)
        given = by_epoch(given + train(again, first=2))
        assert given == by_epoch(train(make())), "a resumed run gives other batches"
        return given

    yield '`rank="auto"`', lambda: by_epoch(train(make()))
    yield "the same, resumed", lambda: resumed(0)


FRAMEWORKS = {
    "accelerate": ("accelerate", accelerate),
    "lightning": ("Lightning", lightning),
    "trainer": ("Trainer of Hugging Face", trainer),
    "stateful": ("`DistributedDataParallel` and `StatefulDataLoader`", stateful),
}


def worker(name: str, store: str, out: str) -> None:
    """Run the settings of a framework as one rank; write what was given and what was warned of."""
    found = []
    # Ranks share a folder of checkpoints.
    folder = Path(out).parent / "checkpoints"
    folder.mkdir(exist_ok=True)
    for setting, run in FRAMEWORKS[name][1](UtteranceDataset(store), folder):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            epochs = run()
        texts = [str(w.message) for w in warned if issubclass(w.category, ExactlyOnceWarning)]
        found.append({"setting": setting, "epochs": epochs, "warnings": texts})
    Path(out).write_text(json.dumps(found))
    os._exit(0)


def launch(name: str, store: Path, world_size: int) -> list[dict[str, Any]]:
    """Run a framework with a number of ranks; return its settings with the epochs of all ranks."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        processes = []
        for rank in range(world_size):
            share = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world_size, "LOCAL_WORLD_SIZE": world_size}
            share |= {"NODE_RANK": 0, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
            command = [sys.executable, __file__, "--worker", name, str(store), f"{folder}/{rank}.json"]
            environment = os.environ | {key: str(value) for key, value in share.items()}
            processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL))
        try:
            if any(process.wait(600) for process in processes):
                raise SystemExit(f"{name} failed with {world_size} ranks")
        finally:
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
        ranks = [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(world_size)]
    return [
        {
            "setting": settings[0]["setting"],
            "epochs": [settings[rank]["epochs"] for rank in range(world_size)],
            "warnings": sorted({text for setting in settings for text in setting["warnings"]}),
        }
        for settings in zip(*ranks, strict=True)
    ]


def count(ranks: list[Epochs]) -> tuple[int, int, int]:
    """Return how many utterances all ranks gave, repeated and lost, in all epochs."""
    given = repeated = 0
    for epoch in range(EPOCHS):
        rows = [row for rank in ranks for batch in rank[epoch] for row in batch]
        given += len(rows)
        repeated += len(rows) - len(set(rows))
    return given, repeated, N * EPOCHS - (given - repeated)


def table(names: list[str], sizes: list[int]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield (
        f"| {N * EPOCHS} utterances in {EPOCHS} epochs | "
        + " | ".join(f"{size} rank{'s' * (size > 1)}" for size in sizes)
        + " |"
    )
    yield "| --- |" + " --- |" * len(sizes)
    with tempfile.TemporaryDirectory() as folder:
        lengths = np.random.default_rng(0).integers(20, 90, N).tolist()
        store = write_store(Path(folder) / "store", make_rows(lengths))
        for name in names:
            yield f"| **{FRAMEWORKS[name][0]}** |" + " |" * len(sizes)
            for settings in zip(*(launch(name, store, size) for size in sizes), strict=True):
                cells = []
                for found in settings:
                    given, repeated, lost = count(found["epochs"])
                    steps = {tuple(map(len, rank)) for rank in found["epochs"]}
                    cell = f"{given}" if not (repeated or lost) else f"{given}, {repeated} repeated, {lost} lost"
                    cell += "" if len(steps) == 1 else ", unequal steps"
                    cells.append(cell + (", warns" if found["warnings"] else ""))
                    for text in found["warnings"]:
                        print(f"{name}, {found['setting']}: {text}", file=sys.stderr)
                yield f"| {settings[0]['setting']} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(FRAMEWORKS), help="frameworks, separated by commas")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(*arguments.worker)
        return
    needed = {"trainer": "transformers", "stateful": "torchdata"}
    require("torch", *(needed.get(name, name) for name in arguments.only.split(",")))
    for line in table(arguments.only.split(","), arguments.ranks):
        print(line, flush=True)


if __name__ == "__main__":
    main()
