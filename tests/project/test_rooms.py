"""The walls: what is core, what is a room, and which way their imports go."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from forked_tests import INTERPRETER
from package_trees import PACKAGE, Module, modules
from plugins import install

from tts_prep import doors
from tts_prep.cli.main import cli
from tts_prep.compiler import one_process_at_a_time
from tts_prep.errors import MissingPackageError

ROOT = PACKAGE.parent
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/room.json"))
CORE = ("format", "preprocess", "loader", "cli")
"""The folders of the core."""

ORDER = (
    *("option", "source_utterance"),
    *("audio", "text", "corpora", "features", "configuration", "workers"),
    *("plan", "make", "run"),
)
"""What `tts_prep.preprocess` consists of: each part imports only those before it."""


def is_list_of_names(path: str) -> bool:
    """Return whether a module lists public names, those of the rooms too."""
    return path in ("preprocess/__init__.py", "loader/__init__.py")


def imports_of(module: Module) -> set[str]:
    """Return the modules of tts-prep that a module imports, also in functions and for types."""
    names = [alias.name for node in module.imports if isinstance(node, ast.Import) for alias in node.names]
    names += [
        f"{node.module}.{alias.name}"
        for node in module.imports
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    ]
    return {name.removeprefix("tts_prep.") for name in names if name.startswith("tts_prep.")}


def part_of(path: str) -> str:
    """Return the folder of a module, or its own name if it is in none."""
    return path.replace("/", ".").removesuffix(".py").split(".")[0]


def test_the_folders_are_the_core_and_the_rooms() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {*CORE, *ROOMS}
    assert doors.rooms().keys() == {"core", *ROOMS}


def test_the_core_imports_no_room() -> None:
    core = [path for path in modules() if part_of(path) not in ROOMS and not is_list_of_names(path)]
    assert [(path, name) for path in core for name in imports_of(modules()[path]) if name.split(".")[0] in ROOMS] == []


def test_the_core_names_no_room() -> None:
    named = re.compile(rf"\btts_prep[./]({'|'.join(ROOMS)})\b")
    texts = ((path, text) for path, found in modules().items() if part_of(path) not in ROOMS for text in found.texts)
    assert [(path, text) for path, text in texts if named.search(text)] == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_the_core_and_the_rooms_that_it_declares(room: str) -> None:
    own = (found for path, found in modules().items() if part_of(path) == room)
    used = {name.split(".")[0] for found in own for name in imports_of(found)}
    assert used & set(ROOMS) - {room} == set(doors.rooms()[room].needs)


def test_the_page_says_what_each_room_imports() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`\w+/`(?:, `\w+/`)*) \|.*\|([^|]*)\|$", page, re.MULTILINE)
    found = {name: {*re.findall(r"`(\w+)`", cell)} for names, cell in rows for name in re.findall(r"`(\w+)/`", names)}
    assert {name: found.get(name) for name in ROOMS} == {name: {*doors.rooms()[name].needs} for name in ROOMS}


def test_no_rooms_need_each_other() -> None:
    left = {name: set(room.needs) for name, room in doors.rooms().items()}
    while ready := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in ready:
            del left[name]
    assert left == {}


def test_every_row_goes_through_a_door_that_is_there() -> None:
    assert {door for room in doors.rooms().values() for door in room.rows} == set(doors.kinds())


def test_what_needs_a_room_is_named_as_users_type_it(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = doors.kinds("typed")
    needed = {
        (node.args[0].value, node.args[1].value if isinstance(node.args[1], ast.Constant) else "NAME")
        for found in modules().values()
        for node in found.needs
        if isinstance(node.args[0], ast.Constant)
    }
    assert [pair for pair in sorted(needed) if not {pair[0], " ".join(pair)} & typed.keys()] == [("symbols", "NAME")]
    assert {key.split(" ")[0] for key in typed} <= doors.kinds().keys()
    monkeypatch.setattr(doors, "row", lambda *_: None)
    with pytest.raises(MissingPackageError, match=r"^--corrections and --exclude: no part of this installation; "):
        doors.need("corrections", "chosen")
    with pytest.raises(MissingPackageError, match=r"^a store at a URL \(s3://…\): no part"):
        doors.need("schemes", "s3")


def test_the_command_that_shows_a_store_comes_first_in_its_group() -> None:
    text = CliRunner().invoke(cli, ["--help"]).output
    assert text[text.index("Inspect a store:") :].split()[3] == "info"


def test_every_row_names_what_there_is() -> None:
    for door in doors.kinds():
        for row in doors.rows(door).values():
            assert row.load() is not None if row.place else row.about, (door, row.name)


def test_no_two_rooms_bring_the_same_name() -> None:
    for door in doors.kinds():
        names = [row.name for room in doors.rooms().values() for row in room.rows.get(door, ())]
        assert sorted(names) == sorted(set(names)), door


def test_the_parts_of_preprocess_have_an_order() -> None:
    wrong = []
    for path, found in modules().items():
        if not path.startswith("preprocess/") or path == "preprocess/__init__.py":
            continue
        part = path.split("/")[1].removesuffix(".py")
        for name in imports_of(found):
            target = name.split(".")[1] if name.startswith("preprocess.") else part
            if ORDER.index(target) > ORDER.index(part):
                wrong.append(f"{path} imports {name}")
    assert wrong == []


def test_another_package_brings_a_command_by_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("scratch_word.py").write_text(
        "import click\n@click.command()\ndef word():\n    '''Print a word.'''\n    click.echo('word')\n"
    )
    install(monkeypatch, tmp_path / "site", "scratch", {"tts_prep.commands": {"word": "scratch_word:word"}}, tmp_path)
    context = click.Context(cli)
    assert "word" in cli.list_commands(context)
    command = cli.get_command(context, "word")
    assert command is not None
    assert command.help == "Print a word."
    assert "--debug" in {option for parameter in command.params for option in parameter.opts}


def test_a_command_of_another_package_that_cannot_be_loaded_says_so_when_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path / "site", "scratch", {"tts_prep.commands": {"word": "no_such_module:word"}})
    command = cli.get_command(click.Context(cli), "word")
    assert command is not None
    assert "'word' of no_such_module:word cannot be loaded" in (command.help or "")


NO_FINDER = """
import sys

