"""Kill every command that writes to a store or a folder: ``kill_commands.py SEED KILLS [--calls] [OPERATION …]``.

Each command runs in a process that is forked from this one, which has imported everything. It is killed at a random
moment, or instead of a random call that changes a file (with a C compiler, by `faults.c`; ``--calls``: this only, so
that the same seed is the same run). Just after a kill, the
folders around the store are compared with what may be there, file by file; nothing is left out. Then the command runs
again, to be killed again, or to its end: the result has the bytes of an undisturbed run, and nothing else is left.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import io
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from killing import complaints, session_processes, workers_of

Tree = Mapping[str, "bytes | None"]
"""Path → bytes of a file, or None for a folder."""

SETTINGS = ("--shard-utterances", 2, "--frontend", "characters", "--unknown", "drop")
NEW, OLD = ".store.replacement", ".store.replaced"
BESIDE = ".out.export"
SOURCES = re.compile(r"sources(-[\w.-]+)?\.json")
PARTIAL = re.compile(r"(.+)\.[0-9a-f]{32}\.partial")
NEVER = 1 << 40
# By way: the signal, and how often it is chosen.
WAYS = {
    "kill at a call": (signal.SIGKILL, 10),
    "kill everything": (signal.SIGKILL, 4),
    "kill the command": (signal.SIGKILL, 2),
    "kill a worker": (signal.SIGKILL, 1),
    "terminate": (signal.SIGTERM, 1),
    "hang up": (signal.SIGHUP, 1),
    "interrupt": (signal.SIGINT, 1),
}


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return everything below a folder. Anything but files and folders is an error.

    Files of sources are whole, and otherwise alike: they have the times of recordings, and the number of the folder.
    """
    found: dict[str, bytes | None] = {}
    for path in sorted(folder.rglob("*")):
        assert path.is_dir() or path.is_file(), path
        assert not path.is_symlink(), path
        data = None if path.is_dir() else path.read_bytes()
        if data is not None and SOURCES.fullmatch(path.name):
            assert json.loads(data)["checksum"], path
            data = b"sources"
        found[path.relative_to(folder).as_posix()] = data
    return found


def below(folder: str, whole: Tree) -> dict[str, bytes | None]:
    """Return the part of a tree below one of its folders, with paths relative to it."""
    return {name.removeprefix(f"{folder}/"): data for name, data in whole.items() if name.startswith(f"{folder}/")}


@dataclass(frozen=True)
class Operation:
    """A command, and the folder around the store before and after it.

    Attributes:
        before: the folder before, or a function that makes it; copied for each round.
        after: what is in it after an undisturbed run.
        calls: the number of calls of that run which change a file.
        seconds: its duration.
        kind: ``replace``, a complete store by another; ``in place``, what makes or completes a store; ``two steps``,
            what makes a store in place or replaces it, and then replaces it; ``export``.
        between: the folder after the first of two steps, or a function that makes it.
        then: a second command that ends the operation: a part cannot remove what another part may be writing.
        refuses: whether the command refuses to be run again when it is done.
        has_jobs: whether it has the option ``--jobs``.
    """

    name: str
    arguments: tuple[object, ...]
    before: Path | Callable[[], Path]
    kind: str = "replace"
    then: tuple[object, ...] = ()
    refuses: bool = False
    has_jobs: bool = True
    between: Path | Callable[[], Path] | None = None
    after: Tree = field(default_factory=dict)
    calls: int = 0
    seconds: float = 0.0

    def command(self, jobs: int = 1) -> tuple[object, ...]:
        return (*self.arguments, "--jobs", jobs) if self.has_jobs else self.arguments


