"""What a function of batches may declare and return: values that are stored as they are, or a reason in one line."""

from __future__ import annotations

import math
import re
import sys
from collections import deque
from collections.abc import Callable
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tts_prep.doors import import_named
from tts_prep.errors import ConfigurationError, FeatureError
from tts_prep.models.function import LoadedModel, Missing, ModelFunction, package_of
from tts_prep.preprocess import ArraySpec

OWN = ArraySpec("codes", "float32", (), "own")
PAIR = ArraySpec("codes", "float32", (2,), "utterance")
EXPECTED = np.array([[1.5, 2.5], [3.5, -4.5]], np.float32)


class Returning:
    """A model that returns what was said last.

    Args:
        kind: what it declares.
    """

    returned: ClassVar[Any] = None

    def __init__(self, kind: str) -> None:
        self.arrays = {"own": (OWN,), "pair": (PAIR,)}.get(kind, ())
        self.columns = {"number": {"note": float}, "text": {"note": str}}.get(kind, {})

    def __call__(self) -> Any:
        returned = type(self).returned
        return returned() if callable(returned) else returned


@cache
def loaded(kind: str) -> LoadedModel:
    # Loading looks up installed packages, which takes as long as hundreds of calls.
    return LoadedModel(ModelFunction("x", Returning, {"kind": kind}), "cpu", ())


def outcomes(returned: Any, kind: str = "pair") -> list[Any]:
    """Return the outcomes of two utterances for which a function returns something, or calls something."""
    Returning.returned = returned
    return list(loaded(kind)({}, [{}, {}]))


