"""Lists of recordings that nobody would write by hand: each fault is one failed row, or one line."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run
from corpora import record
from memory import environment
from test_manifests import cut, read, write_jsonl, write_tar

from tts_prep.corpora.manifests.reader import read_manifest
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.configuration.records import StoreConfig
from tts_prep.preprocess.plan.shard_plans import PlannedUtterance, plan_shards

ROWS = [{"audio": "a.wav", "text": "One.", "mos": 3.5}, {"audio": "b.wav", "text": "Two.", "mos": None}]


def write_csv(folder: Path) -> Path:
    (folder / "list.csv").write_text("audio,text,mos\na.wav,One.,3.5\nb.wav,Two.,\n")
    return folder / "list.csv"


def write_parquet(folder: Path) -> Path:
    # As pandas writes it: the missing number of a column of floats is NaN.
    columns = {"audio": ["a.wav", "b.wav"], "text": ["One.", "Two."], "mos": pa.array([3.5, math.nan])}
    pq.write_table(pa.table(columns), folder / "list.parquet")
    return folder / "list.parquet"


def write_cuts(folder: Path) -> Path:
    cuts = [
        cut(
            id=row["audio"],
            start=0,
            duration=0.3,
            channel=0,
            supervisions=[{"id": "s", "start": 0, "duration": 0.3, "text": row["text"], "custom": {"mos": row["mos"]}}],
            recording={"id": "r", "sources": [{"type": "file", "channels": [0], "source": row["audio"]}]},
        )
        for row in ROWS
    ]
    return write_jsonl(folder / "list.jsonl", cuts)


def write_archive(folder: Path) -> Path:
    members = []
    for row in ROWS:
        name = str(row["audio"])
        members += [(name, (folder / name).read_bytes()), (name[0] + ".json", json.dumps(row).encode())]
    return write_tar(folder / "list.tar", members)


LISTS = {
    "jsonl": lambda folder: write_jsonl(folder / "list.jsonl", ROWS),
    "csv": write_csv,
    "parquet": write_parquet,
    "lhotse": write_cuts,
    "tar": write_archive,
}


@pytest.mark.parametrize("kind", LISTS)
def test_a_missing_number_is_a_value_in_every_container(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str
) -> None:
    for name in ("a.wav", "b.wav"):
        record(tmp_path / name)
    path = LISTS[kind](tmp_path)
    status, _, err = run(capsys, "manifest", path, tmp_path / "store", "--jobs", 1)
    assert status == 0, err
    mos = np.asarray(UtteranceDataset(tmp_path / "store").column("mos"))
    assert mos[0] == 3.5
    assert math.isnan(mos[1])


def test_a_missing_number_is_null_in_the_plan_and_its_key(tmp_path: Path) -> None:
    items, _ = read(write_jsonl(tmp_path / "list.jsonl", ROWS))
    (plan,) = plan_shards(items, tmp_path, StoreConfig())
    rows = [row.utterance for row in plan.rows if isinstance(row, PlannedUtterance)]
    assert [row.meta["mos"] for row in rows] == [3.5, pytest.approx(math.nan, nan_ok=True)]
    with pytest.raises(ValueError, match="Out of range"):
        json.dumps(math.nan, allow_nan=False)  # the form of keys
    assert plan.key("x") == next(plan_shards(items, tmp_path, StoreConfig())).key("x")


FIELDS = {
    "text": {"text": "a\ud800"},
    "audio": {"audio": "\udc80.wav"},
    "id": {"id": "\ud9ff"},
    "speaker": {"speaker": "\udfff"},
    "a column": {"mood": "\ud812"},
    "the name of a column": {"\ud812x": "y"},
    "a list in a column": {"tags": ["\ud812"]},
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_lone_surrogate_in_any_field_costs_its_row(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, field: str
) -> None:
    record(tmp_path / "a.wav")
    path = tmp_path / "list.jsonl"
    rows = [{"audio": "a.wav", "text": "One."}, {"audio": "a.wav", "text": "Two.", "id": "x", **FIELDS[field]}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, _, err = run(capsys, "manifest", path, tmp_path / "store", "--jobs", 1, "--max-failures", 1)
    assert (status, "Traceback" in err) == (0, False), err
    dataset = UtteranceDataset(tmp_path / "store")
    # A name of a column gets an underscore for what is no letter.
    assert len(dataset) == (2 if field == "the name of a column" else 1)


HARMLESS = {"audio": "a.wav", "text": "One.", "id": "good"}
BAD_ROWS: dict[str, dict[str, Any]] = {
    "a path over 255 bytes": {"audio": "x" * 300 + ".wav"},
    "a path over 4096 bytes": {"audio": "x/" * 3000 + ".wav"},
    "a path with NUL": {"audio": "x\0.wav"},
    "a duration beyond all numbers": {"offset": 0, "duration": 10**400},
    "a start beyond all years": {"offset": 1e308},
    "a start of digits": {"offset": "9" * 5000},
    "an end beyond all numbers": {"end": 10**400},
}


@pytest.mark.parametrize("what", BAD_ROWS)
def test_a_value_that_nobody_would_write_costs_its_row(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, what: str
) -> None:
    record(tmp_path / "a.wav")
    # The bad row is the first one.
    path = write_jsonl(tmp_path / "list.jsonl", [{**HARMLESS, "id": "bad", **BAD_ROWS[what]}, HARMLESS])
    status, _, err = run(capsys, "manifest", path, tmp_path / "store", "--jobs", 1, "--max-failures", 1)
    assert (status, "Traceback" in err) == (0, False), err
    assert list(UtteranceDataset(tmp_path / "store").id) == ["good"]
    (line,) = (tmp_path / "store/failures.jsonl").read_text().splitlines()
    assert json.loads(line)["id"] in ("bad", "")


def test_a_cut_with_a_duration_beyond_all_numbers_costs_itself(tmp_path: Path) -> None:
    found, (failure,) = read(write_jsonl(tmp_path / "cuts.jsonl", [cut(duration=10**400), cut(id="c2")]))
    assert [item.id for item in found] == ["c2"]
    assert failure.reason.startswith("cuts.jsonl:1: not a valid cut")


def test_a_header_beyond_the_limits_of_csv_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("audio,text," + "x" * 200_000 + "\na.wav,One.,1\n")
    with pytest.raises(CorpusError, match=r"list\.csv: the first line is no header of a table"):
        read(tmp_path / "list.csv")


def test_rows_with_columns_of_their_own_are_refused_before_they_fill_memory(tmp_path: Path) -> None:
    rows = [{"audio": "a.wav", "text": "One.", **{f"c{i}_{j}": 1 for j in range(300)}} for i in range(5)]
    with pytest.raises(CorpusError, match=r"list\.jsonl: more than the maximum of 1,000 columns"):
        read(write_jsonl(tmp_path / "list.jsonl", rows))


@pytest.mark.whole
def test_a_number_of_yaml_in_base_60_beyond_all_floats_is_one_line() -> None:
    from tts_prep.recipes.speechain.configuration import read_yaml

    with pytest.raises(ConfigurationError, match="invalid YAML"):
        read_yaml("x: " + "1:" * 400 + "1.5\n")


def tar_header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytearray:
    info = tarfile.TarInfo(name)
    info.type = kind
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    if size < 0:
        header[124:136] = b"\xff" * 4 + (size % (1 << 64)).to_bytes(8, "big")
    else:
        header[124:136] = b"\x80" + size.to_bytes(11, "big")
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    return header


def long_name(name: bytes) -> bytes:
    return bytes(tar_header("././@LongLink", len(name), tarfile.GNUTYPE_LONGNAME)) + name.ljust(512, b"\0")


def pax(**values: str) -> bytes:
    data = b"".join(pax_record(key.replace("__", "."), value) for key, value in values.items())
    return bytes(tar_header("pax", len(data), tarfile.XHDTYPE)) + data.ljust(512, b"\0")


def pax_record(key: str, value: str) -> bytes:
    rest = f" {key}={value}\n".encode()
    length = next(n for n in range(len(rest), len(rest) + 9) if len(str(n)) + len(rest) == n)
    return str(length).encode() + rest


MEMBER = bytes(tar_header("a.wav", 3)) + b"abc".ljust(512, b"\0")
TARS = {
    "a negative size": (bytes(tar_header("a.wav", -512)), r"a\.wav at byte 0 has an invalid size"),
    "a negative size of a long name": (bytes(tar_header("x", -512, tarfile.GNUTYPE_LONGNAME)), "too many or too large"),
    "3,000 long names": (long_name(b"b.wav") * 3000 + MEMBER, "too many or too large headers at byte"),
    "3,000 pax headers": (pax(path="b.wav") * 3000 + MEMBER, "too many or too large headers at byte"),
    "GNU's sparse format 1.0": (
        pax(GNU__sparse__major="1", GNU__sparse__minor="0", GNU__sparse__name="a.wav") + MEMBER,
        r"a\.wav is sparse; create the archive without --sparse",
    ),
    "GNU's sparse format 0.1": (pax(GNU__sparse__map="0,3") + MEMBER, r"a\.wav is sparse"),
    "a size of pax that is no number": (pax(size="-5") + MEMBER, "has an invalid size"),
    "a size of pax beyond all files": (pax(size="9" * 30) + MEMBER, "has an invalid size"),
    "a pax header that is none": (
        bytes(tar_header("pax", 9, tarfile.XHDTYPE)) + b"999 a=b\n".ljust(512, b"\0") + MEMBER,
        "invalid pax header at byte 0",
    ),
}


@pytest.mark.parametrize("what", TARS)
def test_an_archive_that_is_crafted_is_one_line(tmp_path: Path, what: str) -> None:
    data, message = TARS[what]
    (tmp_path / "00.tar").write_bytes(data + bytes(1024))
    with pytest.raises(CorpusError, match=rf"00\.tar: cannot be read as an uncompressed tar archive \(.*{message}"):
        read(tmp_path / "00.tar")


def test_sizes_and_names_of_additional_headers_are_those_of_tarfile(tmp_path: Path) -> None:
    blocks = [pax(path="long/" + "n" * 120 + ".wav", size="3") + MEMBER, long_name(b"m" * 150 + b".wav") + MEMBER]
    (tmp_path / "00.tar").write_bytes(b"".join(blocks) + bytes(1024))
    with tarfile.open(tmp_path / "00.tar") as archive:
        expected = [(member.name, f"bytes {member.offset_data} {member.size}") for member in archive]
    found, _ = read(tmp_path / "00.tar", texts=False)
    assert [(f"{item.id}.wav", item.inside) for item in found] == expected


PROGRAM = """
import sys
from pathlib import Path
from memory import peak_memory
from tts_prep.errors import CorpusError
from tts_prep.corpora.manifests.reader import read_manifest
before = peak_memory()
try:
    list(read_manifest(Path(sys.argv[1]).parent, [Path(sys.argv[1]).name]))
