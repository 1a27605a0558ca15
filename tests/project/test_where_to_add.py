"""Small additions to a copy of the package, each where docs/architecture.md says: a new file, and a line elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from stores import make_rows, write_store

ROOT = Path(__file__).parents[2]


def added(path: Path, before: str, line: str) -> None:
    """Insert a line before the first line that starts with a text, as an author of the component would."""
    text = path.read_text(encoding="utf-8")
    assert f"\n{before}" in text, f"{path}: no {before!r}"
    path.write_text(text.replace(f"\n{before}", f"\n{line}\n{before}", 1), encoding="utf-8")


def a_corpus(package: Path) -> str:
    folder = package / "preprocess" / "corpora"
    folder.joinpath("scratch.py").write_text(
        "from tts_prep.preprocess.corpora.corpus import Corpus\n"
        "from tts_prep.preprocess.corpora.source_utterance import SourceUtterance\n"
        "def read(root):\n    yield SourceUtterance('a', 'A text.', 'a.wav', 'here', 'someone')\n"
        "CORPUS = Corpus('scratch', read, 'Make STORE of the scratch corpus at CORPUS.')\n"
    )
    added(folder / "registry.py", '    "ljspeech",', '    "scratch",')
    return (
        "from pathlib import Path; from tts_prep.preprocess import read_corpus\n"
        "rows, _ = read_corpus('scratch', Path('.')); assert [row.id for row in rows] == ['a']\n"
        "from tts_prep.cli.main import cli; assert 'scratch corpus' in cli.commands['scratch'].help\n"
    )


def a_frontend(package: Path) -> str:
    folder = package / "preprocess" / "text" / "frontends"
    folder.joinpath("scratch.py").write_text(
        "from tts_prep.preprocess.text.frontends.characters import CharactersFrontend\n"
        "class ScratchFrontend(CharactersFrontend):\n    '''Letters.'''\n"
    )
    added(
        folder / "registry.py",
        '    "espeak": ',
        '    "scratch": FrontendEntry("scratch", "ScratchFrontend", "letters"),',
    )
    return "from tts_prep.preprocess import get_frontend; assert get_frontend('scratch').phoneticize('ab') == 'ab'"


def a_symbol_table(package: Path) -> str:
    folder = package / "preprocess" / "text" / "symbols"
    folder.joinpath("tables", "scratch.txt").write_text("_\na\nb\n")
    added(
        folder / "catalogue.py",
        '    SymbolTable(\n        "styletts2"',
        '    SymbolTable("scratch", "a test", "here", "MIT", pad="_"),',
    )
    return (
        "from tts_prep.preprocess import get_frontend\n"
        "assert len(get_frontend('characters', symbols='scratch').vocab) == 3\n"
    )


def a_preset(package: Path) -> str:
    path = package / "preprocess" / "audio" / "presets.py"
    added(path, '    Preset(\n        "parakeet"', '    Preset("scratch", MelConfig(win_length=512), "Scratch: here"),')
    return "from tts_prep.preprocess import PRESETS; assert PRESETS['scratch'].win_length == 512"


def a_measure(package: Path) -> str:
    line = '    Measure("scratch", "s", "store", lambda found: 2 * found.seconds, "Twice the length."),'
    added(package / "checks" / "catalogue.py", '    Measure(\n        "phones"', line)
    return (
        "from tts_prep.checks import measure; from tts_prep.loader import UtteranceDataset\n"
        "dataset = UtteranceDataset('store'); values = measure(dataset).columns['scratch']\n"
        "assert (values == 2 * dataset.seconds).all()\n"
    )


def an_export_layout(package: Path) -> str:
    folder = package / "export"
    folder.joinpath("scratch.py").write_text(
        "def export_scratch(dataset, folder):\n    folder.write('ids', '\\n'.join(dataset.id).encode())\n"
    )
    path = folder / "layouts.py"
    added(path, '    "espnet"', '    "scratch": export_scratch,')
    added(path, "from tts_prep.export.webdataset", "from tts_prep.export.scratch import export_scratch")
    return (
        "from tts_prep.export import export\n"
        "assert [path.name for path in export('store', 'scratch', 'new')] == ['ids']\n"
    )


def a_recipe(package: Path) -> str:
    folder = package / "recipes"
    folder.joinpath("scratch.py").write_text("class ScratchDataset:\n    '''Examples.'''\n")
    path = folder / "__init__.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"^(_NAMES = \{)$", r'\1\n    "scratch": ("ScratchDataset",),', text, flags=re.MULTILINE))
    return "from tts_prep.recipes import ScratchDataset"


def a_command(package: Path) -> str:
    commands = package / "cli" / "commands"
    commands.joinpath("scratch.py").write_text(
        "import click\n@click.command()\ndef scratch():\n    '''Print a word.'''\n    click.echo('scratched')\n"
    )
    path = package / "cli" / "main.py"
    added(path, "from tts_prep.cli.commands.symbols", "from tts_prep.cli.commands.scratch import scratch")
    added(path, "    *COMMANDS.values(),", "    scratch,")
    return "import sys; sys.argv = ['tts-prep', 'scratch', '--help']; from tts_prep.__main__ import main; main()"


ADDITIONS = (a_corpus, a_frontend, a_symbol_table, a_preset, a_measure, an_export_layout, a_recipe, a_command)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package and a store."""
    folder = tmp_path_factory.mktemp("scratch")
    shutil.copytree(ROOT / "tts_prep", folder / "tts_prep", ignore=shutil.ignore_patterns("__pycache__"))
    write_store(folder / "store", make_rows([5, 6]), waveform=True)
    return folder


@pytest.mark.parametrize("add", ADDITIONS, ids=lambda add: add.__name__)
def test_an_addition_where_the_architecture_says_is_complete(scratch: Path, add: Callable[[Path], str]) -> None:
    code = f"import sys; sys.path.insert(0, {str(scratch)!r})\n{add(scratch / 'tts_prep')}"
    environment = {**os.environ, "PYTHONPATH": str(scratch), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=scratch, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_files_that_the_architecture_names_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = [
        f"/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "tts_prep").rglob("*") if path.name != "NAME.txt"
    ]
    folders = re.findall(r"^\| [^|]+ \| `([\w/]+)/`", page, re.MULTILINE)
    files = [name for name in re.findall(r"`([\w/]+\.py)`", page) if not name.startswith("tests/")]
    assert len(folders) > 10
    assert len(files) > 20
    assert [name for name in (*folders, *files) if not any(path.endswith(f"/{name}") for path in paths)] == []