class Arrayed:
    """An object that NumPy can read, and nothing else."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._values


def test_values_of_different_lengths_are_those_of_one_batch() -> None:
    values = [np.arange(3, dtype=np.float32), np.arange(5, dtype=np.float32)]
    found = outcomes(values, "own")
    assert [of["codes"].tolist() for of in found] == [[0, 1, 2], [0, 1, 2, 3, 4]]


def of_pandas(values: np.ndarray) -> Any:
    # Its labels are not the positions.
    return pytest.importorskip("pandas").Series(list(values), index=[1, 0])


def of_torch(values: np.ndarray) -> Any:
    return pytest.importorskip("torch").from_numpy(values.copy())


@pytest.mark.parametrize(
    "as_returned",
    [
        list,
        tuple,
        deque,
        np.asfortranarray,
        lambda values: np.repeat(values, 3, axis=1)[:, ::3],
        lambda values: values[::-1].copy()[::-1],
        lambda values: [of[::-1].copy()[::-1] for of in values],
        lambda values: [Arrayed(of) for of in values],
        lambda values: [[*of] for of in values],
        lambda values: list(np.ma.MaskedArray(values)),
        lambda values: {"codes": values},
        of_pandas,
        of_torch,
    ],
)
def test_values_are_kept_in_whatever_form_they_are_returned(as_returned: Callable[[np.ndarray], Any]) -> None:
    found = outcomes(as_returned(EXPECTED))
    for of, expected in zip(found, EXPECTED, strict=True):
        value = of["codes"]
        assert (type(value), value.dtype, value.flags.c_contiguous) == (np.ndarray, np.float32, True)
        assert value.tolist() == expected.tolist()


PADDED = np.array([[[1], [2], [0]], [[4], [5], [6]]], np.float32)
ROWS = ArraySpec("codes", "float32", (1,), "own", rate=50.0)
NUMBERS = ArraySpec("codes", "int16", (), "own")


def of_rows(returned: Any, lengths: tuple[int, int] = (2, 3), spec: ArraySpec = ROWS) -> list[Any]:
    """Return the outcomes of two utterances with so many phonemes, 40 and 60 ms long, for which a function returns."""
    model = type("Model", (), {"arrays": (spec,), "__call__": lambda _: returned})
    return list(LoadedModel(ModelFunction("x", model), "cpu", ())({}, [{"phoneme": n} for n in lengths], [0.04, 0.06]))


def in_torch(_: Any) -> Any:
    torch = pytest.importorskip("torch")
    return torch.from_numpy(PADDED), torch.tensor([2, 3])


@pytest.mark.parametrize(
    "as_returned",
    [
        lambda lengths: (PADDED, lengths),
        lambda lengths: {"codes": (PADDED, np.array(lengths, np.int32))},
        lambda lengths: {"codes": PADDED, "codes_lengths": lengths},
        lambda lengths: {"codes": list(PADDED), "codes_lengths": np.array(lengths)},
        lambda lengths: {"codes": [PADDED[0, :2], PADDED[1]]},
        lambda lengths: (PADDED[0, :2], PADDED[1]),
        in_torch,
    ],
)
def test_rows_of_padding_are_left_out_where_the_lengths_are_beside_them(as_returned: Callable[[Any], Any]) -> None:
    assert [of["codes"].tolist() for of in of_rows(as_returned([2, 3]))] == [[[1], [2]], [[4], [5], [6]]]


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([2], "'codes': expected 2 lengths, one for each utterance, found 1"),
        (3, "'codes': expected 2 lengths, one for each utterance, found int"),
        ([0.5, 1.0], "'codes': lengths: expected whole numbers of rows, found 0.5"),
        ([2, 4], "'codes': lengths: expected 0 to 3 rows, as there are, found 4"),
        ([-1, 3], "'codes': lengths: expected 0 to 3 rows, as there are, found -1"),
    ],
)
def test_lengths_that_are_no_numbers_of_rows_are_an_error(lengths: Any, message: str) -> None:
    with pytest.raises(FeatureError, match=re.escape(message)):
        of_rows({"codes": PADDED, "codes_lengths": lengths})


def test_one_array_without_lengths_has_no_value_unless_its_utterances_are_equally_long() -> None:
    for of in of_rows(PADDED):
        assert of.reason.startswith("array 'codes': found one array [2, 3, 1] for 2 utterances of different lengths")
    assert [of["codes"].tolist() for of in of_rows(PADDED, (3, 3))] == PADDED.tolist()


def test_rows_that_do_not_last_as_long_as_their_utterance_at_the_declared_rate_are_missing() -> None:
    # 40 and 60 ms at 50 Hz are 2 and 3 rows; 0.1 s more are allowed.
    first, second = of_rows([np.zeros((8, 1), np.float32), np.zeros((8, 1), np.float32)])
    assert first.reason == (
        "array 'codes': expected about 2 rows, 0.04 s at its rate of 50 Hz, found 8; is it padded, or has another rate?"
    )
    assert len(second["codes"]) == 8


@pytest.mark.parametrize("dtype", ["int64", "uint8", "int8", ">i2"])
def test_integers_of_another_type_are_kept_if_the_declared_type_holds_them(dtype: str) -> None:
    values = [np.array([5, 7], dtype), np.array([], dtype)]
    found = [of["codes"] for of in of_rows(values, spec=NUMBERS)]
    assert [(of.dtype, of.tolist()) for of in found] == [(np.int16, [5, 7]), (np.int16, [])]


def test_integers_that_the_declared_type_does_not_hold_are_missing_with_their_range() -> None:
    first, second = of_rows([np.array([-4, 32_768]), np.array([32_767])], spec=NUMBERS)
    assert first.reason == ("array 'codes': expected int16, from -32,768 to 32,767, found int64 from -4 to 32,768")
    assert second["codes"].tolist() == [32_767]


def with_gradient() -> Any:
    return pytest.importorskip("torch").ones(2, 2, requires_grad=True)


class BrokenError(Exception):
    """An exception whose message cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError


