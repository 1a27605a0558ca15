"""Calls of a user's script with keywords of records, which `make check` checks by mypy; nothing runs them.

Each comment says that mypy finds the mistake of its line; one that it does not find is an error of the check.
"""

from pathlib import Path

import numpy as np

from tts_prep.preprocess import Configuration, Result, add_array, prepare, read_corpus

HERE = Path()


def prepared(config: Configuration) -> Result:
    rows, root = read_corpus("ljspeech", HERE)
    prepare(rows, root, HERE, config, job=2)  # type: ignore[call-arg]
    prepare(rows, root, HERE, config, existing="replace")  # type: ignore[arg-type]
    prepare(rows, root, config=config)  # type: ignore[call-arg]
    return prepare(rows, root, store=HERE, config=config, jobs=2, existing="update", max_failures="2%")


def added() -> object:
    add_array("store", "one", np.ones, time_out=3)  # type: ignore[call-arg]
    add_array("store", "one", np.ones, devices=3)  # type: ignore[arg-type]
    add_array("store", "one", np.ones, typ="int16")  # type: ignore[call-arg]
    return add_array("store", name="one", function=np.ones, dtype="int16", devices=["cpu"], timeout=3, jobs=2)
