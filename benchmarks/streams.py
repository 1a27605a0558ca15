"""Streaming readers, each as its own documentation recommends: writing of their formats, and epochs of padded batches.

    PYTHON benchmarks/streams.py versions
    PYTHON benchmarks/streams.py write PACKAGE UTTERANCES FOLDER
    PYTHON benchmarks/streams.py read PACKAGE LOCATION CACHE --setting WORKERS --epochs N

Run by ``remote.py`` and imported by ``peers.py``, with an interpreter that has some of LitData, mosaicml-streaming,
webdataset, lhotse and datasets; ``read tts-prep`` runs with that of tts-prep. UTTERANCES is what `write_utterances`
makes. A LOCATION is a folder or ``s3://bucket/folder``, whose endpoint and keys are in the environment.

Every reader makes batches of 32 utterances in an order that is shuffled anew in every epoch: mels and symbol ids, both
padded, and both lengths. Files are of 64 MB, the default of LitData and MDS; what is shuffled as it streams has a
buffer of 1,000 utterances. `read` prints a line of JSON after its imports, when it has the first batch, and after each
epoch. After imports and after the first epoch it waits for a line, so that its memory and its bytes can be counted.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
import warnings
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

N_MELS = 80
BATCH = 32
FILE_BYTES = 1 << 26
SEED = 0
DISTRIBUTIONS = {
    "litdata": "litdata",
    "streaming": "mosaicml-streaming",
    "webdataset": "webdataset",
    "lhotse": "lhotse",
    "datasets": "datasets",
}


def write_utterances(folder, mels, ids):
    """Write all mels and all symbol ids, one behind the other, for `Utterances`."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "mels.npy", np.concatenate(mels))
    np.save(folder / "ids.npy", np.concatenate(ids))
    lengths = np.array([[len(mel), len(symbols)] for mel, symbols in zip(mels, ids, strict=True)])
    np.save(folder / "lengths.npy", lengths)


class Utterances:
    """The utterances of a folder: (mel [n_frames, n_mels] float32, symbol ids [n_symbols] int64)."""

    def __init__(self, folder):
        self.folder = folder
        self.mels = np.load(folder / "mels.npy", mmap_mode="r")
        self.ids = np.load(folder / "ids.npy")
        lengths = np.load(folder / "lengths.npy")
        self.ends = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(lengths, axis=0)])

    def __len__(self):
        return len(self.ends) - 1

    def __getitem__(self, position):
        (mel, symbol), (mel_end, symbol_end) = self.ends[position : position + 2]
        return np.array(self.mels[mel:mel_end]), np.array(self.ids[symbol:symbol_end], np.int64)


def pad(utterances):
    """Return padded mels and ids and their lengths, as tensors, of utterances (mel, ids)."""
    import torch

    padded = []
    for arrays, shape, kind in (
        ([mel for mel, _ in utterances], (N_MELS,), torch.float32),
        ([ids for _, ids in utterances], (), torch.int64),
    ):
        lengths = torch.tensor([len(array) for array in arrays])
        batch = torch.zeros(len(arrays), int(lengths.max()), *shape, dtype=kind)
        for row, array in zip(batch, arrays, strict=True):
            row[: len(array)] = torch.as_tensor(array)
        padded += [batch, lengths]
    return tuple(padded)


def pad_samples(samples):
    return pad([(sample["mel"], sample["ids"]) for sample in samples])


# LitData


def litdata_sample(arguments):
    folder, position = arguments
    mel, ids = Utterances(Path(folder))[position]
    return {"mel": mel, "ids": ids}


def write_litdata(utterances, folder):
    import litdata

    litdata.optimize(
        litdata_sample,
        [(str(utterances.folder), position) for position in range(len(utterances))],
        str(folder),
        chunk_bytes=FILE_BYTES,
        num_workers=1,
    )


