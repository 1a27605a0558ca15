"""Run as one of two ranks: print the rows of this rank with every type of loader, as JSON."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

from tts_prep.errors import ConfigurationError, ExactlyOnceWarning, StoreError
from tts_prep.loader import (
    BatchSampler,
    ChainDataset,
    DataLoader,
    LengthBucketBatchSampler,
    MixingSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    UtteranceDataset,
    WeightedRandomSampler,
    collate,
)

dataset = UtteranceDataset(sys.argv[1])
n = len(dataset)


def seen(loader):
    return [batch.indices.tolist() for batch in loader]


def refused(action):
    try:
        action()
    except (ConfigurationError, StoreError, ValueError) as error:
        return str(error)
    return ""


def versions(store, rank):
    """Return what a check says at four steps: the store is replaced before the third, and opened again before the last.

    Each rank has all files in a cache of its own, so that no batch would tell.
    """
    served, cache = store.parent / "served", store.parent / f"cache-{rank}"
    if rank == 0:
        shutil.copytree(store, served)
    torch.distributed.barrier()
    copy = UtteranceDataset(f"file://{served}", cache=cache)
    copy.views("mel")
    said = [refused(copy.check_unchanged), refused(copy.check_unchanged)]
    torch.distributed.barrier()
    if rank == 0:
        shutil.rmtree(served)
        shutil.copytree(store.parent / "newer", served)
    torch.distributed.barrier()
    said.append(refused(copy.check_unchanged))
    # One goes on with the copy that it has, the other one opens what is there by now.
    again = UtteranceDataset(f"file://{served}", cache=cache, offline=rank == 0)
    return [*said, refused(again.check_unchanged)]


def main():
    found = {}
    found["before"] = refused(lambda: SequentialSampler(dataset, rank="auto"))
    torch.distributed.init_process_group("gloo")
    found["forgotten"] = refused(lambda: seen(DataLoader(dataset, 2, shuffle=True)))
    samplers = {
        "sequential": SequentialSampler(dataset, rank="auto"),
        "random": RandomSampler(dataset, rank="auto"),
        "weighted": WeightedRandomSampler(np.ones(n), n, replacement=False, rank="auto"),
        "subset": SubsetRandomSampler(np.arange(n), rank="auto"),
        "mixing": MixingSampler(np.zeros(n, int), rank="auto"),
    }
    for name, sampler in samplers.items():
        found[name] = seen(DataLoader(dataset, batch_sampler=BatchSampler(sampler, 2)))
    buckets = LengthBucketBatchSampler(dataset.n_frames, max_frames=20, rank="auto")
    found["buckets"] = seen(DataLoader(dataset, batch_sampler=buckets))
    torch_sampler = torch.utils.data.DistributedSampler(dataset)
    found["torch's sampler"] = seen(DataLoader(dataset, 2, sampler=torch_sampler))
    torch_batches = torch.utils.data.BatchSampler(torch_sampler, 2, drop_last=False)
    found["torch's batches"] = seen(DataLoader(dataset, batch_sampler=torch_batches))
    found["forgotten batches"] = refused(lambda: seen(DataLoader(dataset, batch_sampler=[[0, 1], [2]])))
    found["loader"] = seen(DataLoader(dataset, 2, shuffle=True, rank="auto"))
    found["replicated"] = seen(DataLoader(dataset, 2, replicate=True))
    chain = ChainDataset(dataset, dataset)
    found["chain"] = seen(DataLoader(chain, 2, rank="auto"))
    if "accelerate" in sys.argv:
        warnings.simplefilter("ignore")
        from accelerate import Accelerator

        accelerator = Accelerator(cpu=True)

        def torch_loader(sampler):
            return torch.utils.data.DataLoader(dataset, batch_sampler=sampler, collate_fn=collate)

        ours = DataLoader(dataset, batch_sampler=LengthBucketBatchSampler(dataset.n_frames, max_frames=20, rank="auto"))
        found["accelerate, ours"] = seen(accelerator.prepare(ours))
        theirs = torch_loader(LengthBucketBatchSampler(dataset.n_frames, max_frames=20, rank="all"))
        found["accelerate, torch"] = seen(accelerator.prepare(theirs))
        counted = torch_loader(BatchSampler(RandomSampler(dataset, rank="all"), 5))
        found["accelerate, counted"] = seen(accelerator.prepare(counted))
        unsaid = torch_loader(BatchSampler(RandomSampler(dataset), 5))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found["accelerate, unsaid"] = seen(accelerator.prepare(unsaid))
            seen(accelerator.prepare(unsaid))
        found["warned"] = [str(w.message) for w in warned if w.category is ExactlyOnceWarning]
        found["accelerate, unshared"] = refused(lambda: seen(accelerator.prepare(DataLoader(dataset, 2))))
        found["accelerate, twice"] = refused(lambda: accelerator.prepare(torch_loader(buckets)))
        found["tensors"] = [str(type(batch.mel)) for batch in accelerator.prepare(theirs)][:1]
    if find_spec("fsspec"):
        found["versions"] = versions(Path(sys.argv[1]), torch.distributed.get_rank())
    torch.distributed.destroy_process_group()
    print(json.dumps(found))


main()
