"""The names of `tts_prep.recipes`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tts_prep.recipes


@pytest.mark.parametrize("name", tts_prep.recipes.__all__)
def test_every_recipe_is_found_by_its_own_name_and_documented(name: str) -> None:
    recipe = getattr(tts_prep.recipes, name)
    other_spelling = {"PartialyRandomizedSimilarTimeLengthSampler": "PartiallyRandomizedSimilarTimeLengthSampler"}
    assert recipe.__name__ == other_spelling.get(name, name)
    assert recipe.__doc__
    assert name in dir(tts_prep.recipes)


def test_a_name_that_is_not_there_is_an_ordinary_import_error() -> None:
    with pytest.raises(AttributeError, match="^module 'tts_prep.recipes' has no attribute 'TextVideoLoader'$"):
        tts_prep.recipes.TextVideoLoader  # noqa: B018


def test_importing_the_recipes_loads_none_of_them() -> None:
    code = "import sys, tts_prep.recipes; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {name for name in loaded if name.startswith("tts_prep.recipes.")}
    assert "numpy" not in loaded
