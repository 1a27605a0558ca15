"""``tts-prep phonemize``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from tts_prep import inference
from tts_prep.cli.options import READ_STORE, with_options
from tts_prep.errors import ConfigurationError, TextError, one_line
from tts_prep.preprocess.option import OptionTable

_LONGEST_LINE = 1 << 20
"""The maximum length of a line of standard input in bytes."""


@click.command()
@click.argument("store", type=READ_STORE)
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@with_options(OptionTable(__file__), "phonemize")
def phonemize(
    store: Path,
    texts: tuple[str, ...],
    language: str | None,
    speaker: str | None,
    normalized: bool,
    explain: bool,
    versions: str,
) -> None:
    r"""Print the ids of each TEXT exactly as STORE would have them: what its model reads.

    STORE is the folder of a store, or its manifest.json alone, which can lie beside a checkpoint. Without TEXT, each
    line of standard input is a text. A text that has no ids gives an empty line, and the reason on stderr; the exit
    status is then 1.

    \b
    Examples:
      tts-prep phonemize store "Printing, in the only sense."
      tts-prep phonemize store --explain "Dr. Smith paid $5."
      tts-prep phonemize manifest.json < sentences.txt > ids.txt
    """
    frontend = inference.frontend_of(store, versions="any" if versions == "any" else "same")
    failed = 0
    for where, text in _texts(texts):
        try:
            found = frontend.read(text, language=language, normalized=normalized, speaker=speaker or "")
        except TextError as error:
            failed += 1
            click.echo(one_line(f"{where}: {error}"), err=True)
            click.echo()
            continue
        for remark in _remarks(found.remarks):
            click.echo(one_line(f"{where}: {remark}"), err=True)
        click.echo("\n".join(_explained(found)) if explain else " ".join(map(str, found.ids)))
    if failed:
        sys.exit(1)


def _texts(texts: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Yield each text with its place: the arguments, or else the lines of standard input."""
    if texts:
        yield from ((f"text {number}", text) for number, text in enumerate(texts, 1))
        return
    if sys.stdin.isatty():
        click.echo("one text a line, Ctrl+D ends:", err=True)
    for number, line in enumerate(iter(lambda: sys.stdin.buffer.readline(_LONGEST_LINE), b""), 1):
        if len(line) == _LONGEST_LINE:
            raise ConfigurationError(f"line {number}: over {_LONGEST_LINE:,} bytes; expected one text a line")
        try:
            yield f"line {number}", line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"line {number}: expected UTF-8 ({error.reason})") from None


def _remarks(remarks: Iterable[tuple[str, str]]) -> list[str]:
    """Return one phrase for each kind of remark."""
    kinds: dict[str, dict[str, None]] = {}
    for kind, what in remarks:
        kinds.setdefault(kind, {})[what] = None
    return [f"{kind.replace('_', ' ')}: {', '.join(map(repr, found))}" for kind, found in kinds.items()]


def _explained(found: inference.Reading) -> list[str]:
    rows = {"text": found.text, "normalized": found.normalized, "phonemes": found.phonemes}
    shown = {name: one_line(text, 1 << 20) for name, text in rows.items()} | {"ids": " ".join(map(str, found.ids))}
    return [f"{name:<11} {text}" for name, text in shown.items()]
