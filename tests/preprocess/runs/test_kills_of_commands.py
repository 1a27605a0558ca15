"""All commands that write to a store are killed at random times: a complete store exists at any time."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from corpora import TEXTS, write_ljspeech
from killing import complaints, contents, session_processes, workers_of

from tts_prep.cli.main import main

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")

SETTINGS = ("--shard-utterances", "2", "--frontend", "characters", "--unknown", "drop")
# By way, the signal and the exit status.
WAYS = {
    "kill everything": (signal.SIGKILL, -signal.SIGKILL),
    "kill the command": (signal.SIGKILL, -signal.SIGKILL),
    "kill a worker": (signal.SIGKILL, 0),
    "terminate": (signal.SIGTERM, 128 + signal.SIGTERM),
    "hang up": (signal.SIGHUP, 128 + signal.SIGHUP),
    "interrupt": (signal.SIGINT, 128 + signal.SIGINT),
}


def start(*arguments: object, temporary: Path | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tts_prep", *map(str, arguments)],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **({"TMPDIR": str(temporary)} if temporary else {})},
    )


def finish(*arguments: object, temporary: Path | None = None) -> None:
    process = start(*arguments, temporary=temporary)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err


def make(*arguments: object) -> None:
    """Run a command in this process."""
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    assert not exit_.value.code


def whole_files(store: Path) -> dict[str, bytes]:
    """Return the files of a store just after a kill, without those that it leaves and the next run removes."""
    files = contents(store)
    return {name: data for name, data in files.items() if not name.endswith(".partial") and name != ".lock"}


@dataclass(frozen=True)
class Operation:
    """A command, and the store before and after it.

    Attributes:
        before: a folder to begin with; copied for each try.
        after: the bytes of all files in the folder of the store when the command has come to its end.
        then: a second command that ends the operation: a part cannot remove what another part may be writing.
        was_whole: the store was whole before, so that it has to have a manifest at every instant.
    """

    arguments: tuple[object, ...]
    before: Path
    after: dict[str, bytes]
    was_whole: bool = True
    then: tuple[object, ...] = ()


@dataclass
class Harness:
    """Runs operations, and kills most of the runs."""

    folder: Path
    operations: dict[str, Operation]
    seed: int
    longest: float = 4.0
    max_tries: int = 4
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    finished: Counter[str] = field(default_factory=Counter)

    @property
    def temporary(self) -> Path:
        """The folder for temporary files, which is empty after a command has finished."""
        return self.folder.parent / "temporary"

    def run(self, kills: int) -> None:
        """Kill runs of each operation until one finishes, at most `max_tries` times."""
        choose = random.Random(self.seed)
        names = sorted(self.operations)
        while sum(self.kills.values()) < kills:
            name = names[sum(self.finished.values()) % len(names)]
            operation = self.operations[name]
            store = self.folder / "store"
            shutil.rmtree(self.folder, ignore_errors=True)
            shutil.rmtree(self.temporary, ignore_errors=True)
            self.temporary.mkdir()
            shutil.copytree(operation.before, store)
            tries = 0
            while tries < self.max_tries and not self.end_once(name, operation, store, choose):
                tries += 1
            finish(*operation.arguments, *self.jobs(name, 1), temporary=self.temporary)
            if operation.then:
                finish(*operation.then, temporary=self.temporary)
            # Nothing is left out: no temporary file, lock or array file may remain.
            assert contents(store) == operation.after, name
            assert not any(self.temporary.iterdir())
            assert [path.name for path in self.folder.iterdir()] == ["store"]
            self.finished[name] += 1
            # What an interrupted soak run has done counts too.
            print(f"{time.strftime('%H:%M:%S')} {sum(self.kills.values())} kills, {name} finished", flush=True)

    @staticmethod
    def jobs(name: str, count: int) -> tuple[object, ...]:
        """Return the option for the number of worker processes, if the command has it."""
        return () if name in ("finish", "reindex") else ("--jobs", count)

    def end_once(self, name: str, operation: Operation, store: Path, choose: random.Random) -> bool:
        """Start the command and kill it after a random time; return whether it finished first."""
        before, way = whole_files(store), choose.choice(tuple(WAYS))
        jobs = self.jobs(name, choose.choice((1, 2, 4)))
        process = start(*operation.arguments, *jobs, temporary=self.temporary)
        until = time.monotonic() + choose.uniform(0.05, self.longest)
        while process.poll() is None and time.monotonic() < until:
            assert not operation.was_whole or (store / "manifest.json").exists(), f"{name}: no store at an instant"
            time.sleep(0.001)
        faster = process.poll() is not None
        victims = workers_of(process.pid) if way == "kill a worker" else [process.pid]
        if not victims:
            way, victims = "kill everything", [process.pid]
        number, status = WAYS[way]
        with contextlib.suppress(ProcessLookupError):
            # As a terminal does with Ctrl-C: to all processes of the command.
            everything = way in ("kill everything", "interrupt")
            (os.killpg if everything else os.kill)(choose.choice(victims), number)
        _, err = process.communicate(timeout=300)
        if way == "interrupt" and "init_import_site" in err:
            # Ctrl-C during Python's own start, before this package could handle it.
            assert (process.returncode, "tts_prep/" in err) == (1, False), err
        else:
            assert "Traceback" not in err or "tts_prep/" not in err, err
            assert process.returncode in (0, status, -number), (way, process.returncode, err)
        if process.returncode in (129, 130, 143):
            assert complaints(err).strip().count("tts-prep: error: interrupted") == 1, err
        deadline = time.monotonic() + 10
        while session_processes(process.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not session_processes(process.pid)
        now = whole_files(store)
        if operation.was_whole:
            assert now in (before, operation.after), f"{name}: neither the old store nor the new one after {way}"
        elif "manifest.json" in now and not operation.then:
            assert now == operation.after
        if not faster:
            self.kills[name, way] += 1
        return faster or way == "kill a worker"


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Operation]:
    folder = tmp_path_factory.mktemp("commands")
    old = write_ljspeech(folder / "old", TEXTS * 2)
    new = write_ljspeech(folder / "new", (*TEXTS * 2, "One more.", "And another."))
    store = folder / "work" / "store"
    for corpus, name in ((old, "a"), (new, "b")):
        make("ljspeech", corpus, folder / name, *SETTINGS, "--jobs", 1)
    for part in ("1/2", "2/2"):
        make("ljspeech", old, folder / "parts", *SETTINGS, "--jobs", 1, "--part", part)
    shutil.copytree(folder / "parts", folder / "part")
    for shard in sorted((folder / "part/shards").iterdir())[::2]:
        shard.unlink()
    shutil.copytree(folder / "a", folder / "broken")
    for name in ("shards/00002.h5", "index.h5"):
        data = bytearray((folder / "broken" / name).read_bytes())
        data[len(data) // 2] ^= 0xFF
        (folder / "broken" / name).write_bytes(data)
    (folder / "empty").mkdir()
    shutil.copytree(folder / "a", folder / "added")
    energy = ("--corpus", old, "--feature", "energy")
    make("add", folder / "added", *energy, "--jobs", 1)
    (folder / "tokens").mkdir()
    for number in range(len(TEXTS) * 2):
        np.save(folder / f"tokens/S-{number:04d}.npy", np.arange(number))
    tokens = ("--array", f"tokens={folder / 'tokens'}")
    for name, options in (("imported", tokens), ("measured", ("--measures",))):
        shutil.copytree(folder / "a", folder / name)
        make("add", folder / name, *options, "--jobs", 1)
    make("ljspeech", new, folder / "updated", *SETTINGS, *energy[2:], "--jobs", 1)
    features = ("--feature", "energy", "--feature", "spectrogram")
    make("ljspeech", new, folder / "arrays", *SETTINGS, *features, "--jobs", 1)
    a, b, with_arrays = (contents(folder / name) for name in ("a", "b", "arrays"))
    again = ("ljspeech", new, store, *SETTINGS)
    return {
        "prepare": Operation(again, folder / "empty", b, was_whole=False),
        "overwrite": Operation((*again, "--overwrite"), folder / "a", b),
        "update with arrays": Operation((*again, "--update"), folder / "added", contents(folder / "updated")),
        "update": Operation((*again, "--update"), folder / "a", b),
        "part": Operation(
            ("ljspeech", old, store, *SETTINGS, "--part", "1/2"),
            folder / "part",
            a,
            was_whole=False,
            then=("finish", store),
        ),
        "finish": Operation(("finish", store), folder / "parts", a, was_whole=False),
        "reindex": Operation(("reindex", store), folder / "a", a),
        "add": Operation(("add", store, *energy), folder / "a", contents(folder / "added")),
        "import": Operation(("add", store, *tokens), folder / "a", contents(folder / "imported")),
        "measures": Operation(("add", store, "--measures"), folder / "a", contents(folder / "measured")),
        "prepare with arrays": Operation((*again, *features), folder / "empty", with_arrays, was_whole=False),
        "overwrite with arrays": Operation((*again, *features, "--overwrite"), folder / "a", with_arrays),
        "repair": Operation(("verify", store, "--repair", old), folder / "broken", a),
    }


def test_a_few_kills_of_every_command_leave_the_old_store_or_the_new_one(
    operations: dict[str, Operation], tmp_path: Path
) -> None:
    store = next(iter(operations.values())).arguments[2]
    some = {name: operations[name] for name in ("overwrite with arrays", "repair", "add")}
    assert isinstance(store, Path)
    Harness(store.parent, some, seed=3, longest=2, max_tries=1).run(3)


@pytest.mark.soak
def test_soak_of_kills_of_add(operations: dict[str, Operation]) -> None:
    store = operations["add"].arguments[1]
    assert isinstance(store, Path)
    harness = Harness(store.parent, {"add": operations["add"]}, seed=int(os.environ.get("SEED", "1")))
    harness.run(int(os.environ.get("KILLS", "60")))
    print(f"\n{dict(harness.kills)}, {dict(harness.finished)}")


@pytest.mark.soak
def test_soak_of_kills_of_every_command(operations: dict[str, Operation]) -> None:
    store = operations["prepare"].arguments[2]
    assert isinstance(store, Path)
    harness = Harness(store.parent, operations, int(os.environ.get("SEED", "1")), float(os.environ.get("LONGEST", "4")))
    started = time.monotonic()
    harness.run(int(os.environ.get("KILLS", "200")))
    print(f"\n{sum(harness.kills.values())} kills in {time.monotonic() - started:.0f} s, {dict(harness.finished)}")
    for (name, way), count in sorted(harness.kills.items()):
        print(f"  {name}, {way}: {count}")
