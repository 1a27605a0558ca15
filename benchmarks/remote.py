"""Time epochs from an object store on this machine: a store behind a URL with a cache, beside streaming libraries.

    python benchmarks/remote.py [STORE] --node-modules FOLDER --peer-python PYTHON [PYTHON ...] [--result remote]

STORE is one of 5 hours, which command.py leaves in benchmarks/output/. The server is s3rver, in a process of its own:
``npm install --prefix FOLDER s3rver``, behind a network that network.py imitates; the interpreters have what
``benchmarks/peers.txt`` and ``peers-mds.txt`` name. Every contender has its own format of the same mels and symbol ids
on the server. In each round, all contenders run once, one after the other, in a new process with an empty cache;
`streams.py` has how each is used. Times begin when the dataset is opened, after imports. Bytes are counted by the
server, and divided by the size of the contender's own files. Memory is the highest of all processes of a contender
together, above what the first had after its imports: what is not of mapped files, looked at four times a second. The
first row downloads the files of the store with boto3, eight at a time, without checksums, and makes no batches.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from corpus import require
from results import Result, describe_machine
from streams import write_utterances

from tts_prep.loader import UtteranceDataset

HERE = Path(__file__).resolve().parent
KEYS = {
    "AWS_ACCESS_KEY_ID": "S3RVER",
    "AWS_SECRET_ACCESS_KEY": "S3RVER",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
    # s3rver would store the checksums that boto3 appends to what it uploads.
    "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
}


@dataclass
class Contender:
    """What is measured, and what was found.

    Attributes:
        name: as in the table.
        python: the interpreter.
        package: what streams.py calls it.
        folder: its files, on the server too.
        setting: workers, or the shards of a window.
    """

    name: str
    python: str
    package: str
    folder: str
    setting: int
    first_batch: list[float] = field(default_factory=list)
    first_epoch: list[float] = field(default_factory=list)
    later_epoch: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    first_bytes: list[float] = field(default_factory=list)
    later_bytes: list[float] = field(default_factory=list)
    failed: str = ""


class ObjectStore:
    """The server, and the number of bytes it has sent."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.port = read_port(process)
        self.endpoint = f"https://127.0.0.1:{self.port}"

    def sent(self) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def read_port(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


class Memory(threading.Thread):
    """Looks at the memory of a process and of those that it has started, and keeps the highest."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._process = process
        self._ended = threading.Event()
        self.highest = 0

    def run(self) -> None:
        while not self._ended.wait(0.25):
            self.highest = max(self.highest, self.now())

    def end(self) -> int:
        self._ended.set()
        self.join()
        return self.highest

    def now(self) -> int:
        """Return the bytes at present, without what is of mapped files; shared memory in parts."""
        return sum(_memory(process) for process in _family(self._process))


def _family(process: int) -> list[int]:
    with suppress(OSError):
        tasks = Path(f"/proc/{process}/task").iterdir()
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
        return [process, *(other for child in children for other in _family(child))]
    return []


def _memory(process: int) -> int:
    with suppress(OSError):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
    return 0


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Make a key and a certificate of this machine, and have all libraries trust it: LitData refuses plain HTTP."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "9", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-addext", "basicConstraints=critical,CA:FALSE"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    os.environ.update({name: str(certificate) for name in ("AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")})
    return key, certificate


@contextmanager
def serving(folder: Path, node_modules: Path, network: list[str]) -> Iterator[tuple[ObjectStore, str]]:
    """Run the server and the network before it; yield the server, and its URL behind the network."""
    environment = {**os.environ, "NODE_PATH": str(node_modules.resolve())}
    key, certificate = make_certificate(folder.parent)
    command = ["node", str(HERE / "object_store.js"), str(folder), str(key), str(certificate)]
    with ExitStack() as stack:

        def start(command: list[str]) -> subprocess.Popen[str]:
            pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            process = stack.enter_context(subprocess.Popen(command, env=environment, **pipes))
            stack.callback(process.kill)
            return process

        store = ObjectStore(start(command))
        port = read_port(start([sys.executable, str(HERE / "network.py"), str(store.port), *network]))
        yield store, f"https://127.0.0.1:{port}"


def upload(store: ObjectStore, folder: Path) -> None:
    import boto3

    client = boto3.client("s3", endpoint_url=store.endpoint)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            client.put_object(Bucket="bench", Key=f"{folder.name}/{path.relative_to(folder)}", Body=path.read_bytes())


@dataclass(frozen=True)
class Peer:
    """A library in one of its versions.

    Attributes:
        package: what streams.py calls it.
        python: the first interpreter that has this version.
        version: its distribution and version.
        folder: its files, as this version writes them.
    """

    package: str
    python: str
    version: str
    folder: str


def write_formats(work: Path, dataset: UtteranceDataset, peers: list[Peer]) -> None:
    """Write the files of every library, unless they are there."""
    source = work / "utterances"
    if not (source / "lengths.npy").exists():
        utterances = list(dataset)
        write_utterances(source, [each.mel for each in utterances], [each.phonemes for each in utterances])
    for peer in peers:
        folder, done = work / peer.folder, work / f"{peer.folder}.done"
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            command = [peer.python, str(HERE / "streams.py"), "write", peer.package, str(source), str(folder)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            done.touch()


def find_peers(interpreters: list[str]) -> list[Peer]:
    """Return the libraries of all interpreters, each version once."""
    found: dict[str, Peer] = {}
    for python in interpreters:
        done = subprocess.run(
            [python, str(HERE / "streams.py"), "versions"], stdout=subprocess.PIPE, text=True, check=True
        )
        for package, text in json.loads(done.stdout).items():
            found.setdefault(text, Peer(package, python, text, text.replace(" ", "-")))
    return list(found.values())


@dataclass(frozen=True)
class Run:
    """The lines of a process, the bytes sent until the end of its first epoch and after that, and its memory."""

    lines: list[dict[str, float]]
    first: int
    later: int
    memory: int


def run_once(contender: Contender, store: ObjectStore, url: str, epochs: int, limit: float) -> Run:
    with tempfile.TemporaryDirectory(prefix="tts-prep-remote-") as cache:
        location = f"s3://bench/{contender.folder}"
        command = [contender.python, str(HERE / "streams.py"), "read", contender.package, location, f"{cache}/cache"]
        command += ["--setting", str(contender.setting), "--epochs", str(epochs)]
        environment = {**os.environ, **KEYS, "AWS_ENDPOINT_URL": url, "TMPDIR": cache}
        before = store.sent()
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                ["timeout", str(limit), *command],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
            assert process.stdin is not None
            assert process.stdout is not None
            memory = Memory(process.pid)
            lines: list[dict[str, float]] = []
            base = first = 0
            for line in process.stdout:
                if not line.startswith("{"):
                    continue
                lines.append(json.loads(line))
                if "imported" in lines[-1]:
                    base = memory.now()
                    memory.start()
                elif "epoch" in lines[-1] and not first:
                    first = store.sent() - before
                else:
                    continue
                process.stdin.write("\n")
                process.stdin.flush()
            if process.wait():
                errors.seek(0)
                raise ValueError(f"{contender.name}: {errors.read()[-500:]}")
        return Run(lines, first, store.sent() - before - first, memory.end() - base)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.resolve().rglob("*") if path.is_file())


def measure(contender: Contender, *arguments: Any) -> None:
    """Run a contender once, from the server and from its folder; one that fails costs its own row only."""
    try:
        _measure(contender, *arguments)
    except ValueError as error:
        contender.failed = str(error)
    # A run takes many minutes, and may be ended before its table.
    print(contender, file=sys.stderr, flush=True)


def _measure(
    contender: Contender, work: Path, store: ObjectStore, url: str, epochs: int, limit: float, wanted: int
) -> None:
    size = size_of(work / contender.folder)
    run = run_once(contender, store, url, 1 if contender.package == "download" else epochs, limit)
    times = [line for line in run.lines if "epoch" in line]
    if contender.package != "download":
        counts = [int(line["utterances"]) for line in times]
        if min(counts) < wanted:
            raise ValueError(f"{contender.name}: epochs of {counts} utterances of {wanted}")
        contender.first_batch += [line["first batch"] for line in run.lines if "first batch" in line]
        contender.later_epoch.append(statistics.median(line["epoch"] for line in times[1:]))
        contender.later_bytes.append(run.later / size / (len(times) - 1))
    contender.first_epoch.append(times[0]["epoch"])
    contender.first_bytes.append(run.first / size)
    contender.memory.append(run.memory / 1e6)


def make_contenders(peers: list[Peer], folder: str, windows: list[int], workers: list[int]) -> list[Contender]:
    ours = sys.executable
    found = [Contender("plain download of the store, boto3", ours, "download", folder, 8)]
    for window in windows:
        order = f"windows of {window} shards" if window else "all shards at once"
        found.append(Contender(f"tts-prep, {order}", ours, "tts-prep", folder, window))
    if find_spec("torch") and max(windows):
        name = f"tts-prep, windows of {max(windows)} shards, torch's DataLoader, 2 persistent workers"
        found.append(Contender(name, ours, "tts-prep with torch", folder, max(windows)))
    titles = {
        "litdata": "LitData, {}, cache of 25 GB",
        "streaming": "mosaicml-streaming (MDS), cache",
        "webdataset": "webdataset, cache",
        "lhotse": "lhotse {} (Shar), no cache",
        "datasets": "datasets (Parquet, streaming), no cache",
    }
    for peer in peers:
        words = peer.version.split()
        title = titles[peer.package].format(words[3] if len(words) > 2 else words[1])
        for number in workers:
            name = f"{title}, {number} persistent workers" if number else f"{title}, 0 workers"
            found.append(Contender(name, peer.python, peer.package, peer.folder, number))
    return found


def cell(values: list[float], digits: int = 2) -> str:
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time epochs from an object store on this machine.")
    parser.add_argument("store", type=Path, nargs="?", default=HERE / "output" / "store")
    parser.add_argument("--node-modules", type=Path, required=True, help="the folder that npm made, with s3rver")
    parser.add_argument("--peer-python", nargs="+", default=[], metavar="PYTHON")
    parser.add_argument("--work", type=Path, default=HERE / "output" / "remote", help="for the files of all formats")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=6, help="of a process, the first with an empty cache")
    parser.add_argument("--windows", type=int, nargs="+", default=[0, 4], help="shards of a window; 0: all")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 2], help="of the others")
    parser.add_argument("--round-trip", default="20", help="milliseconds, of the network")
    parser.add_argument("--gigabits", default="1", help="a second, of the network")
    parser.add_argument("--limit", type=float, default=300, help="seconds for a process")
    parser.add_argument("--only", nargs="*", metavar="PACKAGE", help="packages, instead of all")
    parser.add_argument("--result", metavar="NAME", help="write benchmarks/results/NAME.json")
    options = parser.parse_args()
    require("boto3", "s3fs")

    os.environ.update(KEYS)
    options.work.mkdir(parents=True, exist_ok=True)
    dataset = UtteranceDataset(options.store)
    peers = find_peers(options.peer_python)
    if options.only is not None:
        peers = [peer for peer in peers if peer.package in options.only]
    write_formats(options.work, dataset, peers)
    if not (options.work / "store").exists():
        (options.work / "store").symlink_to(options.store.resolve())
    contenders = make_contenders(peers, "store", options.windows, options.workers)
    bucket, load = options.work / "bucket", f"{os.getloadavg()[0]:.1f}"
    shutil.rmtree(bucket, ignore_errors=True)
    bucket.mkdir()
    try:
        network = ["--round-trip", options.round_trip, "--gigabits", options.gigabits]
        with serving(bucket, options.node_modules, network) as (store, url):
            for folder in {contender.folder for contender in contenders}:
                upload(store, options.work / folder)
            for _ in range(options.rounds):
                for contender in contenders:
                    if not contender.failed:
                        measure(contender, options.work, store, url, options.epochs, options.limit, len(dataset))
    finally:
        shutil.rmtree(bucket)
    rows = [
        [
            contender.name,
            cell(contender.first_batch),
            cell(contender.first_epoch),
            cell([1e3 * seconds for seconds in contender.later_epoch], 0),
            cell(contender.first_bytes[:1], 3),
            cell(contender.later_bytes[:1], 3),
            cell(contender.memory, 0),
        ]
        for contender in contenders
        if not contender.failed
    ]
    size = size_of(options.work / "store")
    packages = ["numpy", "h5py", "fsspec", "s3fs", "boto3"]
    Result(
        [
            "",
            "seconds to the first batch: median (min to max)",
            "first epoch, seconds",
            "later epochs, milliseconds",
            "bytes sent to bytes stored, first epoch",
            "each later epoch",
            "memory, MB",
        ],
        rows,
        {contender.name: statistics.median(contender.first_epoch) for contender in contenders if not contender.failed},
        f"{len(dataset):,} utterances, {size / 1e9:.2f} GB in {len(set(dataset.shard))} shards, batches of 32, "
        f"{options.rounds} rounds in turn, {options.epochs} epochs of a process; a network of {options.round_trip} ms "
        f"there and back and {options.gigabits} Gbit/s. The machine's load was {load} before and "
        f"{os.getloadavg()[0]:.1f} after.",
        describe_machine(),
        [f"{package} {version(package)}" for package in packages] + [peer.version for peer in peers],
    ).show(options.result)
    for contender in contenders:
        if contender.failed:
            print(f"failed: {contender.failed}")


if __name__ == "__main__":
    main()
