"""Format-aware changes to every file of a store, with valid and invalid checksums; see mutations.py."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from forked_tests import forked_python

HARNESS = Path(__file__).with_name("mutations.py")


def run(count: int, seed: int) -> None:
    # In a process of its own: its death would be the fault that is looked for.
    done = subprocess.run(
        [*forked_python(), "-W", "error", str(HARNESS), str(count), str(seed)], capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


@pytest.mark.whole
def test_a_changed_store_is_read_or_refused_in_one_line() -> None:
    run(60, 1)


@pytest.mark.soak
def test_a_changed_store_is_read_or_refused_in_one_line_many_times() -> None:
    run(int(os.environ.get("MUTATIONS", "20000")), 2)
