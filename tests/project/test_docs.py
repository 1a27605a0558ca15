"""Run all commands and Python code of README and docs/, in order."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import run
from forked_commands import served
from pages import MARKS, PAGES, blocks, write_as_lj_speech

from tts_prep.cli.main import cli

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared/data/ljspeech-mini"

# What a page does to the machine is not done again by its test: the make targets are those of .ci/run, pip installs
# what the tests run in. That the targets exist is checked.
SHELL = f"""
set -euo pipefail
export PYTHONPATH={ROOT}
make() {{ grep -q "^$1:" {ROOT}/Makefile; }}
pip() {{ test "$1" = install; }}
python3() {{ test "$1 $2" = "-m venv"; mkdir -p "$3/bin"; touch "$3/bin/activate"; }}
"""


FRAMEWORKS = ("accelerate", "lightning", "torchdata", "transformers")
NEEDS_TORCH = re.compile(r"^(?:import|from) torch\b|output=\"torch\"", re.MULTILINE)


@pytest.fixture(scope="session")
def tts_prep(compiler_lock: Path) -> Iterator[list[str]]:
    """Yield the command that takes the place of ``tts-prep``, and of ``python`` for scripts."""
    with served(compiler_lock.with_name("commands"), compiler_lock) as command:
        yield command


def commands(page: Path, folder: Path, tts_prep: list[str], *, torch: bool = True) -> Iterator[tuple[str, list[str]]]:
    """Yield the language and the command of each block; Python blocks in a row are one command, for fewer imports.

    Those that need torch are left out unless it is there.
    """
    scripts: list[str] = []
    shell = f'{SHELL}tts-prep() {{ {shlex.join(tts_prep)} "$@"; }}\n'
    for number, (language, mark, content) in enumerate(blocks(page)):
        if language == "python":
            compile(content, str(page), "exec")
        if mark in MARKS and mark:
            continue
        if language == "python":
            if re.search(rf"^(?:import|from) ({'|'.join(FRAMEWORKS)})\b", content, re.MULTILINE):
                # These take seconds to import: tests/loader/test_frameworks.py runs the page where they are needed.
                assert page.name == "frameworks.md"
                continue
            if torch or not NEEDS_TORCH.search(content):
                script = folder / f"block-{number}.py"
                script.write_text(content, encoding="utf-8")
                scripts.append(str(script))
        elif language == "sh":
            if scripts:
                yield "python", [*tts_prep, "--python", *scripts]
                scripts = []
            # Each worker process takes a second to start, and what they do is tested elsewhere.
            yield "sh", ["bash", "-c", shell + re.sub(r"--jobs \d+", "--jobs 1", content)]
    if scripts:
        yield "python", [*tts_prep, "--python", *scripts]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if {"sh", "python"} & {language for language, *_ in blocks(page)}],
    ids=lambda page: page.name,
)
def test_every_command_and_code_block_of_a_page_runs(
    page: Path, demo_corpus: Path, tts_prep: list[str], tmp_path: Path
) -> None:
    scripts, folder = tmp_path / "scripts", tmp_path / "folder"
    scripts.mkdir()
    folder.mkdir()
    # A minute instead of LJ Speech; three where a page trains a model.
    write_as_lj_speech(demo_corpus, folder / "LJSpeech-1.1", None if page.name == "tutorial.md" else 14)
    if page.name == "tutorial.md":
        # `tts-prep demo` keeps a corpus that is there; tests/demo/test_demo.py has it made.
        (folder / "demo").mkdir()
        (folder / "demo/corpus").symlink_to(demo_corpus)
    done: list[str] = []
    torch = importlib.util.find_spec("torch") is not None
    for language, command in commands(page, scripts, tts_prep, torch=torch):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, f"{page.name}:\n{command[-1]}\n{run.stdout}\n{run.stderr}"
        done.append(language)
    if page.name in ("README.md", "tutorial.md", "coming-from.md"):
        assert {"sh", "python"} <= set(done)
    without = sum(language == "python" and bool(NEEDS_TORCH.search(content)) for language, _, content in blocks(page))
    if without and not torch:
        pytest.skip(f"could not import 'torch' for {without} blocks of {page.name}")


@pytest.mark.soak
@pytest.mark.skipif(not REAL.is_dir(), reason="needs clips of LJ Speech")
def test_the_code_of_the_tutorial_runs_on_real_clips(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    make = [sys.executable, "-m", "tts_prep", "ljspeech", str(REAL), "store", "--waveform", "int16", "--jobs", "1"]
    check = [sys.executable, "-m", "tts_prep", "check", "store", "--ids", "suspects.txt"]
    scripts = [content for language, _, content in blocks(ROOT / "docs/tutorial.md") if language == "python"]
    for command in (make, check, *([sys.executable, "-c", script] for script in scripts)):
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)


def test_the_languages_of_all_blocks_are_known() -> None:
    # A block of another language would be run by no test.
    found = [(page.name, block) for page in PAGES for block in blocks(page)]
    assert {block.language for _, block in found} <= {"sh", "python", "text", "json", "toml", "mermaid"}
    assert [(page, block) for page, block in found if block.mark not in MARKS and not block.mark.endswith(".py")] == []


def test_no_block_uses_modules_as_attributes_of_the_package() -> None:
    # It runs in a process that has imported all of them, where the package has each, imported by the block or not.
    found = [
        page.name
        for page in PAGES
        for language, _, content in blocks(page)
        for node in (ast.walk(ast.parse(content)) if language == "python" else ())
        if (isinstance(node, ast.Name) and node.id == "tts_prep")
        or (isinstance(node, ast.Import) and any(alias.name == "tts_prep" for alias in node.names))
    ]
    assert found == []


def test_no_command_is_in_a_block_that_no_test_reads() -> None:
    indented = re.compile(r"^    (?:tts-prep|pip|from|import) .*", re.MULTILINE)
    texts = {page.name: re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S) for page in PAGES}
    assert {name: found for name, text in texts.items() if (found := indented.findall(text))} == {}


def test_pages_are_named_in_lower_case_with_hyphens() -> None:
    names = [path.name for path in (ROOT / "docs").glob("*") if path.suffix in (".md", ".rst")]
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*\.(md|rst)", name)] == []


def test_links_lead_somewhere() -> None:
    broken = []
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)]+)\)", text):
            path, _, anchor = target.partition("#")
            if path.startswith("https://") or not path:
                continue
            file = (page.parent / path).resolve()
            if not file.exists():
                broken.append(f"{page.name}: {target}")
            elif anchor:
                heads = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
                if anchor not in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}:
                    broken.append(f"{page.name}: {target}")
    assert broken == []


def test_words_that_users_type_are_in_the_index_of_the_search_and_lead_to_one_place() -> None:
    rows = re.findall(r"^\| (.+) \| \[.+\]\(.+\) \|$", (ROOT / "docs" / "words.md").read_text("utf-8"), re.MULTILINE)
    words = [word for row in rows for word in row.split(", ")]
    typed = "DDP|OOM|44.1 kHz|multi-speaker|pad value|hop length|phoneme dictionary|mel mismatch with vocoder|resume"
    assert {*typed.split("|"), "durations"} <= {*words}
    assert len(words) == len({word.lower() for word in words})


def made_by(page: str) -> Any:
    """Return the script that makes a page."""
    spec = importlib.util.spec_from_file_location(f"make_{page}", ROOT / "docs" / f"make_{page}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["check", "export", "presets", "recipes", "symbols"])
def test_a_page_that_a_script_makes_is_what_the_script_makes_now(page: str) -> None:
    module = made_by(page)
    made = getattr(module, f"{page}_page")()
    assert module.PAGE.read_text(encoding="utf-8") == made, f"run python docs/make_{page}.py"


def test_the_comparisons_have_the_cells_and_versions_that_a_script_reads_in_code() -> None:
    spec = importlib.util.spec_from_file_location("comparison", ROOT / "conformance/comparison.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.not_in_readme() == []
    heads = re.findall(r"^\| \| tts-prep \| (.*) \|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert {title for head in heads for title in head.split(" | ")} - {"custom script"} == set(module.PACKAGES)
    assert {cell.tool for cell in module.CELLS} == set(module.PACKAGES)


def test_tables_and_graphs_of_benchmarks_are_those_of_the_results() -> None:
    module = made_by("benchmarks")
    results = module.read_results()
    page = module.PAGE.read_text(encoding="utf-8")
    assert page == module.filled(page, results), "run python docs/make_benchmarks.py"
    for name, made in module.plots(results).items():
        drawn = (module.IMAGES / f"{name}.svg").read_text(encoding="utf-8")
        assert drawn == made, f"{name}.svg: run python docs/make_benchmarks.py"
        assert f"images/{name}.svg" in page
    times = sorted((float(cells[-2]), cells[0].partition(",")[0]) for cells in results["own-loaders"].rows)
    (least, first), (most, last) = times[0], times[-1]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"need {least:g} times ({first}) to {most:.0f} times ({last}, " in readme


def test_every_command_is_named_in_the_documentation() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in cli.commands if f"tts-prep {name}" not in text] == []


def test_the_picture_of_a_terminal_shows_what_its_commands_print_today(
    demo_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lasting(text: str) -> list[str]:
        """Return the lines but for times, and what other versions of libraries change."""
        # A terminal has a width.
        lines = re.sub(r"\n {12}", " ", text).splitlines()
        return [line for line in lines if line and not line.startswith(("made in ", "made by ", "fingerprint "))]

    image = pytest.importorskip("PIL.Image")
    picture = image.open(ROOT / "docs/images/terminal.png").text["Description"]
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/corpus").symlink_to(demo_corpus)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    printed = []
    for command in made_by("pictures").COMMANDS:
        status, out, err = run(capsys, *command.replace("--jobs 2", "--jobs 1").split())
        assert status == 0, err
        printed.append(f"$ tts-prep {command}\n{out}{err}")
    assert lasting(picture) == lasting("\n".join(printed)), "run python docs/make_pictures.py"


def test_pictures_are_small() -> None:
    for picture in (ROOT / "docs" / "images").glob("*.png"):
        assert picture.stat().st_size < 300_000, picture.name
