"""Extras, groups and the table of dependencies agree."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PYPROJECT["project"]["optional-dependencies"]
TOOLS = {"pytest", "hypothesis", "ruff", "mypy", "sphinx", "build", "twine", "torch"}


def brought(extra: str) -> set[str]:
    """Return the extras that an extra installs, itself included."""
    found = {extra}
    for requirement in map(Requirement, EXTRAS[extra]):
        if requirement.name == "tts-prep":
            found |= {below for name in requirement.extras for below in brought(name)}
    return found


def packages(requirements: list[str]) -> set[str]:
    return {Requirement(text).name.lower() for text in requirements} - {"tts-prep"}


def test_all_installs_every_extra_but_ffmpeg() -> None:
    # Whose wheels bring codecs of video under the GPL.
    assert brought("all") == set(EXTRAS) - {"ffmpeg"}


def test_no_extra_installs_what_only_development_needs() -> None:
    assert {name for extra in EXTRAS for name in packages(EXTRAS[extra])} & TOOLS == set()
    assert not {"dev", "optional", "test", "docs"} & set(EXTRAS)


def test_the_group_dev_has_the_tools_of_the_makefile() -> None:
    groups = PYPROJECT["dependency-groups"]
    included = [entry["include-group"] for entry in groups["dev"]]
    assert set(groups) == {"dev", *included, "audit", "frameworks", "peers", "training"}
    assert packages([text for name in included for text in groups[name]]) >= TOOLS - {"torch"}


def test_every_dependency_of_users_is_in_the_table_of_decisions() -> None:
    page = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8").partition("## Dependencies")[2]
    rows = " ".join(re.findall(r"^\| ([\w, +-]+) \|", page, re.MULTILINE)).lower().split()
    needed = packages(PYPROJECT["project"]["dependencies"])
    for extra in EXTRAS:
        needed |= packages(EXTRAS[extra])
    assert needed - {name.rstrip(",") for name in rows} == set()


def test_every_extra_is_in_the_table_of_installation() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert [extra for extra in EXTRAS if f"`{extra}`" not in page and f"[{extra}]" not in page] == []
