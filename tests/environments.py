"""Environments that are new, for ``pip install`` lines, with this checkout's package where ``pip`` looks for tts-prep.

Nothing of the checkout can be imported otherwise.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the wheel of this checkout."""
    folder = tmp_path_factory.mktemp("package")
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    asked = subprocess.run([*pip, "download", "--quiet", "--no-deps", "click", "--dest", str(folder / "asked")])
    if asked.returncode:
        pytest.skip("no package index answers")
    subprocess.run(
        [*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder / "wheel"), str(clone)], check=True
    )
    return folder / "wheel"


@pytest.fixture(scope="session")
def terminal(
    package: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[tuple[str, ...]], dict[str, str]]]:
    """Yield a function: ``pip install`` lines → the variables of a terminal in an environment for them.

    The environment is empty at first: the lines are there to be typed, and to share it among those with the same lines.
    One is there at a time.
    """
    found: dict[tuple[str, ...], Path] = {}

    def environment(wanted: tuple[str, ...]) -> dict[str, str]:
        if wanted not in found:
            for old in [*found]:
                shutil.rmtree(found.pop(old))
            found[wanted] = tmp_path_factory.mktemp("environment")
            subprocess.run([sys.executable, "-m", "venv", str(found[wanted])], check=True)
        # Settings of pip say where packages are; nothing else is taken over.
        values = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "LANG"))}
        values["PIP_FIND_LINKS"] = f"{package} {values.get('PIP_FIND_LINKS', '')}".strip()
        values["PATH"] = f"{found[wanted]}/bin:/usr/local/bin:/usr/bin:/bin"
        values["HOME"] = str(tmp_path_factory.mktemp("home"))
        return values

    yield environment
    for path in found.values():
        shutil.rmtree(path)