except CorpusError as error:
    print(error)
print(peak_memory() - before)
"""


@pytest.mark.parametrize("kind", ["a long name of 5 GiB", "an unclosed quotation mark before lines of 15 MB"])
def test_a_list_that_asks_for_gigabytes_gets_little_memory(tmp_path: Path, kind: str) -> None:
    if kind == "a long name of 5 GiB":
        path = tmp_path / "00.tar"
        path.write_bytes(bytes(tar_header("x", 5 << 30, tarfile.GNUTYPE_LONGNAME)))
        with path.open("r+b") as file:
            file.truncate(6 << 30)
    else:
        path = tmp_path / "list.csv.gz"
        # A member a line, of which only one is compressed here; all are twice the memory that is allowed.
        head, line = (gzip.compress(text, 1) for text in (b'audio,text\na.wav,"x\n', b"y" * 15_000_000 + b"\n"))
        path.write_bytes(head + line * 40)
    command = [sys.executable, "-c", PROGRAM, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    assert int(done.stdout.splitlines()[-1]) < 300 << 20, done.stdout


@pytest.mark.parametrize("identifier", [[], {"a": 1}, 7, None])
def test_an_id_of_another_kind_of_a_cut_that_fails_costs_its_row(tmp_path: Path, identifier: object) -> None:
    good = {"id": "r", "sources": [{"type": "file", "channels": [0], "source": "a.wav"}]}
    cuts = [
        cut(id=name, start=0, duration=0.3, channel=0, supervisions=[], recording=recording)
        for name, recording in (("a", good), (identifier, {**good, "sources": []}))
    ]
    items = list(read_manifest(tmp_path, [write_jsonl(tmp_path / "list.jsonl", cuts).name], texts=False))
    plans = list(plan_shards(items, tmp_path, StoreConfig()))
    assert len([row for plan in plans for row in plan.rows if isinstance(row, Failure)]) >= 1
