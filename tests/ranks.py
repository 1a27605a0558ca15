"""Run a script as each of several ranks of ``torch.distributed``, as torchrun does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from forked_tests import forked_python


def run_ranks(command: Sequence[str], n_ranks: int = 2, folder: Path | None = None) -> list[str]:
    """Return what each rank prints."""
    from torch.distributed import TCPStore

    # The ranks meet at a store of this process, which chooses its port: between the choice and the first rank's start,
    # no other process can take it.
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    shared = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "WORLD_SIZE": str(n_ranks),
        "OMP_NUM_THREADS": "1",
    }
    processes = [
        subprocess.Popen(
            [*forked_python(), *command],
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(n_ranks)
    ]
    try:
        outputs = []
        for process in processes:
            out, err = process.communicate(timeout=300)
            assert process.returncode == 0, err[-3000:]
            outputs.append(out)
        return outputs
    finally:
        for process in processes:
            with process:
                process.kill()
