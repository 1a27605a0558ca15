"""Mutated lists, arrays, alignments and settings are read or refused: no other error, crash, hang, or much memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SEED = int(os.environ.get("SEED", "1"))
_CHUNK = 5000
TESTS = Path(__file__).parents[1]


@pytest.mark.whole
@pytest.mark.parametrize(("harness", "variable", "short"), [("lists", "LISTS", 125), ("settings", "SETTINGS", 200)])
def test_mutated_files_are_read_or_refused(harness: str, variable: str, short: int) -> None:
    count = int(os.environ.get(variable, str(short)))
    totals: Counter[str] = Counter()
    # In a process of its own: what crashes it is a failure here, and not the end of all tests.
    for first in range(0, count, _CHUNK):
        command = [sys.executable, TESTS / f"fuzz_{harness}.py", str(SEED + first), str(min(_CHUNK, count - first))]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, done.stderr[-3000:]
        result = json.loads(done.stdout)
        totals.update({name: result.get(name, 0) for name in ("read", "refused", "crashed")})
        print(done.stdout, end="")
    assert sum(totals.values()) == count
    # The mutations are neither all harmless nor all fatal.
    assert min(totals["read"], totals["refused"]) > count // 10
