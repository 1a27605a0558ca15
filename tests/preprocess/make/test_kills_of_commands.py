"""All commands that write to a store or a folder are killed at random: what is there is complete at any time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")

HARNESS = Path(__file__).parents[2] / "kill_commands.py"


def kill(folder: Path, seed: int, kills: int, *operations: str) -> dict[str, Any]:
    """Kill commands in a process of its own, from which they are forked; return what was killed."""
    command = [sys.executable, HARNESS, str(seed), str(kills), *operations]
    # Where the folders of tests are, which may be memory.
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.whole
@pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="needs a C compiler")
def test_a_few_kills_of_commands_leave_the_old_or_the_new_and_nothing_else(tmp_path: Path) -> None:
    # Instead of calls that the seed chooses; the soak test kills all commands, at any instant.
    found = kill(tmp_path, 3, 9, "--calls", "overwrite with arrays", "remove a column", "export to lhotse")
    assert found["kills"] >= 9
    # A try that is complete when it is killed is followed by the next command.
    assert len(found["operations"]) == 3


@pytest.mark.soak
def test_soak_of_kills_of_every_command(tmp_path: Path) -> None:
    found = kill(tmp_path, int(os.environ.get("SEED", "1")), int(os.environ.get("COMMAND_KILLS", "500")))
    print(f"\n{json.dumps(found, indent=1)}")
    # Each of the commands, in nearly as many rounds as the others.
    assert len(found["operations"]) >= 50