sys.meta_path[:] = [one for one in sys.meta_path if not getattr(one, "__module__", "").startswith("__editable__")]
"""
"""An installation of the checkout would bring what a copy lacks."""


def without(folder: Path, *rooms: str) -> Path:
    """Copy the project without some rooms and the tests of these rooms, with what is compiled of the others."""
    # A file that another process is writing has one more suffix.
    unfinished = ("*.tmp.*", "*.pyc.*")
    ignored = shutil.ignore_patterns(*unfinished, ".*", "build", "dist", "*.egg-info", "demo")
    with one_process_at_a_time():
        shutil.copytree(ROOT, folder, ignore=ignored)
        if (ROOT / "tts_prep" / "demo").is_dir() and "demo" not in rooms:
            for name in ("tts_prep", "tests"):
                shutil.copytree(ROOT / name / "demo", folder / name / "demo", ignore=ignored)
    for room in rooms:
        shutil.rmtree(folder / "tts_prep" / room, ignore_errors=True)
        shutil.rmtree(folder / "tests" / room, ignore_errors=True)
    (folder / "sitecustomize.py").write_text(NO_FINDER)
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a copy of the project."""
    paths = os.pathsep.join([str(folder), str(folder / "tests")])
    # A fork has imported the package itself.
    inherited = {name: value for name, value in os.environ.items() if name != INTERPRETER}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**inherited, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )


ALONE = """
import sys
from pathlib import Path
import numpy as np
from corpora import write_ljspeech
from tts_prep import doors
from tts_prep.cli.main import cli
from tts_prep.errors import MissingPackageError
from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset

assert [*doors.rooms()] == ["core"], doors.rooms()
write_ljspeech(Path("lj"))
options = ["--jobs", "1", "--frontend", "characters", "--unknown", "drop", "--feature", "energy"]
cli.main(["ljspeech", "lj", "store", *options], standalone_mode=False)
dataset = UtteranceDataset("store")
assert '"marks": "text"' in Path("store/manifest.json").read_text()
batches = DataLoader(dataset, batch_sampler=LengthBucketBatchSampler(dataset.n_frames, max_frames=2000))
assert sorted(uid for batch in batches for uid in batch.ids) == sorted(dataset.id)
assert all(np.isfinite(batch.mel).all() for batch in batches)
cli.main(["--help"], standalone_mode=False)
for asked in (["--lexicon", "lj/metadata.csv"], ["--marks", "error"], ["--marks", "phones"]):
    try:
        cli.main(["ljspeech", "lj", "other", *options, *asked], standalone_mode=False)
    except MissingPackageError as error:
        print(error)
"""


def test_the_core_alone_makes_a_store_of_lj_speech_and_padded_batches(tmp_path: Path) -> None:
    done = run(without(tmp_path / "alone", *ROOMS), "-c", ALONE)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "ljspeech" in done.stdout
    assert not re.search(r"^  (vctk|check|report|export) ", done.stdout, re.MULTILINE)
    # What a text is read with is not left out in silence.
    assert "marks such as <b> stay (--marks: no part of this installation; install all of tts-prep)" in done.stdout
    refused = re.findall(r"^(--\w+): no part of this installation", done.stdout, re.MULTILINE)
    assert refused == ["--lexicon", "--marks", "--marks"]


@cache
def needed(room: str) -> frozenset[str]:
    """Return a room and those that it needs."""
    return frozenset((room,)).union(*(needed(name) for name in doors.rooms()[room].needs))


@cache
def dependents(room: str) -> frozenset[str]:
    """Return a room and those that need it."""
    return frozenset(name for name in ROOMS if room in needed(name))


IMPORTED = re.compile(r"^(?:from|import) tts_prep\.(\w+)(?: import (\([^)]*\)|.*))?", re.MULTILINE)


