"""The workflows of the repository: pinned actions, the Pythons that are claimed, and least permissions."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_the_hash_of_a_commit_and_names_its_version(path: Path) -> None:
    uses = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert uses
    assert [line for line in uses if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_reads_and_only_publishing_may_do_more(path: Path) -> None:
    workflow = read(path.name)
    assert workflow["permissions"] == {"contents": "read"}
    more = {name for name, job in workflow["jobs"].items() if "permissions" in job}
    assert more == {"docs.yml": {"deploy"}, "release.yml": {"publish"}}.get(path.name, set())


def test_every_python_of_the_classifiers_is_tested() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    claimed = re.findall(r"Python :: (3\.\d+)", text)
    matrix = read("ci.yml")["jobs"]["full"]["strategy"]["matrix"]
    assert matrix["python"] == claimed == ["3.10", "3.11", "3.12", "3.13"]


def test_the_commands_of_the_readme_run_before_anything_else_is_installed() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"With git, make and Python .*?```sh\n(.*?)```", readme, re.DOTALL)
    commands = [line.split("#")[0].strip() for line in block.splitlines()]
    assert commands == ["make demo", "make test"]
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    first = [
        line for line in lines if re.search(r"\b(make|pip|apt-get) ", line) and not line.startswith(("#", "  echo"))
    ]
    assert first[: len(commands)] == commands
    bare = read("ci.yml")["jobs"]["bare"]
    install, checkout, *rest = bare["steps"]
    assert bare["container"].endswith("-slim")
    assert install["run"].endswith("install --yes --no-install-recommends git make")
    assert checkout["uses"].startswith("actions/checkout@")
    assert [step["run"] for step in rest] == commands


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_reads_the_makefile_and_knows_its_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)", makefile, re.MULTILINE)
    subprocess.run(["make", "--dry-run", *sorted(set(phony.split()) - {"ljspeech"})], cwd=ROOT, check=True)


def test_targets_that_workflows_run_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in WORKFLOWS:
        for target in re.findall(r"run: make (\w+)", path.read_text(encoding="utf-8")):
            assert f"\n{target}:" in makefile, target


def test_an_audit_fails_if_a_package_could_not_be_audited() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"-m pip_audit (.*)", makefile)
    assert commands
    assert [command for command in commands if not command.startswith("--strict ") or "--skip" in command] == []


def test_a_release_is_built_from_packages_that_are_pinned_by_their_hashes() -> None:
    jobs = read("release.yml")["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["build"]["needs"] == "check"
    commands = [line for step in jobs["build"]["steps"] for line in step.get("run", "").splitlines()]
    installs = [command for command in commands if re.search(r"\b(pip|make|\.ci)\b", command)]
    assert all("--require-hashes" in command and "requirements/release.txt" in command for command in installs)
    assert installs
    # Without isolation, nothing else is installed in order to build.
    assert [command for command in commands if "-m build" in command] == ["python -m build --no-isolation"]
    locked = (ROOT / "requirements" / "release.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w-]+)==\S+", locked, re.MULTILINE)
    assert {"build", "setuptools", "twine"} <= set(pins)
    # Every pin has a hash, on the line behind it.
    assert len(re.findall(r"^[\w-]+==[^\n]*\\\n {4}--hash=sha256:", locked, re.MULTILINE)) == len(pins)


def test_the_slowest_tests_that_start_first_are_there() -> None:
    listed = re.findall(r"^\| `(\w+/test_\w+\.py)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    files = [path.as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    assert listed
    assert [name for name in listed if not any(file.endswith(f"/{name}") for file in files)] == []