class Unreadable:
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise BrokenError


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (EXPECTED.astype(">f4"), "expected float32, found >f4"),
        (EXPECTED.astype(np.longdouble), "expected float32, found"),
        (EXPECTED.astype(object), "expected float32, found object"),
        (EXPECTED.astype(complex), "expected float32, found complex128"),
        (EXPECTED.astype("datetime64[s]"), "expected float32, found datetime64"),
        ([[1, 2], [3, 4]], "expected float32, found int64"),
        ([np.float32(1), np.float32(2)], r"expected the shape \[2\], found \[\]"),
        ([EXPECTED[:, :1]] * 2, r"expected the shape \[2\], found \[2, 1\]"),
        ([np.float32([np.nan, np.inf])] * 2, "2 values are not finite"),
        (list(np.ma.masked_less(EXPECTED, 4)[[0, 0]]), "2 values are masked"),
        ([(of for of in row) for row in EXPECTED], "expected float32, found object"),
        ([{1, 2}, {3}], "expected float32, found object"),
        ([[1, [2]], [3, [4]]], "ValueError"),
        ([Unreadable(), Unreadable()], "BrokenError: without a message that can be shown"),
        ([None, None], "the function returned None for it"),
        (with_gradient, "RuntimeError: Can't call numpy"),
    ],
)
def test_a_value_that_is_not_of_its_array_is_missing_with_the_reason(values: Any, reason: str) -> None:
    for of in outcomes(values):
        assert isinstance(of, Missing)
        assert re.search(reason, of.reason), of.reason


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ((of for of in EXPECTED), "'codes': expected 2 values, one for each utterance, found generator"),
        ({"codes": {0: 1, 1: 2}}, "'codes': expected 2 values, one for each utterance, found dict"),
        ("ab", "found str"),
        (b"ab", "found bytes"),
        ({1.0, 2.0}, "found set"),
        (np.float32(3), "found float32"),
        (np.array(3.0), "found ndarray"),
        (EXPECTED[:1], "found 1"),
        ({"other": EXPECTED}, "expected a dict of codes, found other"),
        ({}, "expected a dict of codes, found none"),
        (None, "found NoneType"),
    ],
)
def test_a_result_that_is_not_one_value_for_each_utterance_is_an_error(returned: Any, message: str) -> None:
    with pytest.raises(Exception, match=message):
        outcomes(returned)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (float, 3, 3.0),
        (float, np.float32(0.5), 0.5),
        (float, np.array(2.0), 2.0),
        (float, 2**60, 2.0**60),
        (float, 2**53 + 1, "9007199254740993 is not a number of 64 bits exactly; return it as a text"),
        (float, np.int64(2**53 + 1), "9007199254740993 is not a number of 64 bits exactly"),
        (float, 10**400, "OverflowError"),
        (float, "3.5", "expected a number, found str"),
        (float, -math.inf, -math.inf),
        (float, 1j, "TypeError"),
        (str, np.str_("text"), "text"),
        (str, "", ""),
        (str, 3, "expected a text, found int"),
        (str, "a\0b", "a text cannot have a zero character"),
        (str, "\ud800", "UnicodeEncodeError"),
    ],
)
def test_a_number_and_a_text_are_kept_exactly_or_missing(kind: type, value: Any, expected: Any) -> None:
    for of in outcomes({"note": [value, value]}, {float: "number", str: "text"}[kind]):
        if isinstance(of, Missing):
            assert expected in of.reason
        else:
            assert (type(of["note"]), of["note"]) == (kind, expected)


def test_a_number_that_is_nan_leaves_the_utterance_its_other_values() -> None:
    kinds = {"arrays": (NUMBERS,), "columns": {"score": float}}
    result = {"codes": [np.array([1], np.int16), np.array([2], np.int16)], "score": [float("nan"), 0.5]}
    model = type("Model", (), {**kinds, "__call__": lambda _: result})
    first, second = LoadedModel(ModelFunction("x", model), "cpu", ())({}, [{}, {}])
    assert (first["codes"].tolist(), second["codes"].tolist(), second["score"]) == ([1], [2], 0.5)
    assert math.isnan(first["score"])


def declared(**declarations: Any) -> None:
    """Load a class with declarations."""
    base = {"arrays": (OWN,), "__call__": lambda self, waveforms: waveforms}
    LoadedModel(ModelFunction("x", type("Model", (), {**base, **declarations})), "cpu", ())