@cache
def public_names_of_rooms() -> dict[str, str]:
    """Return the room of each public name that a room has."""
    listed = (node for path, found in modules().items() if is_list_of_names(path) for node in found.imports)
    places = [(node.module or "", node.names) for node in listed if isinstance(node, ast.ImportFrom)]
    return {
        name.name: room for place, names in places for room in place.split(".")[1:2] if room in ROOMS for name in names
    }


def imported_rooms(code: str) -> set[str]:
    """Return the rooms of which code without indentation imports something."""
    found = IMPORTED.findall(code)
    rooms = {public_names_of_rooms().get(name, "") for _, names in found for name in re.findall(r"\w+", names)}
    return {*(part for part, _ in found), *rooms} & {*ROOMS}


def imported_at_once(test: Path) -> set[str]:
    """Return the rooms of which a module of tests imports something before its tests run."""
    return imported_rooms(test.read_text(encoding="utf-8"))


def test_the_tests_of_the_core_import_no_room_before_they_run() -> None:
    tests = [path for part in CORE for path in (ROOT / "tests" / part).rglob("test_*.py")]
    assert [path.name for path in tests if imported_at_once(path)] == ["test_advice.py"]


def test_a_test_that_imports_more_rooms_than_its_own_needs_says_so() -> None:
    wrong = []
    for part in (*CORE, *ROOMS):
        own = needed(part) if part in ROOMS else set()
        for path in (ROOT / "tests" / part).rglob("test_*.py"):
            code = path.read_text(encoding="utf-8")
            if "\npytestmark = pytest.mark.whole\n" in code:
                continue
            at_once = imported_rooms(code)
            for block in code.split("\n\n\n"):
                if "\ndef test_" in f"\n{block}" and "mark.whole" not in block:
                    inside = imported_rooms(re.sub(r"^ +", "", block, flags=re.MULTILINE))
                    if more := inside - own - at_once:
                        wrong.append((path.name, block[:80], more))
    assert wrong == []


_NO_TESTS = 5
"""The exit status of pytest if none was left."""

OF_OTHERS = ("corrections", "freshness", "lexicon", "tokenizers")
"""Rooms of which each test uses others."""


def pytest_of(folder: Path, *parts: str) -> list[str]:
    """Return the arguments of pytest for the folders of tests that are left in a copy."""
    gone = {room for room in ROOMS if not (folder / "tts_prep" / room).is_dir()}
    return [
        "-m",
        "pytest",
        "-q",
        "-x",
        "-m",
        "not soak and not whole",
        *(f"--ignore={path}" for path in folder.glob("tests/**/test_*.py") if gone & imported_at_once(path)),
        *(f"tests/{part}" for part in parts if (folder / "tests" / part).is_dir()),
    ]


@pytest.mark.soak
def test_the_tests_of_the_core_pass_without_rooms(tmp_path: Path) -> None:
    folder = without(tmp_path / "alone", *ROOMS)
    done = run(folder, *pytest_of(folder, *CORE))
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.soak
@pytest.mark.parametrize("room", [name for name in ROOMS if (ROOT / "tests" / name).is_dir()])
def test_the_tests_of_a_room_pass_with_no_rooms_but_those_that_it_needs(room: str, tmp_path: Path) -> None:
    folder = without(tmp_path / room, *({*ROOMS} - needed(room)))
    done = run(folder, *pytest_of(folder, room))
    assert done.returncode == (_NO_TESTS if room in OF_OTHERS else 0), done.stdout[-4000:]


def left_out_together() -> list[tuple[set[str], set[str]]]:
    """Return sets of rooms to leave out of a copy together, and whose tests to run there.

    The tests of each part are run without each room that it does not need, though not without each alone. Copies that
    lack one room each would take three times as many runs of all tests.
    """
    untried = {room: {*CORE, *ROOMS} - dependents(room) for room in ROOMS}  # the parts not run without this room yet
    copies = []
    while any(untried.values()):
        gone: set[str] = set()
        for room in sorted(ROOMS, key=lambda room: -len(untried[room])):
            more = gone | dependents(room)
            if sum(len(untried[one] - more) for one in more) > sum(len(untried[one] - gone) for one in gone):
                gone = more
        copies.append((gone, set().union(*(untried[room] for room in gone)) - gone))
        for room in gone:
            untried[room] &= gone
    return copies


@pytest.mark.soak
@pytest.mark.parametrize(("gone", "parts"), left_out_together())
def test_without_rooms_all_tests_but_their_own_pass(gone: set[str], parts: set[str], tmp_path: Path) -> None:
    folder = without(tmp_path / "left", *gone)
    done = run(folder, *pytest_of(folder, *sorted(parts)), "--numprocesses", "auto", "--dist", "worksteal")
    shutil.rmtree(folder)
    assert done.returncode == 0, f"without {sorted(gone)}:\n{done.stdout[-4000:]}"


def test_a_list_of_what_there_is_imports_nothing_of_it() -> None:
    code = "import sys; from tts_prep import doors; doors.rooms(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    ours = {name.removeprefix("tts_prep.") for name in loaded if name.startswith("tts_prep.")}
    assert ours == {"doors", "errors", "public_names"}
    assert not {"numpy", "click"} & set(loaded)
