"""Test workers compile one at a time."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest


def is_locked(path: Path) -> bool:
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_the_lock_is_held_from_before_the_cache_is_read_until_the_outermost_function_is_compiled(
    tmp_path: Path,
) -> None:
    pytest.importorskip("numba")
    from numba import njit
    from numba.core import event
    from one_compiler import OneCompiler

    path, found = tmp_path / "lock", []
    path.touch()

    class Compilations(event.Listener):
        def on_start(self, event) -> None:
            found.append((event.kind, is_locked(path)))

        on_end = on_start

    one = OneCompiler(path)
    # Listeners are told in turn.
    told = Compilations()
    inner = njit(lambda x: x + 1)
    outer = njit(lambda x: inner(x) * 2)
    one.register()
    event.register("numba:compile", told)
    try:
        assert outer(3) == 8
    finally:
        event.unregister("numba:compile", told)
        event.unregister("numba:compiler_lock", one)
    # Both functions, and one within the other.
    assert found == [("numba:compile", True)] * 4
    assert not is_locked(path)