class Expected:
    """What may be in the folder around a store just after a kill.

    Args:
        first, start, after: the folder before the first try, before the killed one, and after an undisturbed run.
    """

    def __init__(self, operation: Operation, first: Tree, start: Tree) -> None:
        self.operation, self.first, self.start, self.after = operation, first, start, operation.after
        self.replaced = tree(operation.between) if isinstance(operation.between, Path) else start
        pools = [below(folder, whole) for folder in ("store", "out") for whole in (first, self.replaced, self.after)]
        # The bytes that each file of a store or an export can have.
        self.finals: dict[str, set[bytes | None]] = {}
        for pool in pools:
            for name, data in pool.items():
                self.finals.setdefault(name, set()).add(data)

    def state(self, now: Tree, *, jobs: int, in_order: bool) -> str:
        """Return which state the folder is in; raise AssertionError for anything that may not be there."""
        tops = {name.partition("/")[0] for name in now}
        kind = self.operation.kind
        if kind == "two steps":
            kind = "replace" if "store/manifest.json" in now else "in place"
        allowed = {"replace": {"store", NEW, OLD}, "in place": {"store"}, "export": {"store", "out", BESIDE}}[kind]
        assert tops <= allowed, f"unexpected: {tops - allowed}"
        partials = {name for name in now if PARTIAL.fullmatch(name)} - self.start.keys()
        assert len(partials) <= (0 if in_order else jobs), partials
        if kind == "export":
            return self._export(now, in_order)
        if kind == "in place":
            return self._in_place(now, in_order)
        return self._replaced(now, in_order)

    def _export(self, now: Tree, in_order: bool) -> str:
        assert below("store", now) == below("store", self.first), "an export has changed the store"
        out, after = below("out", now), below("out", self.after)
        # An empty folder is replaced.
        is_done = out == after and "out" in now
        assert is_done or not out, "the export is there in part"
        for name, data in below(BESIDE, now).items():
            assert name in after, f"{BESIDE}/{name}"
            whole = after[name]
            # Files are written from their beginning to their end.
            is_begun = data is None or (whole is not None and whole.startswith(data))
            assert is_begun, f"{BESIDE}/{name} is not the beginning of its file"
        # What an earlier try has left is removed once the command has begun.
        is_left = BESIDE in now and below(BESIDE, now) != below(BESIDE, self.start)
        assert not (in_order and is_left), f"{BESIDE} is left by a command that was asked to end"
        return "new" if is_done else "old"

    def _in_place(self, now: Tree, in_order: bool) -> str:
        store, after = below("store", now), below("store", self.after)
        self._check_members("store", store, partials=True)
        is_complete = "manifest.json" in store
        files = {name: data for name, data in store.items() if name != ".lock" and not PARTIAL.fullmatch(name)}
        # A part and `finish` may begin with the manifest's files, but a manifest is written last.
        assert not is_complete or files == after, "a manifest without all of its files"
        is_locked = is_complete and ".lock" in store and self.start.get("store/.lock") != store[".lock"]
        assert not (in_order and is_locked), "a complete store is locked by no process"
        return "new" if is_complete else "unfinished"

    def _replaced(self, now: Tree, in_order: bool) -> str:
        store = below("store", now)
        if ".lock" in store:
            lock = store.pop(".lock")
            assert not in_order or self.start.get("store/.lock") == lock, "a complete store is locked by no process"
            self._check_lock(lock)
        first, between, after = (dict(below("store", whole)) for whole in (self.first, self.replaced, self.after))
        olds = [first, between] if self.operation.kind == "two steps" else [between]
        for old in olds:
            old.pop(".lock", None)
        # What is kept beside a store is written when it is complete.
        begun = {name for name in store if (match := PARTIAL.fullmatch(name)) and SOURCES.fullmatch(match[1])}
        assert len(begun) <= (0 if in_order else 1), begun
        store = {name: data for name, data in store.items() if name not in begun}
        assert store in (*olds, after), "neither the old store nor the new one"
        is_new = store == after and store not in olds
        new = below(NEW, now)
        if is_new and new:
            # The names were exchanged, and this is the old store.
            self._check_lock(new.pop(".lock", b""))
            assert new in olds, f"{NEW} is not the old store"
        self._check_members(NEW, new, partials=True)
        self._check_members(OLD, below(OLD, now), partials=False)
        # What has been made is kept for the next run, and an old store is deleted.
        assert not (in_order and OLD in now and OLD not in self.start), f"{OLD} is left"
        return "new" if is_new else "old"

    def _check_members(self, folder: str, members: Tree, *, partials: bool) -> None:
        for name, data in members.items():
            where = f"{folder}/{name}"
            if name == ".lock":
                self._check_lock(data)
            elif name == ".purpose" and folder == NEW:
                assert data is not None, where
                assert re.fullmatch(rb"[0-9a-f]{0,64}", data), where
            elif name == "plan.json" and folder == NEW and self.operation.kind == "two steps":
                # Written before it is known which arrays of the old store are kept.
                assert data is not None, where
                plans = [json.loads(final)["shards"] for final in self.finals[name] if final]
                assert json.loads(data)["shards"] in plans, where
            elif partials and (match := PARTIAL.fullmatch(name)):
                assert match[1] in self.finals, where
                assert data is not None, where
            else:
                assert name in self.finals, f"unexpected: {where}"
                assert data in self.finals[name], f"{where} has other bytes than before and after"

    def _check_lock(self, data: bytes | None) -> None:
        assert data is not None
        assert re.fullmatch(rb"(\d+ %s\n)?" % re.escape(socket.gethostname().encode()), data), data


