"""The messages of the package that name a command or an option of tts-prep: what they tell somebody to type.

Each has a row in ``cli/test_advice.py``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "tts_prep"
# A command, an option with what is beside it, an extra, or a command that the message does not name.
_ADVICE = re.compile(
    r"tts-prep [a-z{]|(?:^|[\s('/,])--[a-z{][\w-]*|pip install|\b(?:run|make) [^.;]*\bagain\b|"
    r"\bthe command that makes\b",
)
# One of these stands in the source of each such text. Statements without are not looked at: that takes seconds.
_WORDS = re.compile(r"tts-prep|--|\bpip\b|again|makes")
# The functions whose texts are help, which is no message: it is printed in no state, and docs and help have tests of
# their own.
_HELP = {"option", "Option", "Corpus", "argument", "command", "group", "Setting", "Setter", "note_of", "Row", "_Option"}
_NOT_ADVICE = re.compile(r"--[\w-]+(/--[\w-]+)?|tts-prep [a-z -]+")
"""A text that is no sentence: the name of an option, of a kind of files, of a program."""


@dataclass(frozen=True)
class Literal:
    """A text of a module, with the names of its fields in braces."""

    file: str
    line: int
    text: str


@cache
def advices() -> tuple[Literal, ...]:
    """Return the texts of messages that name a command or an option."""
    return tuple(_advices())


def _advices() -> Iterator[Literal]:
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        lines = [number for number, line in enumerate(source.split("\n"), 1) if _WORDS.search(line)]
        nodes: list[ast.AST] = [ast.parse(source)] if lines else []
        for node in nodes:
            if isinstance(node, ast.stmt) and not any(_first_line(node) <= line <= node.end_lineno for line in lines):
                continue
            text = _text(node)
            if text and _ADVICE.search(text) and not _NOT_ADVICE.fullmatch(text):
                yield Literal(path.relative_to(PACKAGE).as_posix(), node.lineno, text)
            if not text and not _is_no_message(node):
                nodes.extend(ast.iter_child_nodes(node))


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (
            part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}" for part in node.values
        )
        return "".join(parts)
    return ""


def _is_no_message(node: ast.AST) -> bool:
    """Return whether a node is a docstring, or the call of a function whose texts are help."""
    if isinstance(node, ast.Call):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name in _HELP
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


if __name__ == "__main__":
    for literal in advices():
        print(f"{literal.file}:{literal.line}: {literal.text!r}")
    print(len(advices()))
