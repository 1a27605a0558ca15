"""Mutated recordings are read or refused: no other error, no crash, no hang, no excessive memory."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from forked_tests import forked_python

COUNT = int(os.environ.get("RECORDINGS", "300"))
SEED = int(os.environ.get("SEED", "1"))
_CHUNK = 5000


def test_mutated_recordings_are_read_or_refused() -> None:
    totals = {"read": 0, "refused": 0}
    # In a process of its own: what crashes libsndfile is a failure here, and not the end of all tests.
    for first in range(0, COUNT, _CHUNK):
        program = [*forked_python(), Path(__file__).parents[1] / "fuzzing.py"]
        done = subprocess.run(
            [*program, str(SEED + first), str(min(_CHUNK, COUNT - first))],
            capture_output=True,
            text=True,
            errors="replace",
        )
        assert done.returncode == 0, done.stderr[-2000:]
        # libsndfile prints lines about damaged ALAC.
        (result,) = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
        for name in totals:
            totals[name] += result[name]
        print(done.stdout, end="")
    assert totals["read"] + totals["refused"] == COUNT
    # The mutations are neither all harmless nor all fatal.
    assert min(totals.values()) > COUNT // 20
