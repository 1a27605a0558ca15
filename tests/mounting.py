"""File systems that tests mount: on Linux, as root, with the commands of util-linux; elsewhere they are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, *what: str) -> Iterator[None]:
    """Mount something at a folder: ``mount WHAT FOLDER``."""
    if not (sys.platform.startswith("linux") and os.getuid() == 0 and shutil.which("mount")):
        pytest.skip("mounts file systems: Linux as root, with the command mount")
    if subprocess.run(["mount", *what, folder], capture_output=True).returncode:
        pytest.skip("may not mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
