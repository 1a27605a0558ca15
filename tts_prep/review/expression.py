"""Conditions on columns, such as ``snr < 15 and speaker == "p225"``, evaluated for all rows at once.

The syntax is that of Python's expressions, of which a few kinds are allowed. Nothing is executed.
"""

import ast
import difflib
import operator
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.dataset.columns import CategoryValues, TextValues

Mask: TypeAlias = "npt.NDArray[np.bool_]"

MAX_LENGTH: Final = 500
"""The maximum length of a condition in characters. It bounds the depth of its nesting, too."""

_MAX_DEPTH = 43
"""The maximum depth of the tree of a condition: who walks through a deeper one may exceed the stack."""

_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_EXAMPLE = 'such as: snr < 15 and speaker == "p225"'


def evaluate(text: str, n: int, names: Collection[str], values: Callable[[str], Any]) -> Mask:
    """Return the rows for which a condition is true, [n].

    Numbers are compared with ``<``, ``<=``, ``>``, ``>=``, ``==`` and ``!=``, and combined with ``+``, ``-``, ``*`` and
    ``/``; texts with ``==``, ``!=``, ``in`` and ``not in`` (``"the" in text``, ``speaker in ("p225", "p226")``).
    Conditions are joined with ``and``, ``or`` and ``not``. A comparison with a missing number is false, also with
    ``!=``; ``missing(snr)`` is true for it.

    Args:
        text: the condition.
        n: the number of rows.
        names: the names of the columns.
        values: returns a column by name: numbers, [n], or texts.

    Raises:
        ConfigurationError: the condition is malformed or too long, or a column does not exist.
    """
    if len(text) > MAX_LENGTH:
        raise ConfigurationError(f"filter: {len(text):,} characters, expected {MAX_LENGTH} at most")
    try:
        with warnings.catch_warnings():
            # Python warns about some conditions, such as 1 in "a", that are refused below.
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        where = getattr(error, "offset", None)
        at = f" at character {where}" if where else ""
        raise ConfigurationError(f"filter: not a condition{at}; expected one {_EXAMPLE}") from None
    _check_depth(tree)
    with np.errstate(all="ignore"):
        return _Evaluation(n, names, values).condition(tree.body)


def _check_depth(tree: ast.AST) -> None:
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > _MAX_DEPTH:
            raise ConfigurationError("filter: too deeply nested; expected fewer parentheses")
        level = [child for node in level for child in ast.iter_child_nodes(node)]