@dataclass
class Harness:
    """Runs operations, and kills most of the runs.

    Attributes:
        calls_only: whether commands are killed instead of calls only, which are the same ones in every run.
    """

    folder: Path
    seed: int
    faults: ctypes.CDLL | None
    calls_only: bool = False
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    finished: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.work, self.temporary = self.folder / "work", self.folder / "temporary"
        self.err = self.folder / "err"
        self.scratch = re.compile(rf"tts-prep-{os.getuid()}-(\d+)-[a-z0-9_]{{8}}")

    def fork(self, arguments: Sequence[object], kill_at: int = NEVER) -> int:
        """Start a command in a new process, which is killed instead of its call of this number."""
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            return pid
        try:
            os.setsid()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            with self.err.open("wb", buffering=0) as err:
                os.dup2(err.fileno(), 2)
                os.dup2(err.fileno(), 1)
            # Already looked up: for that, Python itself writes a file "blat", which a kill could leave in TMPDIR.
            os.environ["TMPDIR"] = tempfile.tempdir = str(self.temporary)
            if self.faults:
                self.faults.arm_kill(os.fsencode(self.folder), ctypes.c_long(kill_at))
            status = run_command(arguments)
            if self.faults:
                (self.folder / "calls").write_text(str(self.faults.calls_seen()))
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        except BaseException:
            traceback.print_exc()
            os._exit(99)

    def wait(self, pid: int, seconds: float, look: Callable[[], None] = lambda: None) -> int | None:
        """Return the status of a process, negative for a signal; None if it has not ended in this time."""
        until = time.monotonic() + seconds
        while True:
            look()
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > until:
                return None
            time.sleep(0.001)

    def finish(self, arguments: Sequence[object], statuses: tuple[int, ...] = (0,)) -> None:
        """Run a command to its end."""
        status = self.wait(self.fork(arguments), 120)
        assert status in statuses, (status, self.err.read_text(errors="replace"))

    def set_up(self, operation: Operation) -> None:
        before = operation.before() if callable(operation.before) else operation.before
        for folder in (self.work, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
        self.temporary.mkdir()
        shutil.copytree(before, self.work)

    def measured(self, operation: Operation) -> Operation:
        """Run an operation undisturbed; return it with what it makes."""
        between = operation.between() if callable(operation.between) else operation.between
        self.set_up(operation)
        started = time.monotonic()
        self.finish(operation.command())
        values = {"seconds": time.monotonic() - started, "calls": 0}
        if self.faults:
            values["calls"] = int((self.folder / "calls").read_text())
        if operation.then:
            self.finish(operation.then)
        return Operation(**{**vars(operation), **values, "between": between, "after": tree(self.work)})

    def round(self, operation: Operation, tries: int = 3) -> None:
        """Kill an operation some times, and let it finish."""
        self.set_up(operation)
        first = tree(self.work)
        pids: list[int] = []

        def is_refused() -> bool:
            """Return whether what was asked for is complete, although the command had not ended."""
            parts = ("store", "out")
            now = [below(part, tree(self.work)) for part in parts]
            return operation.refuses and now == [below(part, operation.after) for part in parts]

        while len(pids) < tries and not is_refused() and not self.end_once(operation, first, pids):
            pass
        self.finish(operation.command(), (1, 2) if is_refused() else (0,))
        if operation.then:
            self.finish(operation.then)
        now = tree(self.work)
        assert now == operation.after, sorted(set(now.items()) ^ set(operation.after.items()))[:4]
        assert not any(self.temporary.iterdir())
        self.finished += 1

    def end_once(self, operation: Operation, first: Tree, pids: list[int]) -> bool:
        """Start the command and end it; check what is left. Return whether it has come to its end."""
        ways = {way: often for way, (_, often) in WAYS.items() if self.faults or way != "kill at a call"}
        if self.calls_only:
            ways = {"kill at a call": 1}
        (way,) = self.random.choices(tuple(ways), tuple(ways.values()))
        many = not self.calls_only and self.random.random() < 0.05
        jobs = 2 if operation.has_jobs and (way == "kill a worker" or many) else 1
        start = tree(self.work)
        at_call = way == "kill at a call"
        kill_at = self.random.randrange(max(1, operation.calls)) if at_call else NEVER
        pid = self.fork(operation.command(jobs), kill_at)
        pids.append(pid)

        def look() -> None:
            assert operation.kind != "replace" or (self.work / "store/manifest.json").exists(), "no store at an instant"

        # Worker processes are started anew.
        longest = operation.seconds * 1.2 + (3 if jobs == 2 else 0)
        status = self.wait(pid, 120 if at_call else self.random.uniform(0, longest), look)
        if status is None:
            way, status = self.end(pid, way)
        err = self.err.read_text(errors="replace")
        number, _ = WAYS[way]
        assert "Traceback" not in err, err
        assert status in (0, 128 + number, -number), (way, status, err)
        in_order = status == 128 + number
        if in_order:
            assert complaints(err).strip().count("tts-prep: error: interrupted") == 1, err
        deadline = time.monotonic() + 10
        while session_processes(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not session_processes(pid), "a process has outlived its command"
        self.check(operation, Expected(operation, first, start), pids, status, jobs)
        if status != 0 or way == "kill a worker":
            self.kills[operation.name, way] += 1
        return status == 0

    def end(self, pid: int, way: str) -> tuple[str, int]:
        """End a running command in a way; return the way and the status of the command."""
        victims = workers_of(pid) if way == "kill a worker" else [pid]
        if not victims:
            way, victims = "kill everything", [pid]
        with contextlib.suppress(ProcessLookupError):
            # As a terminal does with Ctrl-C: to all processes of the command.
            everything = way in ("kill everything", "interrupt")
            (os.killpg if everything else os.kill)(self.random.choice(victims), WAYS[way][0])
        status = self.wait(pid, 120)
        assert status is not None, f"no end within two minutes of '{way}'"
        return way, status

    def check(self, operation: Operation, expected: Expected, pids: list[int], status: int, jobs: int) -> None:
        """Compare what is there just after a try with what may be there."""
        now = tree(self.work)
        if status == 0:
            other = sorted(name for name, _ in set(now.items()) ^ set(operation.after.items()))
            assert not other or operation.then, f"other files than an undisturbed run has made: {other[:4]}"
        state = "finished" if status == 0 else expected.state(now, jobs=jobs, in_order=status > 0)
        self.states[state] += 1
        for name, data in tree(self.temporary).items():
            scratch, _, inner = name.partition("/")
            match = self.scratch.fullmatch(scratch)
            assert match, f"unexpected: {name}"
            assert int(match[1]) in pids, f"unexpected: {name}"
            # Python's own test of a worker's TMPDIR.
            is_test = bool(re.fullmatch("[a-z0-9_]{8}", inner)) and data in (b"", b"blat")
            assert is_test or (inner, data) == ("", None), f"unexpected: {name}"
            is_own = int(match[1]) == pids[-1]
            assert status < 0 or not is_own, f"left by a command that has ended in order: {name}"
        self.left.update(self.kinds_left(now))

    def kinds_left(self, now: Tree) -> Iterator[str]:
        """Yield what is left besides the files of stores and exports, for the summary."""
        names = {PARTIAL.sub(r"a .partial", name).rpartition("/")[2] for name in now}
        yield from names & {"a .partial", ".lock", ".purpose", NEW, OLD, BESIDE}
        yield from ["a temporary folder"] if any(self.temporary.iterdir()) else []
        yield from [] if names & {"a .partial", ".lock", NEW, OLD, BESIDE} else ["nothing"]

    def summary(self) -> dict[str, object]:
        ways: dict[str, int] = {}
        operations: dict[str, dict[str, int]] = {}
        for (name, way), count in sorted(self.kills.items()):
            ways[way] = ways.get(way, 0) + count
            operations.setdefault(name, {})[way] = count
        return {
            "kills": sum(self.kills.values()),
            "finished": self.finished,
            "ways": ways,
            "states": dict(self.states),
            "left": dict(self.left),
            "operations": operations,
        }


def run_command(arguments: Sequence[object]) -> int:
    """Run a command in this process; return its exit status."""
    from tts_prep.cli.main import main

    try:
        main([str(argument) for argument in arguments])
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)


def run_apart(arguments: Sequence[object]) -> int:
    """Run a command in a forked process; return its exit status."""
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    status = 99
    try:
        status = run_command(arguments)
        atexit._run_exitfuncs()
    finally:
        os._exit(status)


def operations(folder: Path, store: Path) -> Iterator[Operation]:
    """Make corpora and stores in a folder, and yield the operations on a store at this path."""
    from corpora import TEXTS, write_ljspeech

    def made(name: str, *commands: tuple[object, ...], apart: bool = False) -> Callable[[], Path]:
        """Return a function that runs commands on the store, beginning with an empty folder, and copies the folder.

        Args:
            apart: in a process of its own, for what would be closed in every process that is forked later: espeak-ng.
        """

        @cache
        def make() -> Path:
            shutil.rmtree(store.parent, ignore_errors=True)
            store.parent.mkdir()
            for command in commands:
                with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
                    status = run_apart(command) if apart else run_command(command)
                assert status == 0, (command, out.getvalue())
            shutil.copytree(store.parent, folder / name)
            return folder / name

        return make

    @cache
    def part() -> Path:
        shutil.copytree(parts(), folder / "part")
        for shard in sorted((folder / "part/store/shards").iterdir())[::2]:
            shard.unlink()
        return folder / "part"

    @cache
    def broken() -> Path:
        shutil.copytree(whole(), folder / "broken")
        for path in (max((folder / "broken/store/shards").iterdir()), folder / "broken/store/index.h5"):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 0xFF
            path.write_bytes(data)
        return folder / "broken"

    old, new = (write_ljspeech(folder / f"corpus-{count}", TEXTS[:count]) for count in (4, 6))
    one = ("--jobs", 1)
    energy = ("--feature", "energy")
    features = (*energy, "--feature", "spectrogram")
    prepare, again = ("ljspeech", old, store, *SETTINGS), ("ljspeech", new, store, *SETTINGS)
    empty, whole = made("empty"), made("whole", (*prepare, *one))
    measured = made("measured", (*prepare, *one), ("add", store, "--measures"))
    parts = made("parts", *((*prepare, *one, "--part", f"{part}/2") for part in (1, 2)))
    aligned = made("aligned", (*prepare, *one), ("add", store, "--feature", "durations:least=0", *one))
    added = made("added", (*prepare, *one), ("add", store, "--corpus", old, *energy, *one))

    yield Operation("prepare", again, empty, "in place")
    yield Operation("prepare with arrays", (*again, *features), empty, "in place")
    yield Operation("part", (*prepare, "--part", "1/2"), part, "in place", then=("finish", store))
    yield Operation("finish", ("finish", store), parts, "in place", has_jobs=False)
    yield Operation("reindex", ("reindex", store), whole, "in place", has_jobs=False)
    aligning = (*again, "--feature", "durations:least=0")
    yield Operation("prepare with durations", aligning, empty, "two steps", between=made("between", (*again, *one)))
    yield Operation("overwrite", (*again, "--overwrite"), whole)
    yield Operation("overwrite with arrays", (*again, *features, "--overwrite"), whole)
    yield Operation("update", (*again, "--update"), whole)
    yield Operation("update with arrays", (*again, "--update"), added)
    yield Operation("repair", ("verify", store, "--repair", old), broken)
    yield Operation("add", ("add", store, "--corpus", old, *energy), whole)
    yield Operation("add durations", ("add", store, "--feature", "durations:least=0"), whole)
    yield Operation("update with durations", (*again, "--update"), aligned)
    # The module of the model is found as one that a user has installed.
    sys.path.append(str(Path(__file__).parent / "models"))
    model = ("--feature", "model_functions:Codes:levels=9")
    yield Operation("add a model", ("add", store, "--corpus", old, *model), whole)
    yield from tokens(folder, store, made, (*again[:3], *SETTINGS, "--mel", "none"), prepare, model)
    yield Operation("add measures", ("add", store, "--measures"), whole)

    ids = [f"S-{number:04d}" for number in range(4)]
    yield from imports(folder, store, whole, ids)
    table, other = folder / "scores.csv", folder / "other.csv"
    table.write_text("id,wer,grade\n" + "".join(f"{uid},0.{i},{'ab'[i % 2]}\n" for i, uid in enumerate(ids)))
    other.write_text("id,wer\n" + "".join(f"{uid},{i}\n" for i, uid in enumerate(ids)))
    columns = made("columns", (*prepare, *one), ("add", store, "--columns", table))
    both = made("both", (*prepare, *one), ("add", store, "--corpus", old, *energy, *one, "--columns", table))
    yield Operation("add columns", ("add", store, "--columns", table), whole)
    yield Operation("add columns beside others", ("add", store, "--columns", table), measured)
    yield Operation("replace columns", ("add", store, "--columns", other, "--replace"), columns)
    yield Operation("remove a column", ("remove", store, "--columns", "wer"), columns, refuses=True, has_jobs=False)
    yield Operation(
        "remove all columns", ("remove", store, "--columns", "wer,grade"), both, refuses=True, has_jobs=False
    )
    yield Operation("remove an array", ("remove", store, "--array", "energy"), both, refuses=True, has_jobs=False)
    (folder / "out.txt").write_text(f"{ids[1]}\n{ids[2]}\n")
    rows = ("remove", store, "--ids", folder / "out.txt")
    yield Operation("remove rows", rows, both, has_jobs=False)
    yield from exports(
        folder,
        store,
        {name: made(name, *rows, apart=True) for name, rows in own_stores(folder, store, prepare).items()},
    )


def own_stores(folder: Path, store: Path, prepare: tuple[object, ...]) -> dict[str, list[tuple[object, ...]]]:
    """Return the commands that make the stores of layouts which need what others do not: symbols, presets, codes."""
    import numpy as np
    from llama_tokenizer import write_tokenizer

    codes = {f"S-{number:04d}": np.arange(70 + 7 * number, dtype=np.int16).reshape(-1, 7) for number in range(4)}
    np.savez(folder / "seven.npz", **codes)
    np.savez(folder / "one.npz", **{uid: values[:, 0] for uid, values in codes.items()})
    one = ("--jobs", 1)
    llama = ("--mel", "none", "--frontend", f"tokenizer:{write_tokenizer(folder / 'tokenizer.json')}")
    phones = (*SETTINGS[:2], "--frontend", "arpabet", "--symbols", "gpt-sovits-v2", "--unknown", "drop")
    piper = ("--symbols", "piper", "--blanks", "between", "--waveform", "int16")
    return {
        "piper": [(*prepare, *piper, *one)],
        "f5-tts": [(*prepare, "--preset", "f5-tts", *one)],
        "zipvoice": [(*prepare, "--preset", "zipvoice", *one)],
        "gpt-sovits": [
            (*prepare[:3], *phones, *one),
            ("add", store, "--array", f"semantic_tokens@own:25={folder / 'one.npz'}", *one),
        ],
        "orpheus": [
            (*prepare[:3], *SETTINGS[:2], *llama, *one),
            ("add", store, "--array", f"audio_codes@own={folder / 'seven.npz'}", *one),
        ],
    }


def tokens(
    folder: Path,
    store: Path,
    made: Callable[..., Callable[[], Path]],
    again: tuple[object, ...],
    prepare: tuple[object, ...],
    model: tuple[object, ...],
) -> Iterator[Operation]:
    """Yield builds and updates of stores without mels: codes of a model, and codes that a list has, without audio."""
    import numpy as np

    none, one = ("--mel", "none"), ("--jobs", 1)
    alone = made("without mels", (*again, *one))
    coded = made("coded", (*prepare, *none, *one, *model))
    yield Operation("codes of a model", (*again, *model), made("nothing"), "two steps", between=alone)
    updated = made("updated", (*prepare, *none, *one, *model), (*again, *one, "--update"))
    yield Operation("update codes of a model", (*again, *model, "--update"), coded, "two steps", between=updated)
    rng = np.random.default_rng(0)
    rows = [
        {"id": f"T-{i}", "text": f"Text {i}.", "audio_codes": rng.integers(0, 1024, (5 + i, 4)).tolist()}
        for i in range(6)
    ]
    for name, found in (("first", rows[:4]), ("second", [rows[0] | {"audio_codes": [[1, 2, 3, 4]]}, *rows[2:]])):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in found))
    how = (*SETTINGS, *none, "--list", "audio_codes@own:12.5")
    first, second = (("manifest", folder / f"{name}.jsonl", store, *how) for name in ("first", "second"))
    yield Operation("codes of a list", second, made("no codes"), "in place")
    yield Operation("update codes of a list", (*second, "--update"), made("codes", (*first, *one)))


