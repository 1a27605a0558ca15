"""Merging of the decisions of several reviewers, and their agreement."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType

from tts_prep.review.decisions import KEEP, MAX_CHARACTERS, Decision

_EDIT = ("regions", "merge", "text")


@dataclass(frozen=True)
class Conflict:
    """A field in which reviewers contradict each other.

    Attributes:
        id: the utterance.
        field: ``keep``, ``text`` or ``speaker``, a further column, or ``regions``: with ``merge`` and ``text``, where
            one of them is given.
        values: the value of each reviewer, by name; those who left it empty are missing.
    """

    id: str
    field: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Agreement:
    """The agreement of two reviewers about what to keep.

    Attributes:
        reviewers: their names.
        both: the number of utterances about which both have decided.
        equal: the number of those with the same decision.
        kappa: Cohen's kappa, see `cohens_kappa`.
    """

    reviewers: tuple[str, str]
    both: int
    equal: int
    kappa: float


@dataclass(frozen=True)
class Merged:
    """The decisions of several reviewers as one.

    Attributes:
        decisions: id → decision, in the order of the reviewers' files.
        others: id → further column → value.
        conflicts: the contradictions.
        agreements: the agreement of each two reviewers.
    """

    decisions: Mapping[str, Decision]
    others: Mapping[str, Mapping[str, str]]
    conflicts: tuple[Conflict, ...]
    agreements: tuple[Agreement, ...]


def merge(
    reviewers: Mapping[str, Mapping[str, Decision]],
    others: Mapping[str, Mapping[str, Mapping[str, str]]] = MappingProxyType({}),
) -> Merged:
    """Merge the decisions of several reviewers.

    A field that a reviewer leaves empty is that of another. Where they contradict, ``keep`` is ``unsure``, and another
    field is empty. Notes are joined.

    Args:
        reviewers: name → id → decision.
        others: name → id → further column, such as a score → value.
    """
    decisions: dict[str, Decision] = {}
    further: dict[str, Mapping[str, str]] = {}
    conflicts: list[Conflict] = []
    for utterance in dict.fromkeys(itertools.chain.from_iterable(reviewers.values())):
        given = {
            name: {**asdict(of[utterance]), **others.get(name, {}).get(utterance, {})}
            for name, of in reviewers.items()
            if utterance in of
        }
        merged, found = _one(utterance, given)
        edits = {name: " ".join(filter(None, (of["regions"], of["merge"], of["text"]))) for name, of in given.items()}
        if any(of["regions"] or of["merge"] for of in given.values()) and len({*edits.values()} - {""}) > 1:
            # They are one decision: the text of a row that is cut has its parts.
            merged |= dict.fromkeys(_EDIT, "")
            found = [one for one in found if one.field not in _EDIT]
            found.append(Conflict(utterance, "regions", {name: value for name, value in edits.items() if value}))
        decisions[utterance] = Decision(**{field.name: merged.pop(field.name) for field in fields(Decision)})
        further[utterance] = merged
        conflicts += found
    pairs = itertools.combinations(reviewers.items(), 2)
    return Merged(decisions, further, tuple(conflicts), tuple(_agreement(one, two) for one, two in pairs))


def _one(utterance: str, given: Mapping[str, Mapping[str, str]]) -> tuple[dict[str, str], list[Conflict]]:
    """Return what is said about one utterance as one, and the contradictions."""
    merged, conflicts = {}, []
    for field in dict.fromkeys(itertools.chain.from_iterable(given.values())):
        values = {name: of[field] for name, of in given.items() if of.get(field)}
        different = [*dict.fromkeys(values.values())]
        if field == "note":
            different = [" | ".join(different)[:MAX_CHARACTERS]]
        elif len(different) > 1:
            conflicts.append(Conflict(utterance, field, values))
            different = ["unsure" if field == "keep" else ""]
        merged[field] = next(iter(different), "")
    return merged, conflicts


def _agreement(one: tuple[str, Mapping[str, Decision]], two: tuple[str, Mapping[str, Decision]]) -> Agreement:
    (name, mine), (other, theirs) = one, two
    pairs = [(d.keep, theirs[key].keep) for key, d in mine.items() if d.keep and key in theirs and theirs[key].keep]
    return Agreement((name, other), len(pairs), sum(a == b for a, b in pairs), cohens_kappa(pairs))


def cohens_kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """Return the agreement of two reviewers beyond chance: 1 is full, 0 that of chance; NaN if chance explains all.

    J. Cohen, A Coefficient of Agreement for Nominal Scales, 1960.

    Args:
        pairs: the decisions of both reviewers about each utterance.
    """
    n = len(pairs)
    if not n:
        return math.nan
    mine, theirs = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(a == b for a, b in pairs) / n
    expected = sum(mine[value] * theirs[value] for value in KEEP) / n**2
    return (observed - expected) / (1 - expected) if expected < 1 else math.nan
