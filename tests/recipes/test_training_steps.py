"""Small models of other systems have the same losses on a recipe's batches as on their own.

`make test-frameworks` installs the packages that have the code of F5-TTS, Matcha-TTS, BigVGAN and Vocos. The others run
where TRAINING_SOURCES names a folder of checkouts; conformance/training/systems.py says what each needs.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import soundfile
from corpora import SAMPLE_RATE, TEXTS, speech_like

SCRIPT = Path(__file__).parents[2] / "conformance" / "training"
SOURCES = Path(os.environ["TRAINING_SOURCES"]) if os.environ.get("TRAINING_SOURCES") else None

# What a single loss of the first step differs by, relative to the sum. The next steps add what the weights differ by.
EQUAL = 1e-5
DIFFERENT = {
    # All of it is from two frames at each end, without which the next kind of batches is equal. Steps differ because
    # batches do: 0.006, 0.003 and 0.021 from 44.1 kHz, and 0.006, 0.003 and 0.019 if nothing is learned between.
    ("hifigan", "segments"): 0.025,
    # The last two frames, of 93 to 112: 0.0015 and 0.0022. Without them, mels differ by 6e-7 on average.
    ("bigvgan", "whole recordings"): 0.003,
    # From the ends too: 0.012, 0.023 and 0.025 from 16 kHz.
    ("bigvgan", "segments"): 0.03,
    # 1e-4 from 16 kHz, 1e-6 from 44.1 kHz; docs/coming-from.md has the reasons, whose parts were not measured.
    ("bigvgan", "segments with the recipe's ends"): 5e-4,
    ("vocos", "segments, `peak` of the recordings"): 1e-4,
    ("vocos", "segments"): 0.02,
    ("fastspeech2", "recordings, `peak = 1`"): 0.02,
}
"""The batches that are not the same, with reasons in docs/coming-from.md."""


def load(name: str) -> Any:
    """Return a module of the script."""
    spec = importlib.util.spec_from_file_location(name, SCRIPT / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


SYSTEMS = load("systems").SYSTEMS


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write six recordings of 1 to 1.5 seconds in the layout of LJ Speech, and phones for each."""
    root = tmp_path_factory.mktemp("corpus") / "LJSpeech"
    (root / "wavs").mkdir(parents=True)
    lists: tuple[list[str], list[str]] = ([], [])
    # FastPitch's symbols have no digits and no accents.
    texts = [text for text in TEXTS if text.isascii() and not any(map(str.isdigit, text))]
    for number, text in enumerate((*texts, "No one knows.")):
        soundfile.write(root / "wavs" / f"{number}.wav", speech_like(1 + number / 10, number), SAMPLE_RATE)
        lists[0].append(f"{number}|{text}|{text}\n")
        lists[1].append(f"{number}|HH AH0 L OW1 sp W ER1 L D|{text}\n")
    for path, lines in zip((root / "metadata.csv", root.parent / "ljspeech-mfa-phones.txt"), lists, strict=True):
        path.write_text("".join(lines), encoding="utf-8")
    return root


def test_every_system_of_the_script_has_its_steps() -> None:
    files = {path.stem.removesuffix("_steps") for path in SCRIPT.glob("*_steps.py")}
    assert files - {"vocoder"} == set(SYSTEMS)
    assert {name for name, _ in DIFFERENT} <= set(SYSTEMS)


def test_a_copy_of_a_checkout_has_other_lines_and_the_checkout_its_own(tmp_path: Path) -> None:
    system = SYSTEMS["fastpitch"]
    own = tmp_path / "sources" / system.checkout / "fastpitch" / "model.py"
    own.parent.mkdir(parents=True)
    own.write_text("place = x.get_device()\n", encoding="utf-8")
    system.copy(tmp_path / "sources", tmp_path / "copy")
    copied = tmp_path / "copy" / system.checkout / "fastpitch" / "model.py"
    assert (own.read_text(encoding="utf-8"), copied.read_text(encoding="utf-8")) == (
        "place = x.get_device()\n",
        "place = x.device\n",
    )
    own.write_text("place = x\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"model.py: expected a line with '.get_device\(\)'"):
        system.copy(tmp_path / "sources", tmp_path / "another")


@pytest.mark.soak
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("rate", [44_100, 16_000])
def test_losses_are_those_of_the_systems_own_batches(tmp_path: Path, corpus: Path, system: str, rate: int) -> None:
    if missing := list(SYSTEMS[system].missing(SOURCES)):
        pytest.skip(f"{system} needs {' and '.join(missing)}")
    command = [sys.executable, "-W", "ignore", str(SCRIPT), "--json", "--only", system, "--rate", str(rate)]
    done = subprocess.run(
        [*command, "--corpus", str(corpus), "--sources", str(SOURCES or tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])["losses"]
    assert found
    for kind, (theirs, ours) in found.items():
        assert len(theirs) == len(ours) > 0
        bound = DIFFERENT.get((system, kind), EQUAL)
        for step, (expected, losses) in enumerate(zip(theirs, ours, strict=True)):
            assert losses.keys() == expected.keys()
            total = abs(sum(expected.values()))
            apart = max(abs(losses[name] - expected[name]) for name in expected) / total
            assert apart <= (bound if step == 0 else max(bound, 1e-2)), f"{kind}, step {step + 1}"