def imports(folder: Path, store: Path, whole: Path, ids: Sequence[str]) -> Iterator[Operation]:
    """Yield the imports of arrays, from a folder, an archive and an HDF5 file."""
    import h5py
    import numpy as np

    (folder / "tokens").mkdir()
    vectors = {uid: np.full(3, number, "f4") for number, uid in enumerate(ids)}
    for number, uid in enumerate(ids):
        np.save(folder / f"tokens/{uid}.npy", np.arange(5 + number))
    np.savez(folder / "vectors.npz", **vectors)
    with h5py.File(folder / "vectors.h5", "w") as file:
        for uid, values in vectors.items():
            file[uid] = values
    sources = {"folder": f"tokens={folder}/tokens", "npz": f"vector@utterance={folder}/vectors.npz"}
    sources["hdf5"] = f"vector@utterance={folder}/vectors.h5"
    for name, source in sources.items():
        yield Operation(f"import from {name}", ("add", store, "--array", source), whole)


def exports(folder: Path, store: Path, own: Mapping[str, Callable[[], Path]]) -> Iterator[Operation]:
    """Yield the exports to every layout, to a new folder or an empty one, of one store or of the layout's own."""
    import numpy as np
    from stores import make_rows, write_store

    from tts_prep.export import LAYOUTS
    from tts_prep.preprocess import Configuration, add_array

    @cache
    def exported() -> Path:
        place = folder / "exported"
        write_store(place / "store", make_rows([7, 3, 9, 4]), waveform=True, configuration=Configuration().as_dict())
        for name in ("pitch", "energy"):
            add_array(place / "store", name, lambda row: 1.0 + np.arange(len(row.mel), dtype="f4"))
        add_array(place / "store", "durations", durations_of, dtype="int32", axis="phoneme")
        # Two kinds of arrays that CosyVoice's layout needs.
        add_array(
            place / "store", "speech_tokens", lambda row: np.arange(len(row.mel), dtype="i4"), dtype="int32", axis="own"
        )
        add_array(place / "store", "speaker_vector", lambda row: np.ones(3, "f4"), row_shape=(3,), axis="utterance")
        return place

    @cache
    def beside_an_empty_folder() -> Path:
        shutil.copytree(exported(), folder / "exported-empty")
        (folder / "exported-empty/out").mkdir()
        return folder / "exported-empty"

    for number, layout in enumerate(LAYOUTS):
        before = own.get(layout, beside_an_empty_folder if number % 2 else exported)
        yield Operation(
            f"export to {layout}",
            ("export", store, store.with_name("out"), "--to", layout),
            before,
            "export",
            refuses=True,
            has_jobs=False,
        )


