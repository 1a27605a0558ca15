"""The names of `tts_prep.recipes`, and the old import paths that lead to them."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import tts_prep.recipes

MOVED = {
    "tts_prep.loader.recipes": (
        *("Collater", "DataCollector", "FilePathDataset", "LJSpeechCollector", "build_dataloader"),
        *("build_iterators", "read_config", "stop_probabilities"),
    ),
    "tts_prep.loader.recipes.bigvgan": ("MelDataset=BigVGANDataset", "get_dataset_filelist=bigvgan_filelists"),
    "tts_prep.loader.recipes.f5tts": (
        *("CustomDataset=F5TTSDataset", "collate_fn=collate_f5tts", "load_dataset=load_f5tts_dataset"),
        "DynamicBatchSampler",
    ),
    "tts_prep.loader.recipes.fastpitch": ("TTSCollate",),
    "tts_prep.loader.recipes.fastspeech2": ("Dataset=FastSpeech2Dataset",),
    "tts_prep.loader.recipes.hifigan": (
        *("MelDataset=HiFiGANDataset", "get_dataset_filelist=hifigan_filelists", "collate=collate_hifigan"),
    ),
    "tts_prep.loader.recipes.matcha": ("TextMelDataset", "TextMelBatchCollate"),
    "tts_prep.loader.recipes.parakeet": ("LJSpeechCollector", "stop_probabilities"),
    "tts_prep.loader.recipes.speechain": ("build_iterators", "read_config"),
    "tts_prep.loader.recipes.styletts2": ("build_dataloader", "FilePathDataset", "Collater"),
    "tts_prep.loader.recipes.vits": ("TextAudioLoader", "TextAudioCollate", "DistributedBucketSampler"),
    "tts_prep.loader.recipes.vocos": ("VocosDataset",),
    "tts_prep.loader.recipes.wavenet": ("DataCollector",),
}
"""What the documentation of 0.1.0 and later imported from the old paths, and its name now where that has changed."""


@pytest.mark.parametrize("name", tts_prep.recipes.__all__)
def test_every_recipe_is_found_by_its_own_name_and_documented(name: str) -> None:
    recipe = getattr(tts_prep.recipes, name)
    assert recipe.__name__ == name
    assert recipe.__doc__
    assert name in dir(tts_prep.recipes)


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [(module, *(name.split("=") * 2)[:2]) for module, names in MOVED.items() for name in names],
)
def test_an_old_path_leads_to_the_recipe_with_a_warning(module: str, old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"^{module}.{old} will be .* import {new} from tts_prep.recipes$"):
        found = getattr(import_module(module), old)
    assert found is getattr(tts_prep.recipes, new)


def test_the_warning_of_an_old_path_names_the_line_that_imports() -> None:
    code = "from tts_prep.loader.recipes.vits import TextAudioLoader"
    run = subprocess.run([sys.executable, "-Wd", "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr.startswith("<string>:1: DeprecationWarning: tts_prep.loader.recipes.vits.TextAudioLoader will be")


def test_a_name_that_never_was_there_is_an_ordinary_import_error() -> None:
    for module in ("tts_prep.recipes", "tts_prep.loader.recipes", "tts_prep.loader.recipes.vits"):
        with pytest.raises(AttributeError, match=f"^module '{module}' has no attribute 'TextVideoLoader'$"):
            import_module(module).TextVideoLoader  # noqa: B018
        assert not hasattr(import_module(module), "_MODULES2")
    # A module that has been loaded is no name of the old package: its classes have other names now.
    import_module("tts_prep.recipes.file_list")
    assert not hasattr(import_module("tts_prep.loader.recipes"), "file_list")


def test_importing_the_recipes_loads_none_of_them() -> None:
    code = "import sys, tts_prep.recipes; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {name for name in loaded if name.startswith("tts_prep.recipes.")}
    assert "numpy" not in loaded