def read_litdata(location, cache, workers):
    import litdata

    options = {}
    if location.startswith("s3://"):
        # It takes obstore if that is installed, and boto3 otherwise.
        options = {"cache_dir": str(cache), "max_cache_size": "25GB"}
        options["storage_options"] = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}
    # Without batch_decode=0, every item in shuffled order decodes 256 items around it.
    dataset = litdata.StreamingDataset(location, shuffle=True, seed=SEED, batch_decode=0, **options)
    loader = litdata.StreamingDataLoader(
        dataset, batch_size=BATCH, num_workers=workers, collate_fn=pad_samples, persistent_workers=workers > 0
    )
    return lambda _: loader


# mosaicml-streaming


def write_streaming(utterances, folder):
    import streaming

    columns = {"mel": "ndarray:float32", "ids": "ndarray:int64"}
    with streaming.MDSWriter(out=str(folder), columns=columns, size_limit=FILE_BYTES) as writer:
        for mel, ids in (utterances[position] for position in range(len(utterances))):
            writer.write({"mel": mel, "ids": ids})


def read_streaming(location, cache, workers):
    import streaming
    import torch

    streaming.base.util.clean_stale_shared_memory()
    place = {"local": location}
    if location.startswith("s3://"):
        os.environ["S3_ENDPOINT_URL"] = os.environ["AWS_ENDPOINT_URL"]
        place = {"remote": location, "local": str(cache)}
    dataset = streaming.StreamingDataset(**place, batch_size=BATCH, shuffle=True, shuffle_seed=SEED)
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=BATCH, num_workers=workers, collate_fn=pad_samples, persistent_workers=workers > 0
    )
    return lambda _: loader


# webdataset


def write_webdataset(utterances, folder):
    import webdataset

    folder.mkdir()
    with webdataset.ShardWriter(str(folder / "%05d.tar"), maxcount=10**9, maxsize=FILE_BYTES, verbose=0) as writer:
        for position in range(len(utterances)):
            mel, ids = utterances[position]
            writer.write({"__key__": f"{position:08d}", "mel.npy": mel, "ids.npy": ids})


def read_webdataset(location, cache, workers):
    import webdataset

    options = {}
    if location.startswith("s3://"):
        cache.mkdir(parents=True, exist_ok=True)
        options["cache_dir"] = str(cache)
    # webdataset opens http:// by itself, and s3:// by the command of another tool.
    shards = [url.replace("s3:/", os.environ.get("AWS_ENDPOINT_URL", "")) for url in files_of(location, ".tar")]
    dataset = (
        webdataset.WebDataset(shards, shardshuffle=len(shards), seed=SEED, empty_check=False, **options)
        .shuffle(1000)
        .decode()
        .to_tuple("mel.npy", "ids.npy")
        .batched(BATCH, collation_fn=pad)
    )
    loader = webdataset.WebLoader(dataset, batch_size=None, num_workers=workers, persistent_workers=workers > 0)
    return lambda _: loader


def files_of(location, suffix):
    """Return the files of a folder or of a prefix in a bucket, in order."""
    if not location.startswith("s3://"):
        return sorted(str(path) for path in Path(location).glob(f"*{suffix}"))
    import boto3

    bucket, _, prefix = location.removeprefix("s3://").partition("/")
    found = boto3.client("s3").list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/")["Contents"]
    return sorted(f"s3://{bucket}/{item['Key']}" for item in found if item["Key"].endswith(suffix))


# lhotse


def make_cut(name, mel, writer, storage_path, **more):
    """Store a mel by one of lhotse's writers, and return its cut."""
    from lhotse import MonoCut
    from lhotse.features import Features

    shift = 256 / 22_050
    features = Features(
        type="mel",
        num_frames=len(mel),
        num_features=N_MELS,
        frame_shift=shift,
        sampling_rate=22_050,
        start=0,
        duration=len(mel) * shift,
        storage_type=writer.name,
        storage_path=storage_path,
        storage_key=writer.write(name, mel),
        channels=0,
    )
    return MonoCut(name, start=0, duration=features.duration, channel=0, features=features, **more)


