"""Reading manifests of 100,000 rows takes the same memory as 10,000, and a million rows of codes take less than 100 MB.

Part of ``make soak``.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
from memory import environment

FEW, MANY = 10_000, 100_000
MAX_GROWTH = 32 << 20
"""Bytes; the rows themselves have several times as many."""

PROGRAM = """
import sys
from pathlib import Path
from memory import peak_memory
from tts_prep.preprocess.corpora.corpus import read_corpus
from tts_prep.preprocess.source_utterance import SourceUtterance
options = {"files": [Path(sys.argv[1]).name], **({"lists": sys.argv[2:]} if sys.argv[2:] else {})}
items, _ = read_corpus("manifest", Path(sys.argv[1]).parent, options=options)
found = sum(isinstance(item, SourceUtterance) for item in items)
print(found, peak_memory())
"""


def values(count: int) -> Iterator[dict[str, object]]:
    text = "A sentence of the length that sentences of corpora have, with a number at its end: "
    for number in range(count):
        yield {"path": f"clips/{number:06d}.wav", "sentence": f"{text}{number}.", "client_id": f"speaker {number % 97}"}


def wav() -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.zeros(400), 16_000, format="WAV")
    return file.getvalue()


def write_table(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("path\tsentence\tclient_id\n")
        file.writelines("\t".join(map(str, row.values())) + "\n" for row in values(count))


def write_json_lines(path: Path, count: int) -> None:
    with gzip.open(path, "wt", 1, encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in values(count))


def write_cuts(path: Path, count: int) -> None:
    with gzip.open(path, "wt", 1, encoding="utf-8") as file:
        for number, row in enumerate(values(count)):
            source = {"type": "file", "channels": [0], "source": row["path"]}
            recording = {"id": f"r{number}", "sources": [source], "sampling_rate": 16_000, "num_samples": 16_000}
            recording |= {"duration": 1.0, "channel_ids": [0]}
            supervision = {"id": f"s{number}", "recording_id": f"r{number}", "start": 0.0, "duration": 1.0}
            supervision |= {"channel": 0, "text": row["sentence"], "speaker": row["client_id"]}
            cut = {"id": f"c{number}", "start": 0.0, "duration": 1.0, "channel": 0, "type": "MonoCut"}
            file.write(json.dumps({**cut, "supervisions": [supervision], "recording": recording}) + "\n")


def arrow_rows(count: int) -> Iterator[pa.Table]:
    audio, group = wav(), []
    for row in values(count):
        group.append({"audio": {"bytes": audio, "path": row["path"]}, "text": row["sentence"]})
        if len(group) == 1000:
            yield pa.Table.from_pylist(group)
            group = []


def write_parquet(path: Path, count: int) -> None:
    first = next(arrow_rows(1000))
    with pq.ParquetWriter(path, first.schema) as writer:
        for table in arrow_rows(count):
            writer.write_table(table)


def write_arrow(path: Path, count: int) -> None:
    first = next(arrow_rows(1000))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, first.schema) as writer:
        for table in arrow_rows(count):
            writer.write_table(table)


def write_tar(path: Path, count: int) -> None:
    audio = wav()
    with tarfile.open(path, "w") as archive:
        for number, row in enumerate(values(count)):
            for suffix, data in ((".wav", audio), (".json", json.dumps({"text": row["sentence"]}).encode())):
                member = tarfile.TarInfo(f"{number:06d}{suffix}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def write_code_lines(path: Path, count: int) -> None:
    codes = np.random.default_rng(0).integers(0, 1024, (1000, 20, 8)).tolist()
    with path.open("w", encoding="utf-8") as file:
        for number, row in enumerate(values(count)):
            of_row = codes[number % 1000][: 8 + number % 13]
            file.write(json.dumps({"id": f"{number:07d}", "text": row["sentence"], "audio_codes": of_row}) + "\n")


def write_code_table(path: Path, count: int) -> None:
    codes = np.random.default_rng(0).integers(0, 1024, (1000, 20, 8)).tolist()
    with pq.ParquetWriter(
        path, pa.schema({"text": pa.string(), "audio_codes": pa.list_(pa.list_(pa.int16()))})
    ) as writer:
        for first in range(0, count, 1000):
            texts = [f"A sentence with a number at its end: {first + i}." for i in range(1000)]
            lists = [codes[i][: 8 + i % 13] for i in range(1000)]
            writer.write_table(pa.Table.from_pydict({"text": texts, "audio_codes": lists}, writer.schema))


def peak(path: Path, count: int, *lists: str) -> int:
    """Return the peak memory of a process that reads a manifest, in bytes."""
    command = [sys.executable, "-c", PROGRAM, path, *lists]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    found, peak = map(int, done.stdout.split())
    assert found == count
    return peak


@pytest.mark.soak
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("train.tsv", write_table),
        ("train.jsonl.gz", write_json_lines),
        ("cuts.jsonl.gz", write_cuts),
        ("train.parquet", write_parquet),
        ("train.arrow", write_arrow),
        ("train.tar", write_tar),
    ],
)
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, name: str, write: Callable[[Path, int], None]) -> None:
    peaks = []
    for count in (FEW, MANY):
        write(tmp_path / name, count)
        peaks.append(peak(tmp_path / name, count))
    print(f"\n{name}: {peaks[0] / 2**20:.0f} MiB for {FEW:,} rows, {peaks[1] / 2**20:.0f} MiB for {MANY:,}")
    assert peaks[1] - peaks[0] < MAX_GROWTH


@pytest.mark.soak
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("name", "write"), [("codes.jsonl", write_code_lines), ("codes.parquet", write_code_table)])
def test_a_million_rows_of_codes_take_less_than_100_megabytes(
    tmp_path: Path, name: str, write: Callable[[Path, int], None]
) -> None:
    write(tmp_path / name, 1_000_000)
    found = peak(tmp_path / name, 1_000_000, "audio_codes@own:12.5")
    print(f"\n{name}: {found / 1e6:.0f} MB")
    assert found < 100e6
