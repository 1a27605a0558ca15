"""Packages with entry points, added to the path as pip does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest


def install(
    monkeypatch: pytest.MonkeyPatch, site: Path, name: str, points: Mapping[str, Mapping[str, str]], *modules: Path
) -> None:
    """Add a package to the path.

    Args:
        site: the folder of its metadata, which is made.
        name: the name of the package.
        points: group → name → ``MODULE:OBJECT``.
        modules: folders of its modules.
    """
    information = site / f"{name.replace('-', '_')}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line for group, named in points.items() for line in (f"[{group}]", *(f"{k} = {v}" for k, v in named.items()))
    ]
    (information / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for folder in (site, *modules):
        monkeypatch.syspath_prepend(str(folder))
