"""Pieces of HTML. Whatever comes from a store goes through `escaped`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def escaped(text: object) -> str:
    """Return text as the content of an element or of a quoted attribute; what cannot be printed as �."""
    characters = (character if character.isprintable() else _visible(character) for character in str(text))
    return html.escape("".join(characters), quote=True)


def bdi(text: object) -> str:
    """Return text from a store, kept apart from its surroundings in whichever direction it is written."""
    return f"<bdi>{escaped(text)}</bdi>"


def data(name: str, value: float, text: str) -> str:
    """Return a number for people that carries the exact one for programs."""
    return f'<data id="{name}" value="{value!r}">{escaped(text)}</data>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, name: str, numbers: Sequence[int] = ()) -> str:
    """Return a table that scrolls by itself where it is wider than the page.

    Args:
        head: names of the columns, as text.
        rows: cells, as HTML; the first of a row is its header.
        name: what it shows, for those who do not see it.
        numbers: the columns that are aligned to the right.
    """
    side = [' class="number"' if i in numbers else "" for i in range(len(head))]
    lines = ["".join(f"<th scope=col{side[i]}>{escaped(cell)}</th>" for i, cell in enumerate(head))]
    body = [
        "".join(
            f"<th scope=row{side[i]}>{cell}</th>" if i == 0 else f"<td{side[i]}>{cell}</td>"
            for i, cell in enumerate(row)
        )
        for row in rows
    ]
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(name)}"><table>'
        f"<thead><tr>{lines[0]}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in body)}</tbody></table></div>"
    )


def figure(name: str, content: str, caption: str) -> str:
    """Return a figure with an id; the caption is text."""
    return f'<figure id="figure-{name}"><figcaption>{escaped(caption)}</figcaption>{content}</figure>'


def _visible(character: str) -> str:
    return character if character in " \n\t" or character.isspace() else "\N{REPLACEMENT CHARACTER}"
