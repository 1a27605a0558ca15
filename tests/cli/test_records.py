"""Options of a command as the fields of a record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tts_prep.cli.options import option, options_of, takes


@dataclass(frozen=True)
class Wanted:
    limit: int | None = option("The most.", metavar="N")
    names: tuple[str, ...] = option("A name.", default=(), flags=("--name", "-n"))
    folder: Path | None = option("Where.")
    deep: bool = option("Deeply.", default=False)
    share: float = option("How much.", default=0.5)


@click.command()
@click.argument("word")
@takes(Wanted)
def command(wanted: Wanted, word: str) -> None:
    """Print what was given."""
    click.echo(f"{word} {wanted}")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], Wanted(None, (), None, False, 0.5)),
        (["--limit", "3", "-n", "a", "--name", "b"], Wanted(3, ("a", "b"))),
        (["--folder", "x", "--deep", "--share", "2"], Wanted(folder=Path("x"), deep=True, share=2.0)),
    ],
)
def test_a_function_gets_the_record_of_its_options(words: list[str], expected: Wanted) -> None:
    result = CliRunner().invoke(command, ["w", *words])
    assert (result.exit_code, result.output) == (0, f"w {expected}\n")


def test_the_help_has_the_options_in_the_order_of_the_fields() -> None:
    text = CliRunner().invoke(command, ["--help"]).output
    flags = ["--limit N", "-n, --name", "--folder", "--deep", "--share"]
    assert sorted(flags, key=text.index) == flags
    assert "[default: 0.5]" in text


def test_a_type_that_is_no_kind_of_option_is_refused() -> None:
    @dataclass(frozen=True)
    class Wrong:
        table: dict[str, str] = option("A table.")

    with pytest.raises(TypeError, match="table: .* is not the type of an option"):
        options_of(Wrong)
