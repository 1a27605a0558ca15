"""What codes of a store cost beside the model: `tts-prep add` and a bare loop, with a model that costs nothing.

Both read waveforms as float32, those of the recordings or those of a store, call the model on the same batches, and
keep [T, 8] int16 of each utterance: the loop by np.save in a file each. The recordings are excerpts of one of ten
minutes. `tts-prep add` also checks the shards and the recordings that it reads, and seals the store.

    python benchmarks/codes.py [--hours 24] [--rounds 3] [--folder FOLDER] [--stored]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile

RATE, HOP, BOOKS = 24_000, 1_920, 8
MODEL = f"""
import numpy as np
from tts_prep.preprocess import ArraySpec

class Codes:
    sample_rate = {RATE}
    batch_seconds = 120.0
    arrays = (ArraySpec("audio_codes", "int16", ({BOOKS},), "own", rate={RATE / HOP}),)

    def __init__(self, device="cpu"):
        pass

    def __call__(self, waveforms):
        return [np.full((-(-len(one) // {HOP}), {BOOKS}), int(1000 * one[0]), np.int16) for one in waveforms]
"""
LOOP = """
import json, sys
from pathlib import Path
import numpy as np
import soundfile
from free_codec import Codes
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.models.inputs import batches_of

dataset, folder, model = UtteranceDataset(sys.argv[1]), Path(sys.argv[2]), Codes()
folder.mkdir()
places = {row["id"]: row for row in map(json.loads, Path("list.jsonl").read_text().splitlines())}

def read(row):
    if row.waveform is not None:
        return row.waveform * np.float32(1 / 32768)
    place = places[row.id]
    start, count = (round(place[name] * model.sample_rate) for name in ("start", "duration"))
    return soundfile.read(place["audio"], count, start, dtype="float32")[0]

first, seconds = 0, dataset.columns["seconds"]
for shard in read_manifest(dataset.path).shards:
    for batch in batches_of(seconds[first : first + shard.rows].tolist(), model.batch_seconds):
        rows = [dataset[first + position] for position in batch]
        for row, codes in zip(rows, model([read(row) for row in rows]), strict=True):
            np.save(folder / f"{row.id}.npy", codes)
    first += shard.rows
"""


def write_list(folder: Path, hours: float) -> int:
    """Write ten minutes of noise and the list of its excerpts of 1 to 12 s; return their number."""
    rng = np.random.default_rng(0)
    soundfile.write(folder / "noise.wav", 0.1 * rng.standard_normal(600 * RATE), RATE, subtype="PCM_16")
    total, rows = 0.0, []
    while total < 3600 * hours:
        duration = round(float(rng.uniform(1, 12)), 3)
        row = {"id": f"u{len(rows):06d}", "audio": "noise.wav", "start": round(float(rng.uniform(0, 588)), 3)}
        rows.append({**row, "duration": duration, "text": "Noise."})
        total += duration
    (folder / "list.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return len(rows)


def measure(folder: Path, *command: object) -> tuple[float, float]:
    """Return the wall clock and processor seconds of a program."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).parents[1])])}
    subprocess.run([sys.executable, *map(str, command)], check=True, cwd=folder, env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, used


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=None, help="where the recordings and the store are made")
    parser.add_argument("--stored", action="store_true", help="read the waveforms of a store, not recordings")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        (folder / "free_codec.py").write_text(MODEL)
        n_rows = write_list(folder, options.hours)
        how = ("--mel", "none", "--frontend", "none", "--peak", "none", "--sample-rate", RATE)
        stored = ("--waveform", "int16") if options.stored else ()
        measure(folder, "-m", "tts_prep", "manifest", "list.jsonl", "store", *how, *stored)
        corpus = () if options.stored else ("--corpus", ".")
        taken: dict[str, list[tuple[float, float]]] = {"a bare loop": [], "`tts-prep add`": []}
        for number in range(options.rounds):
            taken["a bare loop"].append(measure(folder, "-c", LOOP, "store", f"codes-{number}"))
            shutil.rmtree(folder / f"codes-{number}")
            taken["`tts-prep add`"].append(
                measure(folder, "-m", "tts_prep", "add", "store", "--feature", "free_codec:Codes", *corpus)
            )
            measure(folder, "-m", "tts_prep", "remove", "store", "--array", "audio_codes")
    print(
        f"{options.hours:g} hours, {n_rows:,} utterances, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n"
    )
    print("| program | seconds | processor seconds | seconds of each round |\n| --- | --- | --- | --- |")
    for program, found in taken.items():
        medians = [statistics.median(of) for of in zip(*found, strict=True)]
        rounds = ", ".join(f"{wall:.1f}" for wall, _ in found)
        print(f"| {program} | {medians[0]:.1f} | {medians[1]:.1f} | {rounds} |")
    ratios = [ours[0] / bare[0] for bare, ours in zip(*taken.values(), strict=True)]
    print(f"\nratio of seconds: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