def write_lhotse(utterances, folder):
    from lhotse import CutSet
    from lhotse.features.io import MemoryRawWriter

    writer = MemoryRawWriter()

    def cuts():
        for position in range(len(utterances)):
            mel, ids = utterances[position]
            yield make_cut(f"{position:08d}", mel, writer, "", custom={"ids": ids.tolist()})

    folder.mkdir()
    size = round(len(utterances) * FILE_BYTES / utterances.mels.nbytes)
    CutSet(cuts()).to_shar(folder, {"features": "numpy"}, shard_size=max(BATCH, size))


class LhotseBatches:
    """What makes a batch of cuts, for lhotse's samplers."""

    def __getitem__(self, cuts):
        return pad([(cut.load_features(), np.asarray(cut.ids)) for cut in cuts])


def read_lhotse(location, _, workers):  # it has no cache
    import lhotse
    import torch
    from lhotse.dataset import DynamicCutSampler, IterableDatasetWrapper, make_worker_init_fn

    fields = {name: files_of(location, suffix) for name, suffix in (("cuts", ".jsonl.gz"), ("features", ".tar"))}
    cuts = lhotse.CutSet.from_shar(fields, shuffle_shards=True, split_for_dataloading=workers > 1, seed=SEED)
    sampler = DynamicCutSampler(cuts, max_cuts=BATCH, shuffle=True, shuffle_buffer_size=1000, seed=SEED)
    loader = torch.utils.data.DataLoader(
        IterableDatasetWrapper(LhotseBatches(), sampler, auto_increment_epoch=True),
        batch_size=None,
        num_workers=workers,
        worker_init_fn=make_worker_init_fn(seed=SEED) if workers else None,
        persistent_workers=workers > 0,
    )
    return lambda _: loader


# datasets


def write_datasets(utterances, folder):
    import datasets

    datasets.disable_progress_bars()
    mel, ids = datasets.Array2D((None, N_MELS), "float32"), datasets.Sequence(datasets.Value("int64"))

    def rows():
        for position in range(len(utterances)):
            of_row = utterances[position]
            yield {"mel": of_row[0], "ids": of_row[1]}

    made = datasets.Dataset.from_generator(
        rows, features=datasets.Features({"mel": mel, "ids": ids}), cache_dir=str(folder.with_suffix(".arrow"))
    )
    folder.mkdir()
    n_files = -(-utterances.mels.nbytes // FILE_BYTES)
    for number in range(n_files):
        made.shard(n_files, number, contiguous=True).to_parquet(folder / f"{number:05d}.parquet")


def read_datasets(location, _, workers):  # streaming has no cache
    import datasets
    import torch

    options = {"endpoint_url": os.environ.get("AWS_ENDPOINT_URL")}
    dataset = datasets.load_dataset(
        "parquet",
        data_files=files_of(location, ".parquet"),
        split="train",
        streaming=True,
        storage_options={"client_kwargs": options} if location.startswith("s3://") else None,
    )
    dataset = dataset.shuffle(seed=SEED, buffer_size=1000).with_format("numpy")
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=BATCH, num_workers=workers, collate_fn=pad_samples, persistent_workers=workers > 0
    )

    def epoch(number):
        dataset.set_epoch(number)
        return loader

    return epoch


# tts-prep


def read_torch(location, cache, window):
    """Return an epoch of torch's loader with two workers over a store, in windows of so many shards."""
    import torch

    from tts_prep.loader import LengthBucketBatchSampler, UtteranceDataset, collate

    dataset = UtteranceDataset(location, **({"cache": cache} if "://" in location else {}))
    sampler = LengthBucketBatchSampler(
        dataset.n_frames, batch_size=BATCH, seed=SEED, shards=dataset.shard, shard_window=window
    )
    loader = torch.utils.data.DataLoader(
        dataset, batch_sampler=dataset.ahead(sampler), num_workers=2, collate_fn=collate, persistent_workers=True
    )

    def epoch(number):
        sampler.set_epoch(number)
        return ((batch.mel, batch.mel_lengths, batch.phonemes, batch.phoneme_lengths) for batch in loader)

    return epoch


