"""Rules of ``rules.toml``: a pattern, what is said for it, and examples. Those of a stage are applied in order.

A rule has these keys:

``pattern``
    A regular expression, in which ``<<NAME>>`` stands for any key of a table of ``words.toml``, and ``<<after NAME>>``
    for the place behind such a word and a space. What it does not apply to, it excludes.
``says``
    The words, in which ``{GROUP}`` is what a group has found, ``{GROUP:HOW}`` that read by a function of `_HOW` or
    looked up in a table; a part in brackets is said only if all its groups were found.
``where``
    Parts of texts, of which a text must have one. They save the search in all others.
``examples``
    Texts with their readings, which the tests compare; a text with the same reading shows where the rule ends.

A dot of an abbreviation that a rule replaces also ends the sentence if nothing or a word such as "The" follows.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any, Final

from tts_prep.english.numbers import cardinal, digits, label, ordinal, plain_number, plural, year
from tts_prep.english.quantities import UNITS, many
from tts_prep.toml_files import read_toml, word_tables


def groups_of_digits(written: str) -> str:
    """Return ``nine seven eight, three`` for ``"978-3"``; letters are said as they are."""
    groups = re.findall(r"\d+|[A-Za-z]+", written)
    return ", ".join(digits(group) if group.isdigit() else group for group in groups)


_HOW: Final[Mapping[str, Callable[[str], str]]] = {
    "cardinal": lambda written: cardinal(written.replace(",", "")),
    "digits": groups_of_digits,
    "label": label,
    "many": lambda written: many(UNITS[written]),
    "number": plain_number,
    "ordinal": ordinal,
    "plural": lambda written: plural(label(written)),
    "spelled": lambda written: " ".join(digits(sign) if sign.isdigit() else sign for sign in written),
    "year": lambda written: year(int(written)),
}
_WORDS: Final = re.compile(r"<<(after )?(\w+)>>")
_PART: Final = re.compile(r"\[([^]]*)\]|([^[]+)")
_FIELD: Final = re.compile(r"\{(\w+)(?::(\w+))?\}")
_TEXT_ENDS: Final = re.compile(
    "[\"']?$| (?:A|An|And|As|At|But|By|For|From|He|Her|His|I|If|In|It|Its|My|No|On|Our|She|So|That|The|Their|Then|"
    "There|These|They|This|Those|We|What|When|Where|Who|Why|You|Your)\\b"
)


@cache
def tables() -> Mapping[str, Any]:
    """Return the tables of words and the stages of rules by name."""
    return {**word_tables(__package__), **read_toml(__package__, "rules.toml")}


class Rule:
    """A rule.

    Args:
        table: its keys.
    """

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table
        self.where = [part for where in table.get("where", ()) for part in _each_of(where)] or [""]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(_WORDS.sub(_any_of, self._table["pattern"]))

    @cached_property
    def _parts(self) -> list[tuple[str, list[tuple[str, str]], bool]]:
        found = [(match[1] or match[2], match[1] is not None) for match in _PART.finditer(self._table["says"])]
        return [(part, _FIELD.findall(part), optional) for part, optional in found]

    def __call__(self, text: str) -> str:
        """Return a text with what the pattern matches in words."""
        return self._pattern.sub(self._say, text)

    def _say(self, match: re.Match[str]) -> str:
        words = "".join(
            _FIELD.sub(lambda field: _said(match[_group(field[1])], field[2]), part)
            for part, fields, optional in self._parts
            if not optional or all(match[_group(name)] for name, _ in fields)
        )
        text, end = match.string, match.end()
        if text[end - 1] == "." and words[-1:] != "." and _TEXT_ENDS.match(text, end):
            words += "."
        before, behind = text[: match.start()][-1:], text[end : end + 1]
        # "48°12′N16°22′E"
        before, behind = (" " * (a.isalnum() and b.isalnum()) for a, b in ((before, words[:1]), (words[-1:], behind)))
        return f"{before}{words}{behind}"


def _each_of(where: str) -> list[str]:
    name = _WORDS.match(where)
    return [word + where[name.end() :] for word in tables()[name[2]]] if name else [where]


def _any_of(name: re.Match[str]) -> str:
    words = [re.escape(word) for word in sorted(tables()[name[2]], key=len, reverse=True)]
    # Behind a word: each is a place of its own, since all that may stand in one must have the same length.
    return f"(?:{'|'.join(f'(?<=(?i:{word}) )' for word in words)})" if name[1] else "|".join(words)


def _group(name: str) -> int | str:
    return int(name) if name.isdigit() else name


def _said(found: str | None, how: str) -> str:
    if not found or not how:
        return found or ""
    if how in _HOW:
        return _HOW[how](found)
    return str(tables()[how][found])


@cache
def _stage(name: str) -> list[Rule]:
    return [Rule(table) for table in tables()[name]]


# Frequent signs, the rarest first. Most texts lack one of a part, which takes a fifth of the time of its search.
_FREQUENT: Final = "zqxjkvbpygfwmucldrhsnioate ."
# What rules write that is not ASCII, for others to read.
_WRITTEN: Final = frozenset("°€£¥₹")


@cache
def _searched(stage: str, is_ascii: bool) -> list[tuple[str, str, Rule]]:
    """Return the rarest sign of each part that is searched for, the part, and its rule: all, or those for ASCII."""
    rows = [(min(part, key=_FREQUENT.find, default=""), part, rule) for rule in _stage(stage) for part in rule.where]
    return [row for row in rows if not is_ascii or row[1].isascii() or _WRITTEN & {*row[1]}]


def apply(stage: str, text: str) -> str:
    """Return a text to which the rules of a stage have been applied."""
    applied = None
    for sign, part, rule in _searched(stage, text.isascii()):
        if sign in text and part in text and rule is not applied:
            text, applied = rule(text), rule
    return text