RATE = "sample_rate: expected a whole number of Hz from 1,000 to 1,000,000, found "
SECONDS = "batch_seconds: expected a finite number of seconds greater than 0, found "


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        *(({"sample_rate": rate}, f"{RATE}{rate!r}") for rate in (float("inf"), True, 8000.5, "8000", -8000, 0, 10**9)),
        *(({"batch_seconds": one}, f"{SECONDS}{one!r}") for one in (float("inf"), float("nan"), True, "60", 0, -1.0)),
        ({"columns": 5}, "columns: expected a dict of names and float or str, found 5"),
        ({"columns": ("peak",)}, "columns: expected a dict of names and float or str, found ('peak',)"),
        ({"columns": {5: float}}, "columns: expected a dict of names and float or str, found {5: <class 'float'>}"),
        ({"columns": {"peak": int}}, "columns: peak: expected float or str, found <class 'int'>"),
        ({"columns": {"peak": "float"}}, "columns: peak: expected float or str, found 'float'"),
        ({"software": 5}, "software: expected a tuple of names of packages, found 5"),
        ({"software": "numpy"}, "software: expected a tuple of names of packages, found 'numpy'"),
        ({"software": (5,)}, "software: expected a tuple of names of packages, found (5,)"),
        ({"software": ("no-such-package",)}, "software: 'no-such-package' is not installed"),
        ({"arrays": 5}, "arrays: expected a tuple of ArraySpec, found 5"),
        ({"arrays": ("codes",)}, "arrays: expected a tuple of ArraySpec, found ('codes',)"),
        ({"arrays": ()}, "expected 'arrays', a tuple of ArraySpec, or 'columns', found neither"),
        ({"arrays": OWN}, "arrays: expected a tuple of ArraySpec, found ArraySpec("),
        *(
            ({"arrays": (ArraySpec(*fields),)}, f"array {message}")
            for fields, message in (
                ((5, "int16", (), "own"), "'5': name: expected a text, found 5"),
                (
                    ("c", np.int16, (), "own"),
                    "'c': dtype: expected a text such as 'float32', found <class 'numpy.int16'>",
                ),
                (("c", "int16", (), 0), "'c': axis: expected a text such as 'frame', found 0"),
                (("c", "int16", [2], "own"), "'c': row_shape: expected a tuple of integers, such as (80,), found [2]"),
                (("c", "int16", 2, "own"), "'c': row_shape: expected a tuple of integers, such as (80,), found 2"),
                (("c", "int16", (), "own", "50"), "'c': rate: expected a number of Hz, found '50'"),
                (("c", "int16", (), "own", True), "'c': rate: expected a number of Hz, found True"),
                (("c", "int16", (), "own", None, 5), "'c': settings: expected a dict, found 5"),
                (
                    ("c", "int16", (), "own", None, {"place": Path("here")}),
                    "'c': settings: expected values that JSON has, numbers, texts, lists and dicts of them (",
                ),
                (("c", "int16", (), "own", None, {}, {"numpy": 2}), "'c': software: expected a dict of names and"),
            )
        ),
    ],
)
def test_a_declaration_of_another_type_is_refused_in_one_line_that_says_what_is_expected(
    declaration: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError) as error:
        declared(**declaration)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{__name__}:Model")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"), [({"sample_rate": 0}, f"{RATE}0"), ({"batch_seconds": 0.0}, f"{SECONDS}0.0")]
)
def test_a_rate_and_a_duration_that_the_caller_gives_are_checked_too(given: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        LoadedModel(ModelFunction("x", Returning, {"kind": "own"}, **given), "cpu", ())


def test_declarations_of_numpy_are_recorded_as_numbers() -> None:
    declared(sample_rate=np.int64(16_000), batch_seconds=np.float32(30), software=["numpy"], arrays=[OWN])


class Odd(BaseException):
    """An exception that `except Exception` does not catch."""


@pytest.mark.parametrize("raised", [Odd("now"), SystemExit("now"), KeyboardInterrupt("now"), GeneratorExit("now")])
def test_a_class_that_raises_anything_while_it_is_created_is_an_error(raised: BaseException) -> None:
    class Raises:
        def __init__(self) -> None:
            raise raised

    with pytest.raises(ConfigurationError, match=rf"Raises cannot be loaded: {type(raised).__name__}: now"):
        LoadedModel(ModelFunction("x", Raises), "cpu", ())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise SystemExit('now')", "SystemExit: now"),
        ("raise RuntimeError('no\\ndriver')", r"RuntimeError: no\\ndriver"),
        ("def", "SyntaxError: "),
        ("", "module 'a_module_of_a_model' has no attribute 'Codes'"),
    ],
)
def test_a_module_that_cannot_be_imported_is_an_error_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    (tmp_path / "a_module_of_a_model.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "a_module_of_a_model", raising=False)
    with pytest.raises(ConfigurationError, match=rf"^feature: 'a_module_of_a_model:Codes' cannot be loaded \({reason}"):
        import_named("a_module_of_a_model:Codes", "feature")
    sys.modules.pop("a_module_of_a_model", None)


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.soak)], ids=["some", "all"])
def test_the_package_of_a_module_is_the_one_that_the_standard_library_finds(step: int) -> None:
    all_of_them = {module: packages[0] for module, packages in packages_distributions().items()}
    # Those with another name than their package, and every sixth of the others: two hundred take seconds.
    expected = {
        module: package
        for number, (module, package) in enumerate(sorted(all_of_them.items()))
        if number % step == 0 or module.replace("_", "-").lower() != package.replace("_", "-").lower()
    }
    found = {module: package_of(module) for module in expected}
    assert {module: package and package.metadata["Name"] for module, package in found.items()} == expected
    assert package_of("model_functions") is None
