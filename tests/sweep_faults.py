"""Build a store with a fault at the first write, then the second, and so on; used by test_full_disk.py.

    python sweep_faults.py FAULTS.so CORPUS FOLDER [ERRNO STAYS STEP …]

Each store is then finished without a fault, and must have the bytes of an undisturbed one. Prints the number of writes
for each kind of fault.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from killing import contents

from tts_prep.errors import WriteError
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare


def main() -> None:
    faults = ctypes.CDLL(sys.argv[1])
    corpus, folder, numbers = Path(sys.argv[2]), Path(sys.argv[3]), [*map(int, sys.argv[4:])]
    config = Configuration(limit=2, store=StoreConfig(shard_utterances=1))

    def make(store: Path) -> None:
        prepare(read_ljspeech(corpus), corpus, store, config)

    make(folder / "whole")
    whole = contents(folder / "whole")
    for kind in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        print(sweep(faults, folder / "store", whole, make, *kind))


def sweep(
    faults: ctypes.CDLL,
    store: Path,
    whole: dict[str, bytes],
    make: Callable[[Path], None],
    code: int,
    stays: int,
    step: int,
) -> int:
    """Make stores with a fault at every so many writes; return the number of the first that came too late."""
    number = 0
    while True:
        faults.arm_fault(os.fsencode(store), ctypes.c_long(number), code, stays)
        try:
            make(store)
        except WriteError as error:
            message = str(error)
            assert os.strerror(code) in message, message
            assert message.startswith(str(store)), message
        else:
            # A failure to give the lock back, or to name its holder, costs nothing.
            fired = faults.fault_fired()
            faults.arm_fault(b"", ctypes.c_long(-1), 0, 0)
            assert contents(store) == whole
            if not fired:
                shutil.rmtree(store)
                return number
        faults.arm_fault(b"", ctypes.c_long(-1), 0, 0)
        if (store / "manifest.json").exists():
            # Only the flush of the folder can have failed after the rename.
            assert contents(store).items() >= whole.items()
        make(store)
        assert contents(store) == whole, number
        shutil.rmtree(store)
        number += step


main()
