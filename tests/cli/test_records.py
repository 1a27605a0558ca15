"""Options of a command in a file, and the record of their values."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import click
import pytest
from click.testing import CliRunner

from tts_prep.cli.options import takes
from tts_prep.preprocess.option import OptionTable, takes_fields

OPTIONS: dict[str, Any] = {
    "limit": {"help": "The most.", "kind": "int", "metavar": "N"},
    "names": {"help": "A name.", "flags": ["--name", "-n"], "repeated": True},
    "folder": {"help": "Where.", "kind": "Path"},
    "deep": {"help": "Deeply.", "kind": "bool", "default": False},
    "share": {"help": "How much.", "kind": "float", "default": 0.5},
}


@dataclass(frozen=True)
class Wanted:
    limit: int | None = None
    names: tuple[str, ...] = ()
    folder: Path | None = None
    deep: bool = False
    share: float = 0.5


@pytest.fixture
def command(tmp_path: Path) -> click.Command:
    (tmp_path / "options.json").write_text(json.dumps({"wanted": OPTIONS}))

    @click.command()
    @click.argument("word")
    @takes(Wanted, OptionTable(str(tmp_path / "command.py"))["wanted"])
    def command(wanted: Wanted, word: str) -> None:
        """Print what was given."""
        click.echo(f"{word} {wanted}")

    return command


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], Wanted(None, (), None, False, 0.5)),
        (["--limit", "3", "-n", "a", "--name", "b"], Wanted(3, ("a", "b"))),
        (["--folder", "x", "--deep", "--share", "2"], Wanted(folder=Path("x"), deep=True, share=2.0)),
    ],
)
def test_a_function_gets_the_record_of_its_options(command: click.Command, words: list[str], expected: Wanted) -> None:
    result = CliRunner().invoke(command, ["w", *words])
    assert (result.exit_code, result.output) == (0, f"w {expected}\n")


def test_the_help_has_the_options_in_the_order_of_the_file(command: click.Command) -> None:
    text = CliRunner().invoke(command, ["--help"]).output
    flags = ["--limit N", "-n, --name", "--folder", "--deep", "--share"]
    assert sorted(flags, key=text.index) == flags
    assert "[default: 0.5]" in text


@pytest.mark.parametrize(
    ("room", "section", "record"),
    [("additions", "source", "_Source")],
)
def test_the_fields_of_a_record_have_the_names_and_types_of_its_options(room: str, section: str, record: str) -> None:
    module = pytest.importorskip(f"tts_prep.{room}.command")
    kind = getattr(module, record)
    hints = get_type_hints(kind)
    options = OptionTable(module.__file__)[section]
    assert [field.name for field in fields(kind)] == [option.name for option in options]
    for option in options:
        hint = hints[option.name]
        of = [one for one in (get_args(hint) or (hint,)) if one not in (NoneType, Ellipsis)]
        assert (of, get_origin(hint) is tuple) == ([option.kind], option.repeated), option.name


def test_the_options_of_a_repair_are_keywords_of_its_function() -> None:
    command = pytest.importorskip("tts_prep.verification.command")
    repair = pytest.importorskip("tts_prep.verification.repair")
    names = {option.name for option in OptionTable(command.__file__)["repair"]}
    assert names == signature(repair.repair_store).parameters.keys() - {"store", "progress"}


@dataclass(frozen=True, kw_only=True)
class Way:
    """How something is done.

    Attributes:
        deep: whether it is
            done deeply.
        often: how often.
    """

    deep: bool = False
    often: int = 1


@takes_fields(Way)
def do(what: str, way: Way) -> tuple[str, Way]:
    """Do something.

    Args:
        what: what it is.
        way: see `Way`.
    """
    return what, way


def test_a_function_has_the_fields_of_its_record_as_keywords_and_in_its_docstring() -> None:
    assert do("this", often=2) == do(what="this", often=2) == ("this", Way(often=2))
    assert str(signature(do)).replace("'", "") == (
        "(what: str, *, deep: bool = False, often: int = 1) -> tuple[str, Way]"
    )
    assert "    what: what it is.\n    deep: whether it is\n        done deeply.\n    often: how often.\n" in (
        do.__doc__ or ""
    )
    assert "way:" not in (do.__doc__ or "")
    with pytest.raises(TypeError, match=r"do\(\) got an unexpected keyword argument 'dep'"):
        do("this", dep=True)


@pytest.mark.parametrize(
    ("module", "protocol", "name", "record"),
    [
        ("tts_prep.preprocess.run", "Prepare", "prepare", "Asked"),
        pytest.param("tts_prep.additions.add_arrays", "AddArray", "add_array", "ModelRun", marks=pytest.mark.whole),
    ],
)
def test_type_checkers_see_the_parameters_of_a_function_that_takes_fields(
    module: str, protocol: str, name: str, record: str
) -> None:
    types, function = import_module(module), getattr(import_module(module), name)
    call = signature(getattr(types, protocol).__call__)
    shown = {
        name: (of.annotation, of.default)
        for name, of in call.parameters.items()
        if name != "self" and of.kind is of.POSITIONAL_OR_KEYWORD
    }
    fields = signature(getattr(types, record)).parameters
    own = {name: of for name, of in signature(function).parameters.items() if name not in fields}
    assert shown == {name: (of.annotation, of.default) for name, of in own.items()}
    assert str(call.return_annotation) == str(signature(function).return_annotation)


def test_an_option_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "options.json").write_text(json.dumps({"wanted": {"table": {"help": "A table.", "kind": "dict"}}}))
    with pytest.raises(KeyError, match="dict"):
        OptionTable(str(tmp_path / "command.py"))["wanted"]