def durations_of(row: object) -> object:
    import numpy as np

    n_phonemes, n_frames = len(row.phonemes), len(row.mel)  # type: ignore[attr-defined]
    found = np.full(n_phonemes, n_frames // n_phonemes, np.int32)
    found[0] += n_frames - found.sum()
    return found


def faults_library(folder: Path) -> Path | None:
    """Return `faults.c`, compiled; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    source = Path(__file__).with_name("faults.c")
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", folder / "faults.so", source, "-ldl"]
    subprocess.run(command, check=True)
    return folder / "faults.so"


def main(seed: int, kills: int, names: Sequence[str], faults: ctypes.CDLL | None, *, calls_only: bool) -> None:
    # Not a `TemporaryDirectory`, which every forked process would remove at its end.
    folder = Path(tempfile.mkdtemp(prefix="kills-")).resolve()
    try:
        print(json.dumps(killed(Harness(folder, seed, faults, calls_only), kills, names)))
    finally:
        shutil.rmtree(folder)


def killed(harness: Harness, kills: int, names: Sequence[str]) -> dict[str, object]:
    """Kill the operations of these names, or all, in turn; return the summary."""
    made = harness.folder / "made"
    made.mkdir()
    found = [row for row in operations(made, harness.work / "store") if not names or row.name in names]
    assert len(found) >= len(names), f"expected some of {[row.name for row in found]}"
    found = [harness.measured(operation) for operation in found]
    started, used = time.monotonic(), sum(os.times()[:4])
    shown = 0
    while (done := sum(harness.kills.values())) < kills:
        operation = found[harness.finished % len(found)]
        try:
            harness.round(operation)
        except AssertionError as error:
            raise SystemExit(f"seed {harness.seed}, {operation.name}: {error}\n{traceback.format_exc()}") from None
        if done >= shown + 50:
            # What an interrupted run has done counts too.
            shown = done
            print(f"{time.strftime('%H:%M:%S')} {json.dumps(harness.summary())}", file=sys.stderr, flush=True)
    times = {"seconds": round(time.monotonic() - started), "processor": round(sum(os.times()[:4]) - used)}
    return {**harness.summary(), **times}


if __name__ == "__main__":
    # One thread, so that the process can be forked at any time.
    _THREADS = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    if "KILLS_FAULTS" not in os.environ:
        with tempfile.TemporaryDirectory(prefix="kills-") as _folder:
            _library = faults_library(Path(_folder))
            _more = {"LD_PRELOAD": str(_library)} if _library else {}
            _environment = {**os.environ, **_THREADS, **_more, "KILLS_FAULTS": str(_library or "")}
            sys.exit(subprocess.run([sys.executable, *sys.argv], env=_environment).returncode)
    _path = os.environ["KILLS_FAULTS"]
    _names, _faults = [name for name in sys.argv[3:] if name != "--calls"], ctypes.CDLL(_path) if _path else None
    main(int(sys.argv[1]), int(sys.argv[2]), _names, _faults, calls_only="--calls" in sys.argv)
