"""Run commands, kill them at random times in several ways, and check the results."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

WAYS = ("kill everything", "kill the command", "kill a worker", "terminate", "interrupt")


def session_processes(session: int) -> list[int]:
    """Return the processes of a session that are not zombies, from /proc."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                state, _, _, sid = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(sid) == session and state not in "ZX":
                    found.append(int(entry.name))
    return found


def workers_of(session: int) -> list[int]:
    """Return the worker processes of a command that is a session leader."""
    found = []
    for process in session_processes(session):
        with contextlib.suppress(OSError):
            if b"multiprocessing.spawn" in Path(f"/proc/{process}/cmdline").read_bytes():
                found.append(process)
    return found


def complaints(err: str) -> str:
    """Return a command's stderr without progress lines, which appear on slow machines."""
    return "".join(line for line in err.splitlines(keepends=True) if "× real time" not in line)


def contents(store: Path) -> dict[str, bytes]:
    """Return the files of a store but `sources.json`, which has times of recordings and is no part of its contents."""
    files = (path for path in sorted(store.rglob("*")) if path.is_file() and path.name != "sources.json")
    return {str(path.relative_to(store)): path.read_bytes() for path in files}


def check_nothing_left(session: int, seconds: float = 60.0) -> None:
    """Wait for the processes of a finished command, and fail if one remains."""
    deadline = time.monotonic() + seconds
    while (left := session_processes(session)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left, f"processes {left} have outlived their command"


@dataclass
class Killer:
    """Runs a command on a store repeatedly, and kills most of the runs.

    Attributes:
        temporary: the folder for temporary files; must be empty when a run has come to its end.
        slowest: seconds that a command took to end after SIGTERM or Ctrl-C, at most.
    """

    corpus: Path
    store: Path
    temporary: Path
    seed: int = 0
    longest: float = 3.5
    kills: Counter[str] = field(default_factory=Counter)
    finished: int = 0
    slowest: float = 0.0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.temporary.mkdir(exist_ok=True)
        self.shared_memory = set(Path("/dev/shm").glob("sem.*"))

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tts_prep", "ljspeech", str(self.corpus), str(self.store)]
        return subprocess.Popen(
            [*command, "--jobs", "2", "--shard-utterances", "5"],
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(self.temporary)},
        )

    def finish(self) -> None:
        """Run the command to completion, and check that it leaves nothing behind."""
        process = self.start()
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert complaints(err) == "", err
        check_nothing_left(process.pid)
        assert not list(self.temporary.iterdir())
        # Those of other programs come and go; what this command leaves would stay.
        deadline = time.monotonic() + 30
        while left := set(Path("/dev/shm").glob("sem.*")) - self.shared_memory:
            assert time.monotonic() < deadline, left
            time.sleep(0.05)
        self.finished += 1

    def kill_once(self, seconds: float = 2.0) -> bool:
        """Start the command and kill it after a random time; return whether it finished first.

        Args:
            seconds: within which the processes have to end that are not killed themselves.
        """
        way = self.random.choice(WAYS)
        process = self.start()
        time.sleep(self.random.uniform(0.05, self.longest))
        if process.poll() is not None:
            _, err = process.communicate()
            assert (process.returncode, complaints(err)) == (0, ""), err
            self.finished += 1
            return True
        if way == "kill a worker":
            workers = workers_of(process.pid)
            if not workers:
                way = "kill everything"
            else:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.random.choice(workers), signal.SIGKILL)
                _, err = process.communicate(timeout=120)
                assert process.returncode == 0, err
                check_nothing_left(process.pid)
                self.kills[way] += 1
                self.finished += 1
                return True
        started = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            if way == "kill everything":
                os.killpg(process.pid, signal.SIGKILL)
            elif way == "kill the command":
                os.kill(process.pid, signal.SIGKILL)
            elif way == "terminate":
                os.kill(process.pid, signal.SIGTERM)
            else:
                # As a terminal does: to all processes of the command.
                os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=120)
        took = time.monotonic() - started
        if way in ("terminate", "interrupt") and process.returncode in (130, 143):
            # Before it, click ends the line in which a terminal shows ^C.
            assert (
                complaints(err)
                .lstrip("\n")
                .startswith("tts-prep: error: interrupted; run the same command again to resume")
            ), err
            assert complaints(err).count("\n") == 2, err
            self.slowest = max(self.slowest, took)
            assert took < seconds, f"{took:.1f} s to end after {way}"
        check_nothing_left(process.pid, seconds)
        self.kills[way] += 1
        return process.returncode == 0
