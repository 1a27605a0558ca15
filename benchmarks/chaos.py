"""Train from a store behind a URL while everything fails: ranks of two machines, bounded caches, a server with faults.

    python benchmarks/chaos.py [--hours 24] [--outage 180] [--rounds 3] [--result chaos]
    python benchmarks/chaos.py --conditions [--litdata] [--only NAME ...] [--result chaos-conditions]

The ranks make every step together, as data-parallel training does: each takes a batch, and waits for the others. The
ranks of a machine share a cache. Of the answers of the server, one in a hundred breaks off, is a 503, is too short, has
other bytes or is slow; once it does not answer for minutes. Ranks are killed, and go on from the state of their last
step. In mid-epoch, the run ends and goes on with other numbers of ranks.

What is looked at: whether every utterance comes once in every epoch, and right; whether a rank ends by itself; how long
a step took beside the outage; and the bytes that the server sent to each machine, beside the least for its cache and
this order: that of a reader which knows all steps, and removes the file that is needed last (Belady).

``--conditions`` tries each kind of fault alone, with a cache that has room for all unless that is what is tried, beside
LitData as its documentation says: by boto3 with its thousand retries (without obstore, which refuses HTTP), with its
states, ``drop_last``, and MAX_WAIT_TIME above the outage. Its ranks begin again together, as torchrun begins them,
when one is killed, and up to ten times when one ends by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from corpus import require
from results import Result, describe_machine
from stores import N_MELS, Row, write_store
from web_server import Answer, WebServer, serving

MACHINES = 2
PROCESSES = multiprocessing.get_context("forkserver")
PRELOADED = ["tts_prep.loader", "fsspec.implementations.http", "h5py"]


@dataclass(frozen=True)
class Plan:
    """What happens.

    Attributes:
        phases: the number of ranks, and the steps that they make; None makes all that are left.
        epochs: of the whole run.
        kills: ranks that are killed.
        faults: the share of answers with a fault.
        outage: seconds without an answer.
        cache: the size of each cache, of that of the store.
        window: shards of a window.
        max_frames: of a batch.
        slowest: seconds of a slow answer.
        work: seconds in which ranks do something else after each step, as those that train do.
        reader: ``tts-prep``, or ``litdata``, with batches of 240 utterances of all ranks together in its own order.
        restarts: how often all ranks begin again from their last states because one ended by itself.
        away_at: the step at which the outage begins.
    """

    phases: Sequence[tuple[int, int | None]] = ((8, 30), (6, 30), (8, None))
    epochs: int = 2
    kills: int = 8
    faults: float = 0.01
    outage: float = 180
    cache: float = 0.3
    window: int = 8
    max_frames: int = 20_000
    slowest: float = 5
    work: float = 0.3
    reader: str = "tts-prep"
    restarts: int = 0
    away_at: int = 12

    @property
    def is_lockstep(self) -> bool:
        """Whether all ranks begin again when one is killed, as torchrun has them do."""
        return self.reader == "litdata"


@dataclass
class Found:
    """What was found.

    Attributes:
        used: how often each utterance of each epoch was used.
        wrong: utterances with other values.
        died: the messages of ranks that ended by themselves.
        longest: seconds of the longest step while the server answered.
        sent: bytes sent to each machine.
        least: the bytes of a reader that knows all steps.
        steps: steps of all ranks.
        kills: ranks that were killed.
        restarts: how often all ranks began again because one ended by itself.
        messages: of ranks that ended by themselves, and began again.
    """

    used: Counter[tuple[int, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    died: list[str] = field(default_factory=list)
    longest: float = 0.0
    sent: list[int] = field(default_factory=list)
    least: list[int] = field(default_factory=list)
    steps: int = 0
    kills: int = 0
    restarts: int = 0
    messages: list[str] = field(default_factory=list)


def rank_main(
    connection: Any, url: str, cache: str, size: int, rank: int, n_ranks: int, plan: Plan, state: Any
) -> None:
    """Make a batch whenever it is asked for, and send what it has and the state after it."""
    try:
        opened = open_litdata if plan.reader == "litdata" else open_store
        loader, mels_of = opened(url, cache, size, rank, n_ranks, plan)
        ended = 0
        if state is not None:
            loader.load_state_dict(state["loader"])
            ended = state["ended"]
        while connection.recv():
            for batch in loader:
                used = {name: zlib.crc32(mel.tobytes()) for name, mel in mels_of(batch)}
                state = {"loader": loader.state_dict(), "ended": ended}
                connection.send({"epoch": ended, "used": used, "state": state})
                if not connection.recv():
                    return
            ended += 1
            connection.send({"used": {}, "state": {"loader": loader.state_dict(), "ended": ended}})
    except EOFError:
        return
    except BaseException as error:
        connection.send({"died": f"{type(error).__name__}: {error}"})
        raise


def open_store(url: str, cache: str, size: int, rank: int, n_ranks: int, plan: Plan) -> tuple[Any, Any]:
    """Return a loader with states, and what gives the ids and mels of a batch."""
    from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset

    dataset = UtteranceDataset(url, cache=cache, cache_size=size, outage=2 * plan.outage + 60)
    sampler = LengthBucketBatchSampler(
        dataset.n_frames,
        max_frames=plan.max_frames,
        seed=1,
        shards=dataset.shard,
        shard_window=plan.window,
        rank=rank,
        world_size=n_ranks,
    )

    def mels_of(batch: Any) -> Iterator[tuple[str, Any]]:
        for name, mel, length in zip(batch.ids, batch.mel, batch.mel_lengths.tolist(), strict=True):
            yield name, mel[:length]

    return DataLoader(dataset, batch_sampler=sampler), mels_of


def open_litdata(url: str, cache: str, size: int, rank: int, n_ranks: int, plan: Plan) -> tuple[Any, Any]:
    os.environ.update(WORLD_SIZE=str(n_ranks), GLOBAL_RANK=str(rank), NNODES=str(MACHINES))
    import litdata

    endpoint, _, folder = url.removeprefix("http://").partition("/")
    dataset = litdata.StreamingDataset(
        f"s3://{folder}",
        cache_dir=cache,
        max_cache_size=size if plan.cache < 1 else None,
        shuffle=True,
        drop_last=True,
        force_override_state_dict=True,  # the cache of another machine has another name here
        storage_options={"endpoint_url": f"http://{endpoint}"},
    )
    loader = litdata.StreamingDataLoader(dataset, batch_size=240 // n_ranks, num_workers=0, collate_fn=list)
    return loader, lambda samples: [(sample["id"], sample["mel"]) for sample in samples]


def write_litdata(folder: Path, rows: Sequence[Row], n_shards: int) -> Path:
    """Write rows as LitData's chunks, as many as a store has shards."""
    import litdata

    inputs = [{"id": row.id, "mel": row.mel} for row in rows]
    per_chunk = -(-len(rows) // n_shards)
    with contextlib.redirect_stdout(sys.stderr):
        litdata.optimize(_same, inputs, str(folder), chunk_size=per_chunk, num_workers=1)
    return folder


def _same(sample: Any) -> Any:
    return sample


class Rank:
    """A process that is a rank, and its state after its last step."""

    def __init__(self, start: Callable[[Any, Any], Any], state: Any) -> None:
        self._start = start
        self.state = state
        self.begin()

    def begin(self) -> None:
        self.connection, other = PROCESSES.Pipe()
        self._process = self._start(other, self.state)
        self._process.start()
        other.close()

    def ask(self) -> None:
        """Have it take a batch."""
        self.connection.send(True)

    def answer(self, seconds: float) -> dict[str, Any]:
        """Return what it has taken."""
        try:
            if not self.connection.poll(seconds):
                return {"died": f"no batch in {seconds:.0f} s"}
            answer: dict[str, Any] = self.connection.recv()
        except (EOFError, OSError) as error:
            return {"died": f"ended ({type(error).__name__})"}
        return answer

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.send(False)
        self._process.join(10)
        self.kill()


class Faults:
    """Faults of a share of the answers, and of all during an outage."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._draws = random.Random(1)
        self.away_until = 0.0

    def __call__(self, answer: Answer) -> None:
        if time.monotonic() < self.away_until:
            answer.status, answer.body, answer.length = 503, b"", 0
            answer.is_reset = self._draws.random() < 0.5
        elif answer.name.endswith((".h5", ".bin")) and answer.body and self._draws.random() < self._plan.faults:
            half = len(answer.body) // 2
            match self._draws.randrange(5):
                case 0:
                    answer.body, answer.is_reset = answer.body[:half], True
                case 1:
                    answer.status, answer.body, answer.length = 503, b"busy", 4
                case 2:
                    answer.body = answer.body[:half]
                    answer.length = half
                case 3:
                    answer.body = answer.body[:half] + bytes([answer.body[half] ^ 1]) + answer.body[half + 1 :]
                case 4:
                    answer.pieces, answer.pause = 5, self._plan.slowest / 5


def least_bytes(steps: Iterable[Iterable[str]], sizes: Mapping[str, int], room: int) -> int:
    """Return the bytes that a reader downloads which knows all steps, and removes the file that is needed last."""
    steps = [set(files) for files in steps]
    uses: dict[str, list[int]] = {}
    for number, files in reversed([*enumerate(steps)]):
        for file in files:
            uses.setdefault(file, []).append(number)
    kept: set[str] = set()
    loaded = 0
    for files in steps:
        for file in files:
            uses[file].pop()
        for file in files - kept:
            loaded += sizes[file]
            kept.add(file)
            others = sorted(kept - files, key=lambda other: uses[other][-1] if uses[other] else len(steps))
            while others and sum(sizes[other] for other in kept) > room:
                kept.remove(others.pop())
    return loaded


def run(rows: Sequence[Row], store: Path, work: Path, plan: Plan, limit: float) -> Found:
    """Run the plan within a number of seconds."""
    if plan.reader == "litdata":
        shards = sorted(store.glob("*.bin"), key=lambda path: int(path.stem.rpartition("-")[2]))
        base = (store / "index.json").stat().st_size
        ends = np.cumsum([chunk["chunk_size"] for chunk in json.loads((store / "index.json").read_text())["chunks"]])
        parts = np.split(np.arange(len(rows)), ends[:-1])
    else:
        shards = sorted((store / "shards").iterdir())
        base = sum((store / name).stat().st_size for name in ("manifest.json", "index.h5"))
        parts = np.array_split(np.arange(len(rows)), len(shards))
    sizes = {path.name: path.stat().st_size for path in shards}
    size = base + int(plan.cache * sum(sizes.values()))
    shard_of = {rows[i].id: path.name for path, part in zip(shards, parts, strict=True) for i in part}
    sums = {row.id: zlib.crc32(row.mel.tobytes()) for row in rows}
    found, faults, draws = Found(), Faults(plan), random.Random(2)
    used_by: list[list[set[str]]] = [[] for _ in range(MACHINES)]
    end = time.monotonic() + limit
    with serving(store.parent, faults) as web:
        web.folder = store.parent
        for machine in range(MACHINES):  # each with a URL of its own, so that its bytes are counted
            (web.folder / f"machine-{machine}").symlink_to(store.parent, target_is_directory=True)
        ranks: list[Rank] = []
        state = None
        try:
            for n_ranks, n_steps in plan.phases:
                for rank in ranks:
                    rank.end()
                ranks = [Rank(_starter(web, work, size, number, n_ranks, plan), state) for number in range(n_ranks)]
                made = 0
                while (n_steps is None or made < n_steps) and time.monotonic() < end:
                    if not _step(ranks, plan, found, faults, draws, used_by, shard_of, sums, end):
                        return found
                    state = ranks[0].state
                    made += 1
                    if state["ended"] >= plan.epochs:
                        break
        finally:
            for rank in ranks:
                rank.kill()
            found.sent = [web.sent_of[f"machine-{machine}"] for machine in range(MACHINES)]
            found.least = [base + least_bytes(steps, sizes, size - base) for steps in used_by]
            for messages in (found.died, found.messages):
                messages[:] = [message.replace(str(work), "") for message in messages]
    return found


def _starter(web: WebServer, work: Path, size: int, rank: int, n_ranks: int, plan: Plan) -> Callable[[Any, Any], Any]:
    machine = rank * MACHINES // n_ranks
    url, cache = f"{web.url}/machine-{machine}/voice", str(work / f"cache-{machine}")
    return lambda connection, state: PROCESSES.Process(
        target=rank_main, args=(connection, url, cache, size, rank, n_ranks, plan, state), daemon=True
    )


def _step(
    ranks: list[Rank],
    plan: Plan,
    found: Found,
    faults: Faults,
    draws: random.Random,
    used_by: list[list[set[str]]],
    shard_of: Mapping[str, str],
    sums: Mapping[str, int],
    end: float,
) -> bool:
    """Have all ranks make a step; return whether all did."""
    found.steps += 1
    if found.steps == plan.away_at and plan.outage:
        faults.away_until = time.monotonic() + plan.outage
    for rank in ranks:
        rank.ask()
    if found.steps % 7 == 3 and found.kills < plan.kills:
        time.sleep(draws.random() / 10)
        killed = draws.choice(ranks)
        _begin_again(ranks if plan.is_lockstep else [killed])
        found.kills += 1
    began = time.monotonic()
    while True:
        answers = [rank.answer(max(0.0, end - time.monotonic())) for rank in ranks]
        died = {number: answer["died"] for number, answer in enumerate(answers) if "died" in answer}
        if not died:
            break
        text = "; ".join(f"step {found.steps}, rank {n} of {len(ranks)}: {message}" for n, message in died.items())
        if found.restarts >= plan.restarts or time.monotonic() > end:
            found.died.append(text)
            return False
        found.restarts += 1
        found.messages.append(text)
        _begin_again(ranks)
    files: list[set[str]] = [set() for _ in range(MACHINES)]
    for number, (rank, answer) in enumerate(zip(ranks, answers, strict=True)):
        rank.state = answer["state"]
        if not answer["used"]:  # the end of an epoch
            continue
        for id_, checksum in answer["used"].items():
            found.used[answer["epoch"], id_] += 1
            files[number * MACHINES // len(ranks)].add(shard_of[id_])
            if checksum != sums[id_]:
                found.wrong.append(id_)
    for of_machine, more in zip(used_by, files, strict=True):
        of_machine.append(more)
    since = max(began, min(faults.away_until, time.monotonic()))
    found.longest = max(found.longest, time.monotonic() - since)
    time.sleep(plan.work)
    return True


def _begin_again(ranks: Sequence[Rank]) -> None:
    """Kill ranks, and have them make the step again from their last states."""
    for rank in ranks:
        rank.kill()
    for rank in ranks:
        rank.begin()
        rank.ask()


def rows_of(hours: float) -> list[Row]:
    """Return utterances with lengths like those of LJ Speech: 1.1 to 10.1 s, 6.6 s on average; with few mel bins."""
    draws = np.random.default_rng(0)
    seconds = np.clip(draws.normal(6.8, 2.2, int(hours * 3600 / 6.6)), 1.1, 10.1)
    rows = []
    for number, value in enumerate(seconds.tolist()):
        mel = draws.normal(size=(int(value * 22_050 / 256), N_MELS)).astype(np.float32)
        ids = draws.integers(1, 5, len(mel) // 6).astype(np.int32)
        name, text = f"utterance-{number}", f"Number {number}."
        rows.append(Row(name, text, "", "anna", "f", value, mel, ids, np.empty(0, np.int16)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Train from a URL while everything fails.")
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--shards", type=int, default=103)
    parser.add_argument("--outage", type=float, default=180, help="seconds")
    parser.add_argument("--faults", type=float, default=0.01, help="the share of answers")
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--limit", type=float, default=1800, help="seconds of the whole run")
    parser.add_argument("--cache", type=float, default=0.3, help="of the store")
    parser.add_argument("--window", type=int, default=8)
    parser.add_argument("--max-frames", type=int, default=20_000, help="of a batch")
    parser.add_argument("--conditions", action="store_true", help="each kind of fault alone")
    parser.add_argument("--litdata", action="store_true", help="LitData too, of this interpreter")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="conditions, instead of all")
    parser.add_argument("--work", type=float, nargs="+", default=[0.3, 0.0], help="seconds between two steps, in turn")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 6, 8])
    parser.add_argument("--steps", type=int, default=30, help="of each number of ranks but the last")
    parser.add_argument("--result", metavar="NAME", help="write benchmarks/results/NAME.json")
    options = parser.parse_args()
    PROCESSES.set_forkserver_preload(PRELOADED)
    if options.litdata:
        require("litdata", "boto3")
        os.environ.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="key", AWS_DEFAULT_REGION="us-east-1")
        os.environ["MAX_WAIT_TIME"] = str(round(2 * options.outage + 60))
        PROCESSES.set_forkserver_preload([*PRELOADED, "litdata"])
    phases = [(n, options.steps) for n in options.ranks[:-1]] + [(options.ranks[-1], None)]
    plan = Plan(
        phases,
        kills=options.kills,
        faults=options.faults,
        outage=options.outage,
        cache=options.cache,
        window=options.window,
        max_frames=options.max_frames,
        work=options.work[0],
    )
    load = f"{os.getloadavg()[0]:.1f}"
    rows = rows_of(options.hours)
    if options.conditions:
        result = by_condition(rows, plan, options)
    else:
        titles = [f"{work:g} s of work" for _ in range(options.rounds) for work in options.work]
        works = [replace(plan, work=work) for work in options.work] * options.rounds
        columns = [measured(rows, options.shards, each, options.limit) for each in works]
        cells = [[name, *(column[name] for column in columns)] for name in columns[0]]
        longest = {
            title: max(float(c[LONGEST]) for c, t in zip(columns, titles, strict=True) if t == title)
            for title in titles
        }
        result = ["", *titles], cells, longest
    ranks = ", then ".join(map(str, options.ranks))
    works_text = " or ".join(f"{work:g}" for work in options.work[: 1 if options.conditions else None])
    packages = ["numpy", "fsspec", "aiohttp", *(["litdata", "boto3"] if options.litdata else [])]
    Result(
        *result,
        f"{len(rows):,} utterances of {options.hours:g} h in {options.shards} shards, {plan.epochs} epochs in windows "
        f"of {plan.window}; {ranks} ranks of {MACHINES} machines, each with a cache of {plan.cache:.0%} of the store; "
        f"{plan.faults:.0%} of the answers with a fault, and none for {plan.outage:g} s; {works_text} s of other work "
        f"after each step. The machine's load was {load} before and {os.getloadavg()[0]:.1f} after.",
        describe_machine(),
        [f"{package} {version(package)}" for package in packages],
    ).show(options.result)


ROOMY = 1.5
"""The size of a cache, of the store, in which nothing is removed."""


def by_condition(rows: Sequence[Row], plan: Plan, options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Return titles, rows and numbers of each condition alone."""
    quiet = replace(plan, phases=[(plan.phases[0][0], None)], kills=0, faults=0.0, outage=0.0, cache=ROOMY)
    conditions = {
        "quiet server": quiet,
        "faults": replace(quiet, faults=plan.faults),
        # Early, because a reader has all that it needs after some steps.
        "outage": replace(quiet, outage=plan.outage, away_at=2),
        "kills": replace(quiet, kills=plan.kills),
        "numbers of ranks": replace(quiet, phases=plan.phases),
        "small cache": replace(quiet, cache=plan.cache),
        "all, room for all": replace(plan, cache=ROOMY),
        "all, small cache": plan,
    }
    cells, longest = [], {}
    for name, condition in conditions.items():
        if options.only is not None and name not in options.only:
            continue
        for reader in ("tts-prep", "litdata")[: 1 + options.litdata]:
            of_reader = replace(condition, reader=reader, restarts=10 if reader == "litdata" else 0)
            found = measured(rows, options.shards, of_reader, options.limit)
            print(name, reader, found, file=sys.stderr, flush=True)
            missing, twice, wrong, died, *_ = found.values()
            longest[f"{name}, {reader}"] = float(found[LONGEST])
            sent = [value for title, value in found.items() if title.startswith("bytes") and died == "0"]
            again = found.get(RESTARTS, "0")
            ended, step = ("yes", found[LONGEST]) if died == "0" else ("no", "")
            cells.append([name, reader, ended, again, missing, twice, wrong, ", ".join(sent), step, found["seconds"]])
    titles = ["condition", "reader", "came to its end", RESTARTS, "missing", "twice", "wrong"]
    return [*titles, "bytes to each machine, of the least", "longest step, s", "seconds"], cells, longest


RESTARTS = "began again by themselves"
LONGEST = "longest step while the server answered, s"


def measured(rows: Sequence[Row], n_shards: int, plan: Plan, limit: float) -> dict[str, str]:
    """Run a plan, and return what was found as cells of a table."""
    work = Path(tempfile.mkdtemp(prefix="tts-prep-chaos-"))
    try:
        store = work / "served" / "voice"
        if plan.reader == "litdata":
            write_litdata(store, rows, n_shards)
        else:
            write_store(store, rows, n_shards=n_shards)
        began = time.monotonic()
        found = run(rows, store, work, plan, limit)
        taken = time.monotonic() - began
    finally:
        shutil.rmtree(work)
    expected = Counter((epoch, row.id) for epoch in range(plan.epochs) for row in rows)
    return {
        "utterances missing in an epoch": f"{sum((expected - found.used).values()):,}",
        "more than once": f"{sum((found.used - expected).values()):,}",
        "with other values": str(len(found.wrong)),
        "ranks that ended by themselves": "; ".join(found.died) or "0",
        LONGEST: f"{found.longest:.1f}",
        **{
            f"bytes to machine {number}, of the least": f"{sent / least:.3f}"
            for number, (sent, least) in enumerate(zip(found.sent, found.least, strict=True))
        },
        **({RESTARTS: str(found.restarts), "why": "; ".join(found.messages)} if plan.restarts else {}),
        "steps": str(found.steps),
        "ranks killed": str(found.kills),
        "seconds": f"{taken:.0f}",
    }


if __name__ == "__main__":
    main()
