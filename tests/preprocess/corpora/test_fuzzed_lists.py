"""Mutated lists and imported arrays are read or refused: no other error, no crash, no hang, no excessive memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

COUNT = int(os.environ.get("LISTS", "250"))
SEED = int(os.environ.get("SEED", "1"))
_CHUNK = 5000
HARNESS = Path(__file__).parents[2] / "fuzz_lists.py"


def test_mutated_lists_and_arrays_are_read_or_refused() -> None:
    totals: Counter[str] = Counter()
    # In a process of its own: what crashes it is a failure here, and not the end of all tests.
    for first in range(0, COUNT, _CHUNK):
        command = [sys.executable, HARNESS, str(SEED + first), str(min(_CHUNK, COUNT - first))]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, done.stderr[-3000:]
        result = json.loads(done.stdout)
        totals.update({name: result.get(name, 0) for name in ("read", "refused", "crashed")})
        print(done.stdout, end="")
    assert sum(totals.values()) == COUNT
    # The mutations are neither all harmless nor all fatal.
    assert min(totals["read"], totals["refused"]) > COUNT // 10