class _Evaluation:
    """The evaluation of one condition."""

    def __init__(self, n: int, names: Collection[str], values: Callable[[str], Any]) -> None:
        self._n, self._names, self._values = n, names, values

    def condition(self, node: ast.expr) -> Mask:
        """Return the mask of a node that is true or false."""
        if isinstance(node, ast.BoolOp):
            join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            mask: Mask = join.reduce([self.condition(value) for value in node.values])
            return mask
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.condition(node.operand)
        if isinstance(node, ast.Compare):
            return self._comparisons(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "missing":
            return self._missing(node)
        raise ConfigurationError(f"filter: found '{_source(node)}', expected a condition {_EXAMPLE}")

    def _comparisons(self, node: ast.Compare) -> Mask:
        mask = np.ones(self._n, bool)
        left = node.left
        for operation, right in zip(node.ops, node.comparators, strict=True):
            mask &= self._comparison(left, operation, right)
            left = right
        return mask

    def _comparison(self, left: ast.expr, operation: ast.cmpop, right: ast.expr) -> Mask:
        if isinstance(operation, ast.In | ast.NotIn):
            mask = self._contained(left, right)
            return mask if isinstance(operation, ast.In) else ~mask
        compare = _COMPARISONS.get(type(operation))
        one, two = self._value(left), self._value(right)
        what = f"{_source(left)} … {_source(right)}"
        if compare is None:
            raise ConfigurationError(f"filter: '{what}': expected <, <=, >, >=, ==, !=, in or not in")
        if _is_number(one) and _is_number(two):
            mask = compare(one, two) & ~np.isnan(one) & ~np.isnan(two)
            return np.broadcast_to(mask, self._n).copy()
        if isinstance(one, str):
            one, two = two, one
        if _is_number(one) or not isinstance(two, str):
            raise ConfigurationError(
                f"filter: '{what}': expected two numbers, or a column of texts and a text in quotes"
            )
        if compare not in (operator.eq, operator.ne):
            raise ConfigurationError(f"filter: '{what}': texts are compared with ==, !=, in and not in")
        mask = _equal(one, (two,), self._n)
        return mask if compare is operator.eq else ~mask

    def _contained(self, left: ast.expr, right: ast.expr) -> Mask:
        """Return the mask of ``"the" in text`` and of ``speaker in ("p225", "p226")``."""
        what = f"{_source(left)} in {_source(right)}"
        if isinstance(right, ast.Tuple | ast.List):
            wanted = [self._value(value) for value in right.elts]
            values = self._value(left)
            if not wanted:
                return np.zeros(self._n, bool)
            if _is_number(values) and all(isinstance(value, float) for value in wanted):
                return np.isin(np.broadcast_to(values, self._n), wanted)
            if not _is_number(values) and all(isinstance(value, str) for value in wanted):
                return _equal(values, wanted, self._n)
            raise ConfigurationError(f"filter: '{what}': expected values of the kind of the column")
        part, values = self._value(left), self._value(right)
        if not isinstance(part, str) or _is_number(values):
            raise ConfigurationError(f"filter: '{what}': expected a text in quotes before 'in', and a column of texts")
        if isinstance(values, str):
            return np.full(self._n, part in values)
        if isinstance(values, CategoryValues):
            codes = [code for code, value in enumerate(values.table) if part in value]
            return np.isin(values.codes, codes)
        return np.fromiter((part in value for value in values), np.bool_, self._n)

    def _missing(self, node: ast.Call) -> Mask:
        if len(node.args) != 1 or node.keywords:
            raise ConfigurationError("filter: expected missing(COLUMN), such as missing(snr)")
        values = self._value(node.args[0])
        if _is_number(values):
            return np.broadcast_to(np.isnan(values), self._n).copy()
        return _equal(values, ("",), self._n)

    def _value(self, node: ast.expr) -> Any:
        """Return a number, numbers [n], a text, or a column of texts."""
        if isinstance(node, ast.Constant):
            return _constant(node)
        if isinstance(node, ast.Name):
            return self._column(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            sign = -1.0 if isinstance(node.op, ast.USub) else 1.0
            return sign * self._number(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            one, two = self._number(node.left), self._number(node.right)
            return _ARITHMETIC[type(node.op)](np.asarray(one, np.float64), np.asarray(two, np.float64))
        raise ConfigurationError(f"filter: found '{_source(node)}', expected a column, a number or a text in quotes")

    def _number(self, node: ast.expr) -> Any:
        value = self._value(node)
        if not _is_number(value):
            raise ConfigurationError(f"filter: '{_source(node)}' is text, expected a number")
        return value

    def _column(self, name: str) -> Any:
        if name not in self._names:
            near = difflib.get_close_matches(name, list(self._names), 1)
            hint = f"did you mean '{near[0]}'?" if near else "a text is written in quotes"
            raise ConfigurationError(f"filter: there is no column '{name}'; {hint}")
        return self._values(name)


def _is_number(value: Any) -> bool:
    return isinstance(value, float | np.ndarray | np.floating)


def _constant(node: ast.Constant) -> float | str:
    if isinstance(node.value, str):
        return node.value
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        try:
            return float(node.value)
        except OverflowError:
            pass
    raise ConfigurationError(f"filter: found '{_source(node)}', expected a number or a text in quotes")


def _equal(values: Any, wanted: Collection[str], n: int) -> Mask:
    if isinstance(values, str):
        return np.full(n, values in wanted)
    if isinstance(values, CategoryValues | TextValues):
        return values.isin(wanted)
    wanted = set(wanted)
    return np.fromiter((value in wanted for value in values), np.bool_, n)


def _source(node: ast.expr) -> str:
    """Return a node as text, shortened."""
    text = ast.unparse(node)
    return text if len(text) <= 40 else f"{text[:39]}…"
