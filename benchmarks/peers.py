"""Epochs of padded batches by other libraries, timed in a process of their own.

    PYTHON benchmarks/peers.py NPY_FOLDER BATCHES.json --runs 5 [--without PACKAGE ...]

Run by ``loader.py`` with an interpreter that has some of torch, lhotse, datasets, webdataset, mosaicml-streaming,
LitData and grain; others are left out. The mels are put into the format of each library first, once, below the folder
of BATCHES.json. Prints JSON: package → its version, name → seconds of each epoch, and errors. webdataset makes
batches of its own, as large as the largest of them.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import sys
import time
import warnings
from contextlib import redirect_stdout
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from streams import N_MELS, make_cut


def pad(mels):
    import torch

    lengths = torch.tensor([len(mel) for mel in mels])
    batch = torch.zeros(len(mels), int(lengths.max()), N_MELS)
    for row, mel in zip(batch, mels, strict=True):
        row[: len(mel)] = torch.as_tensor(mel)
    return batch, lengths


def torch_epochs(paths, batches):
    import torch

    class Files:
        def __len__(self):
            return len(paths)

        def __getitem__(self, position):
            return np.load(paths[position])

    for workers in (0, 1, 2):
        yield (
            f"torch DataLoader over .npy, {workers} workers",
            torch.utils.data.DataLoader(
                Files(), batch_sampler=batches, num_workers=workers, collate_fn=pad, persistent_workers=workers > 0
            ),
        )


def written(folder, write):
    """Write a folder by a function unless it is there, under another name until it is whole."""
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        write(unfinished)
        unfinished.rename(folder)
    return folder


def datasets_epochs(paths, batches, work):
    import datasets
    import torch

    datasets.disable_progress_bars()
    features = datasets.Features({"mel": datasets.Array2D((None, N_MELS), "float32")})

    def rows():
        for path in paths:
            yield {"mel": np.load(path)}

    def write(folder):
        datasets.Dataset.from_generator(rows, features=features, cache_dir=str(work / "cache")).save_to_disk(folder)

    folder = written(work / "datasets", write)
    dataset = datasets.load_from_disk(folder).with_format("numpy")
    loader = torch.utils.data.DataLoader(
        dataset, batch_sampler=batches, collate_fn=lambda rows: pad([np.array(row["mel"], np.float32) for row in rows])
    )
    yield "Hugging Face datasets (Arrow, memory-mapped), 0 workers", loader


def webdataset_epochs(paths, batches, work):
    import webdataset

    def write(folder):
        folder.mkdir()
        with webdataset.ShardWriter(str(folder / "%05d.tar"), maxcount=1000, verbose=0) as writer:
            for path in paths:
                writer.write({"__key__": path.stem.replace(".", "_"), "npy": np.load(path)})

    folder = written(work / "webdataset", write)
    shards = [str(path) for path in sorted(folder.glob("*.tar"))]
    size = max(len(batch) for batch in batches)
    dataset = webdataset.WebDataset(shards, shardshuffle=False, empty_check=False).decode().to_tuple("npy")
    yield (
        "webdataset (tar), 0 workers, in order",
        dataset.batched(size, collation_fn=lambda rows: pad([row[0] for row in rows])),
    )


def lhotse_epochs(paths, batches, work):
    from lhotse import CutSet
    from lhotse.features.io import NumpyHdf5Writer

    folder = work / "lhotse"
    folder.mkdir(exist_ok=True)
    manifest = folder / "cuts.jsonl"
    if not manifest.exists():
        with NumpyHdf5Writer(folder / "features.h5") as writer:
            made = [make_cut(path.stem, np.load(path), writer, str(writer.storage_path)) for path in paths]
        CutSet.from_cuts(made).to_file(manifest)
    cuts = list(CutSet.from_file(manifest))

    yield (
        "lhotse (features in HDF5), 0 workers",
        Batches(batches, lambda position: cuts[position].load_features()),
    )


class Batches:
    """Padded batches of what a function gives for a position."""

    def __init__(self, batches, mel):
        self.batches = batches
        self.mel = mel

    def __iter__(self):
        for batch in self.batches:
            yield pad([self.mel(position) for position in batch])


def streaming_epochs(paths, batches, work):
    import streaming

    def write(folder):
        with streaming.MDSWriter(out=str(folder), columns={"mel": "ndarray:float32"}) as writer:
            for path in paths:
                writer.write({"mel": np.load(path)})

    folder = written(work / "mds", write)
    streaming.base.util.clean_stale_shared_memory()
    dataset = streaming.StreamingDataset(local=str(folder), batch_size=1, shuffle=False)
    yield "mosaicml-streaming (MDS), 0 workers", Batches(batches, lambda position: dataset[position]["mel"])


def litdata_sample(path):
    return {"mel": np.load(path)}


def litdata_epochs(paths, batches, work):
    import litdata

    def write(folder):
        with redirect_stdout(sys.stderr):
            litdata.optimize(
                litdata_sample, [str(path) for path in paths], str(folder), chunk_bytes="64MB", num_workers=1
            )

    folder = written(work / "litdata", write)
    # Without batch_decode=0, every item of another place decodes 256 items around it.
    dataset = litdata.StreamingDataset(str(folder), shuffle=False, batch_decode=0)
    # Not by its own loader, which has an order of its own: remote.py measures that.
    yield "LitData, 0 workers", Batches(batches, lambda position: dataset[position]["mel"])


def grain_epochs(paths, batches, work):
    import grain
    from array_record.python.array_record_module import ArrayRecordWriter

    file = work / "mels.array_record"
    if not file.exists():
        # One record a group: what random access asks for.
        writer = ArrayRecordWriter(str(file), "group_size:1,uncompressed")
        for path in paths:
            writer.write(np.load(path).astype(np.float32).tobytes())
        writer.close()
    source = grain.sources.ArrayRecordDataSource([str(file)])
    yield (
        "grain over array_record, 0 workers",
        Batches(batches, lambda position: np.frombuffer(source[position], np.float32).reshape(-1, N_MELS).copy()),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("npy_folder", type=Path)
    parser.add_argument("batches", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--without", nargs="*", default=(), metavar="PACKAGE", help="packages to leave out")
    options = parser.parse_args()
    if find_spec("torch"):
        import torch

        torch.set_num_threads(1)  # these are copies: more threads only get into each other's way
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    value = json.loads(options.batches.read_text(encoding="utf-8"))
    paths = [options.npy_folder / f"{name}.npy" for name in value["ids"]]
    batches, work = value["batches"], options.batches.parent
    found = {}
    makers = {
        "torch": lambda: torch_epochs(paths, batches),
        "lhotse": lambda: lhotse_epochs(paths, batches, work),
        "datasets": lambda: datasets_epochs(paths, batches, work),
        "webdataset": lambda: webdataset_epochs(paths, batches, work),
        "streaming": lambda: streaming_epochs(paths, batches, work),
        "litdata": lambda: litdata_epochs(paths, batches, work),
        "grain": lambda: grain_epochs(paths, batches, work),
    }
    for package, make in makers.items():
        if package in options.without or not find_spec(package):
            continue
        distribution = {"streaming": "mosaicml-streaming"}.get(package, package)
        peer = found[package] = {"version": f"{distribution} {version(distribution)}", "seconds": {}, "errors": []}
        try:
            for name, loader in make():
                times = []
                for _ in range(options.runs + 1):
                    start = time.perf_counter()
                    count = sum(len(batch[1]) for batch in loader)
                    times.append(time.perf_counter() - start)
                if count != len(paths):
                    raise ValueError(f"{name}: {count} utterances of {len(paths)}")
                # The first epoch fills caches.
                peer["seconds"][name] = times[1:]
        except Exception as error:  # the other peers are measured nevertheless
            peer["errors"].append(f"{error!r}"[:300])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
