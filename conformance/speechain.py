"""Run SpeeChain's published configurations through its own iterators and through ours, and compare all batches.

    python conformance/speechain.py SPEECHAIN

SPEECHAIN is a clone of heli-qi/SpeeChain; it needs torch, torchaudio, g2p_en, pyworld, librosa, GPUtil and NumPy before
2.4. For every file in ``recipes/*/data_cfg``, and the data of every ``recipes/*/exp_cfg``, the files that it names are
written: 23 utterances of noise with texts, durations and embeddings, as WAV files and .npy files for SpeeChain, and as
a store for us. Batches of all groups are compared, field by field, on one rank and on each of two.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import sys
import tempfile
import wave
from collections import defaultdict
from pathlib import Path
from unittest import mock

import numpy as np

# SpeeChain's own code has no __init__.py, so that this file would be found in its place.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import stores

from tts_prep.recipes import build_iterators, read_config

N = 23
PHONES = ["HH", "AH0", "L", "OW1", "<space>", "W"]


def paths_of(value):
    """Yield all paths in a configuration with the key that they stand under."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str) and "/" in inner:
                yield key, inner
            elif isinstance(inner, list) and inner and all(isinstance(item, str) for item in inner):
                yield from ((key, item) for item in inner if "/" in item)
            else:
                yield from paths_of(inner)
    elif isinstance(value, list):
        yield from (item for inner in value for item in paths_of(inner))


class Corpus:
    """One set of utterances under all names of files, as both sides read it."""

    def __init__(self, folder, sample_rate):
        self.folder, self.sample_rate = folder, sample_rate
        rng = np.random.default_rng(0)
        rows = stores.make_rows([int(n) for n in rng.integers(8, 60, N)])
        for row in rows:
            row.speaker = f"s{int(row.id[2:5]) % 4}"
        rows.sort(key=lambda row: row.id)
        self.rows = rows
        stores.SAMPLE_RATE = sample_rate
        self.store = stores.write_store(folder / "store", rows, waveform=True)
        for row in rows:
            with wave.open(str(folder / f"{row.id}.wav"), "wb") as file:
                file.setparams((1, 2, sample_rate, 0, "NONE", ""))
                file.writeframes(row.waveform.astype("<i2").tobytes())
            np.save(folder / f"{row.id}.npy", rng.normal(size=192).astype(np.float32))
        self.tokens, self.durations = [], []
        for row in rows:
            tokens = [PHONES[i] for i in rng.integers(0, len(PHONES), 3 + len(row.phonemes))]
            tokens = [rng.choice(["<space>", "HH"]), *tokens, "L", rng.choice(["<space>", "HH"])]
            self.tokens.append([str(token) for token in tokens])
            self.durations.append([round(float(x), 2) for x in rng.uniform(0.01, 0.3, len(tokens))])

    def line(self, name, i, ours):
        row = self.rows[i]
        if name.endswith("_len"):
            return str(len(row.waveform) if "wav" in name else len(row.text))
        if "spk_feat" in name:
            return str(self.folder / f"{row.id}.npy")
        if "wav" in name:
            return f"{self.store}:{i}:waveform" if ours else str(self.folder / f"{row.id}.wav")
        if "spk" in name:
            return row.speaker
        if "gen" in name:
            return row.gender
        if "duration" in name:
            return "[" + ", ".join(f"'{x}'" for x in self.durations[i]) + "]"
        if name == "idx2text":
            return "[" + ", ".join(f"'{x}'" for x in self.tokens[i]) + "]"
        if "ratio" in name:
            return str(4 + i % 9)
        return row.text

    def write(self, path, ours):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name.startswith("spk2aver"):
            lines = [f"s{i} {self.folder / self.rows[i].id}.npy" for i in range(4)]
        else:
            # Some files lack an utterance. A speaker that is missing is an error to SpeeChain.
            kept = [i for i in range(N) if i != len(path.name) % N or "spk" in path.name]
            lines = [f"{self.rows[i].id} {self.line(path.name, i, ours)}" for i in kept]
        path.write_text("\n".join(lines), encoding="utf-8")
        if path.name.endswith("_spk_feat") and path.name.startswith("idx2"):
            self.write(path.with_name("idx2spk"), ours)
            model = path.name.partition("2")[2].partition("_")[0]
            self.write(path.with_name(f"spk2aver_{model}_spk_feat"), ours)


def iterators_of(group):
    return {"": group} if isinstance(group.get("type"), str) else group