def read_tts_prep(location, cache, window):
    """Return an epoch of tts-prep's own loader, in windows of so many shards, or of all."""
    from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset

    dataset = UtteranceDataset(location, **({"cache": cache} if "://" in location else {}))
    windows = {"shards": dataset.shard, "shard_window": window} if window else {}
    sampler = LengthBucketBatchSampler(dataset.n_frames, batch_size=BATCH, seed=SEED, **windows)
    loader = DataLoader(dataset, batch_sampler=sampler)

    def epoch(number):
        loader.set_epoch(number)
        return ((batch.mel, batch.mel_lengths, batch.phonemes, batch.phoneme_lengths) for batch in loader)

    return epoch


def download(location, cache, workers):
    """Return an "epoch" that downloads all files of a prefix, several at a time, and makes no batches."""
    from concurrent.futures import ThreadPoolExecutor

    import boto3

    client = boto3.client("s3")
    bucket, _, prefix = location.removeprefix("s3://").partition("/")
    found = client.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/")["Contents"]
    cache.mkdir(parents=True, exist_ok=True)

    def get(key):
        client.download_file(bucket, key, str(cache / key.replace("/", "-")))

    def epoch(_):
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(get, [item["Key"] for item in found]))
        return ()

    return epoch


WRITERS = {
    "litdata": write_litdata,
    "streaming": write_streaming,
    "webdataset": write_webdataset,
    "lhotse": write_lhotse,
    "datasets": write_datasets,
}
READERS = {
    "litdata": read_litdata,
    "streaming": read_streaming,
    "webdataset": read_webdataset,
    "lhotse": read_lhotse,
    "datasets": read_datasets,
    "tts-prep": read_tts_prep,
    "tts-prep with torch": read_torch,
    "download": download,
}


def import_packages(package):
    """Import what a reader uses, so that no time contains it."""
    if package.startswith("tts-prep"):
        import fsspec  # noqa: F401
        import s3fs  # noqa: F401

        import tts_prep.loader  # noqa: F401

        if package != "tts-prep":
            import torch

            torch.set_num_threads(1)
    elif package == "download":
        import boto3  # noqa: F401
    else:
        import torch

        torch.set_num_threads(1)  # these are copies: more threads only get into each other's way
        __import__(package)


def read(package, location, cache, setting, epochs):
    """Time epochs from the opening of the dataset on, and print what was found."""
    import_packages(package)
    print(json.dumps({"imported": True}), flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    epoch = READERS[package](location, cache, setting)
    for number in range(epochs):
        n_utterances = n_frames = 0
        for _, lengths, _, _ in epoch(number):
            if not number and not n_utterances:
                print(json.dumps({"first batch": time.perf_counter() - start}), flush=True)
            n_utterances += len(lengths)
            n_frames += int(lengths.sum())
        taken = time.perf_counter() - start
        print(json.dumps({"epoch": taken, "utterances": n_utterances, "frames": n_frames}), flush=True)
        if not number:
            sys.stdin.readline()
        start = time.perf_counter()


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("versions")
    command = commands.add_parser("write")
    command.add_argument("package")
    command.add_argument("utterances", type=Path)
    command.add_argument("folder", type=Path)
    command = commands.add_parser("read")
    command.add_argument("package")
    command.add_argument("location")
    command.add_argument("cache", type=Path)
    command.add_argument("--setting", type=int, default=0, help="workers; of tts-prep, the shards of a window")
    command.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    if options.command == "versions":
        found = {name: f"{title} {version(title)}" for name, title in DISTRIBUTIONS.items() if find_spec(name)}
        if "litdata" in found:
            client = "obstore" if find_spec("obstore") else "boto3"
            found["litdata"] += f" with {client} {version(client)}"
        print(json.dumps(found))
    elif options.command == "write":
        WRITERS[options.package](Utterances(options.utterances), options.folder)
    else:
        read(options.package, options.location, options.cache, options.setting, options.epochs)


if __name__ == "__main__":
    main()
