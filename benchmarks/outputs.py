"""Print what a contender of command.py wrote: files and bytes, and how much its mels differ from tts-prep's.

    python benchmarks/outputs.py KEY STORE FOLDER

In a process of its own: what command.py has in memory would count for the contenders that it starts.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from corpus import require

from tts_prep.loader import UtteranceDataset

COMPARED = 50
"""The number of utterances whose mels are compared."""
FLOOR = math.log(1e-5)

Mel = npt.NDArray[np.float32]


def written(folder: Path) -> str:
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return f"{len(sizes):,}; {sum(sizes) / 1e9:.2f} GB"


def read_store(folder: Path) -> dict[str, Mel]:
    dataset = UtteranceDataset(folder)
    # Ids of file lists are paths.
    return {dataset[i].id.rpartition("/")[2]: dataset[i].mel for i in range(min(COMPARED, len(dataset)))}


def read_npy(folder: Path, ids: list[str]) -> dict[str, Mel]:
    return {uid: np.load(folder / f"{uid}.npy") for uid in ids}


def read_datasets(folder: Path, ids: list[str]) -> dict[str, Mel]:
    require("pyarrow")
    import pyarrow as pa

    found = {}
    for path in sorted(folder.glob("data-*.arrow")):
        for batch in pa.ipc.open_stream(pa.memory_map(str(path))):
            for uid, mel in zip(batch.column("id").to_pylist(), batch.column("mel"), strict=True):
                if uid in ids:
                    found[uid] = np.array(mel.as_py(), np.float32)
    return found


def read_lhotse(folder: Path, ids: list[str]) -> dict[str, Mel]:
    """Return the mels as natural logs."""
    found = {}
    for line in (folder / "cuts.jsonl").read_text(encoding="utf-8").splitlines():
        cut = json.loads(line)
        if cut["id"] in ids:
            features = cut["features"]
            mel = np.load(Path(features["storage_path"]) / features["storage_key"])
            found[cut["id"]] = (mel * math.log(10)).astype(np.float32)
    return found


def difference(key: str, ours: Path, folder: Path) -> str:
    """Return the largest difference of a contender's mels, without the level where it changes none.

    Bins near the floor of the logarithm are left out, because they depend on rounding.
    """
    expected = read_store(ours)
    reader = {"datasets": read_datasets, "lhotse": read_lhotse}.get(key.partition("-")[0].rstrip("123456789"), read_npy)
    found = reader(folder, list(expected))
    differences, frames = [], set()
    for uid, mel in expected.items():
        frames.add(len(found[uid]) - len(mel))
        n = min(len(mel), len(found[uid]))
        pair = np.stack([mel[:n], found[uid][:n]])
        above = (pair > FLOOR + 1).all(axis=0)
        apart = (pair[1] - pair[0])[above]
        if reader is read_lhotse:
            apart = apart - np.median(apart)
        differences.append(np.abs(apart).max())
    text = f"{np.median(differences):.1g}, {max(differences):.1g}"
    return text if frames == {0} else f"{text}; frames {min(frames):+d} to {max(frames):+d}"


if __name__ == "__main__":
    key, ours, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    print(json.dumps([written(folder), "" if folder == ours else difference(key, ours, folder)]))