def theirs(config, rank, world_size):
    """Return SpeeChain's iterator for a configuration, without shuffling."""
    import torch
    from speechain.utilbox.import_util import import_class

    conf = {**config["conf"], "shuffle": False, "num_workers": 0, "pin_memory": False, "ngpu": world_size}
    conf["distributed"] = world_size > 1
    if "batch_len" in conf:
        # Its own reader of YAML takes 3e7 for a number.
        conf["batch_len"] = float(conf["batch_len"]) / 1e3
    # Pitch is not read from files there, but computed.
    conf["dataset_conf"] = {k: v for k, v in conf["dataset_conf"].items() if k != "pitch_conf"}
    with (
        mock.patch.object(torch.distributed, "get_world_size", return_value=world_size),
        mock.patch.object(torch.distributed, "get_rank", return_value=rank),
    ):
        return import_class(f"speechain.iterator.{config['type']}")(**conf)


def compare(found, expected, largest):
    assert set(found) == set(expected), (set(found), set(expected))
    for name, value in expected.items():
        mine = found[name]
        if hasattr(value, "numpy"):
            value, mine = value.numpy(), np.asarray(mine)
            assert value.dtype == mine.dtype, (name, value.dtype, mine.dtype)
            assert value.shape == mine.shape, (name, value.shape, mine.shape)
            largest[name] = max(largest[name], float(np.abs(value - mine).max(initial=0)))
        elif not name.startswith("spk"):
            assert list(value) == list(mine), name
            largest[name] = max(largest[name], 0.0)
        elif name == "spk_ids":
            largest[name] = max(largest[name], float(list(value) != list(mine)))


def run(path, corpora, root, largest):
    """Compare all iterators of a configuration; return how many batches were compared."""
    text = re.sub(r"^(\w*dataset_path):.*$", rf"\1: {root}/DATA", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    n = 0
    for group in read_config(text + "\n").values():
        for name, config in iterators_of(group).items():
            dataset = config["conf"]["dataset_conf"]
            random = "Random" in config["conf"]["dataset_type"]
            corpus = corpora[dataset.get("sample_rate", 16000)]
            both = []
            for side in ("ours", "theirs"):
                config_text = repr(config).replace(f"{root}/DATA", f"{root}/{side}")
                side_config = eval(config_text)
                for _, file in paths_of(side_config):
                    corpus.write(Path(file), side == "ours")
                both.append(side_config)
            dataset = both[0]["conf"]["dataset_conf"]
            both[0]["conf"]["dataset_conf"] = {
                k: v for k, v in dataset.items() if k not in ("pitch_conf", "use_speed_perturb")
            }
            both[1]["conf"]["dataset_conf"].pop("use_speed_perturb", None)
            for rank, world_size in ((0, 1), (0, 2), (1, 2)):
                if "batch_len" in both[0]["conf"]:
                    # Batches of the recipes are larger than this corpus.
                    both[0]["conf"]["batch_len"] = float(config["conf"]["batch_len"]) / 1e3
                group = build_iterators(
                    {"test": {name: {**both[0], "conf": {**both[0]["conf"], "shuffle": False}}}},
                    rank=rank,
                    world_size=world_size,
                )["test"]
                (loader,) = group.loaders.values()
                iterator = theirs(both[1], rank, world_size)
                batches = [[loader.dataset.ids[i] for i in batch] for batch in loader.sampler.order(0)]
                # Where the last batch is too small for all ranks, SpeeChain has a step less on some of them.
                expected = iterator.get_batch_indices()
                assert batches[: len(expected)] == expected, (path, name)
                assert len(batches) - len(expected) in (0, 1), (path, name)
                for mine, other in zip(loader, iterator.build_loader(), strict=False):
                    if random:
                        for key in ("spk_feat", "spk_feat_ids", "spk_ids"):
                            assert np.shape(mine.pop(key)) == np.shape(other.pop(key))
                    compare(mine, other, largest)
                    n += 1
    return n


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("speechain", type=Path)
    parser.add_argument("--only", type=int, help="compare this many configurations only")
    options = parser.parse_args()
    sys.path.insert(0, str(options.speechain))
    import warnings

    warnings.simplefilter("ignore")
    largest = defaultdict(float)
    files = sorted(options.speechain.glob("recipes/**/data_cfg/*.yaml")) + sorted(
        options.speechain.glob("recipes/**/exp_cfg/*.yaml")
    )
    counts, failed = defaultdict(list), False
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)

        @functools.cache
        def corpus(rate):
            (root / str(rate)).mkdir()
            return Corpus(root / str(rate), rate)

        class Corpora(dict):
            def __missing__(self, rate):
                return corpus(rate)

        os.chdir(root)
        for path in files[:: len(files) // (options.only or len(files))]:
            name = path.relative_to(options.speechain / "recipes")
            try:
                n = run(path, Corpora(), root, largest)
                counts[path.parent.name].append(n)
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {str(error)[:300]}")
                failed = True
    for kind, ns in counts.items():
        print(f"{kind}: {len(ns)} configurations, {sum(ns)} batches")
    for name, difference in sorted(largest.items()):
        print(f"| SpeeChain | {name} | {difference:.2g} |")
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
