"""Small models of other systems have the same losses on a recipe's batches as on their own.

`NEEDED` has the systems whose packages come whole from a registry; `conformance/training` has the others, too.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import soundfile
from corpora import SAMPLE_RATE, TEXTS, speech_like

SCRIPT = Path(__file__).parents[2] / "conformance" / "training"
NEEDED = {
    "f5tts": ("f5_tts", "torchaudio"),
}


def write_corpus(root: Path) -> Path:
    """Write six recordings of 1 to 1.5 seconds in the layout of LJ Speech."""
    (root / "wavs").mkdir(parents=True)
    for number, text in enumerate(TEXTS[:6]):
        soundfile.write(root / "wavs" / f"{number}.wav", speech_like(1 + number / 10, number), SAMPLE_RATE)
        with (root / "metadata.csv").open("a", encoding="utf-8") as file:
            file.write(f"{number}|{text}|{text}\n")
    return root


def test_every_system_of_the_script_has_its_steps() -> None:
    spec = importlib.util.spec_from_file_location("training", SCRIPT / "__main__.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    files = {path.stem.removesuffix("_steps") for path in SCRIPT.glob("*_steps.py")}
    assert files - {"vocoder"} == set(script.SYSTEMS)
    assert set(NEEDED) <= set(script.SYSTEMS)


@pytest.mark.soak
@pytest.mark.parametrize("system", NEEDED)
@pytest.mark.parametrize("rate", [44_100, 16_000])
def test_losses_are_those_of_the_systems_own_batches(tmp_path: Path, system: str, rate: int) -> None:
    for name in NEEDED[system]:
        if not importlib.util.find_spec(name):
            pytest.skip(f"{name} is not installed; see 'make test-frameworks'")
    corpus = write_corpus(tmp_path / "corpus")
    command = [sys.executable, "-W", "ignore", str(SCRIPT), "--json", "--only", system, "--rate", str(rate)]
    done = subprocess.run(
        [*command, "--corpus", str(corpus), "--sources", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])["losses"]
    theirs, ours = found["utterances"]
    assert len(theirs) == 3
    # The first step has the difference of the batches; the next ones add that of the weights.
    for step, (expected, losses) in enumerate(zip(theirs, ours, strict=True)):
        assert losses == pytest.approx(expected, rel=1e-5 if step == 0 else 1e-2), f"step {step + 1}"
