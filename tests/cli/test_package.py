"""The package in ``examples/package``, whose corpus, frontend and feature work as built-in ones do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import run
from corpora import record, write_text
from killing import contents
from plugins import install

from tts_prep.errors import ConfigurationError
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import Corpus, Option, get_frontend
from tts_prep.preprocess.corpora.corpus import read_corpus

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXAMPLE = Path(__file__).parents[2] / "examples" / "package"
PROJECT = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ROWS = (
    ("1", "aino", "studio", "5", "Tuuli puhaltaa"),
    ("2", "aino", "hall", "5", "Aamu."),
    ("3", "eero", "studio", "2", "Ilta."),
    ("4", "eero", "studio", "4", "Yö."),
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the package; return the folder of its metadata."""
    install(monkeypatch, tmp_path / "site", PROJECT["name"], PROJECT["entry-points"], EXAMPLE)
    return tmp_path / "site"


@pytest.fixture
def finnish(tmp_path: Path) -> Path:
    """Return a corpus whose recordings are in another folder, ``recordings``."""
    for name, *_ in ROWS:
        record(tmp_path / "recordings" / f"{name}.wav", 0.3)
    write_text(tmp_path / "finnish/list.tsv", "".join("\t".join(row) + "\n" for row in ROWS))
    return tmp_path / "finnish"


@pytest.mark.whole
@pytest.mark.usefixtures("package")
def test_its_corpus_takes_options_root_and_language_as_a_built_in_one_does(
    capsys: pytest.CaptureFixture[str], finnish: Path, tmp_path: Path
) -> None:
    store, root = tmp_path / "store", ("--root", tmp_path / "recordings")
    options = ("--room", "studio", "--min-rating", 4, "--frontend", "finnish-letters", "--feature", "loudness:offset=2")
    options += ("--preset", "hifigan")
    status, out, err = run(capsys, "finnish", finnish, store, *root, *options, "--jobs", 1)
    assert (status, err) == (0, "")
    assert out.splitlines()[:3] == [
        f"corpus: finnish {finnish}; preset: hifigan; frontend: finnish-letters, language fi",
        "left out by room or rating: 2 of 4 rows",
        "rows: 2",
    ]
    manifest = read_manifest(store)
    corpus = {"reader": "finnish", "limit": None, "rooms": ["studio"], "min_rating": 4}
    assert manifest.configuration["corpus"] == corpus
    assert manifest.software["tts-prep-finnish"] == "1.0"
    dataset = UtteranceDataset(store)
    assert list(dataset.id) == ["1", "4"]
    assert [dataset.symbols[i] for i in dataset[0].phonemes[:4]] == ["t", "uu", "l", "i"]
    assert dataset[1].meta == {"rating": 4.0, "room": "studio"}
    np.testing.assert_allclose(dataset[0].arrays["loudness"], dataset[0].mel.mean(axis=1) + 2, rtol=1e-5)
    before = contents(store)
    (store / "shards/00000.h5").unlink()
    status, out, err = run(capsys, "verify", store, "--repair", finnish, *root, "--jobs", 1)
    assert (status, err) == (0, "")
    assert contents(store) == before


@pytest.mark.usefixtures("package")
def test_its_corpus_speaks_its_own_language_with_the_default_frontend(
    capsys: pytest.CaptureFixture[str], finnish: Path, tmp_path: Path
) -> None:
    options = ("--root", tmp_path / "recordings", "--limit", 1, "--jobs", 1)
    status, out, _ = run(capsys, "finnish", finnish, tmp_path / "store", *options)
    assert (status, "frontend: espeak, language fi" in out) == (0, True)
    spoken = {code: get_frontend(language=code).phoneticize(ROWS[0][-1]) for code in ("fi", "en-us")}
    assert UtteranceDataset(tmp_path / "store")[0].phoneme_text == spoken["fi"] != spoken["en-us"]


@pytest.mark.whole
@pytest.mark.usefixtures("package")
def test_its_corpus_is_detected_and_its_options_are_checked(
    capsys: pytest.CaptureFixture[str], finnish: Path, tmp_path: Path
) -> None:
    status, _, err = run(capsys, "vctk", finnish, tmp_path / "store")
    assert (status, "looks like a corpus for 'tts-prep finnish'" in err) == (1, True)
    status, _, err = run(capsys, "finnish", finnish / "list.tsv", tmp_path / "store")
    assert (status, f"is a file: give its folder {finnish}" in err) == (1, True)
    status, _, err = run(capsys, "finnish", finnish, tmp_path / "store", "--min-rating", "high")
    assert (status, "'high' is not a valid integer" in err) == (2, True)
    with pytest.raises(ConfigurationError, match="root: only filelist, kaldi, manifest, finnish accept it"):
        read_corpus("ljspeech", finnish, root=tmp_path)


@pytest.mark.whole
@pytest.mark.usefixtures("package")
def test_its_frontend_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "finnish-letters" in run(capsys, "frontends")[1]


@pytest.mark.whole
def test_its_command_line_works_in_an_interpreter_of_its_own(package: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{EXAMPLE}", "COLUMNS": "100"}
    code = "import sys; sys.argv[0] = 'tts-prep'; from tts_prep.cli.main import main; main()"

    def printed(*arguments: str) -> str:
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    assert re.search(r"^  ljspeech, [a-z0-9,\s]+, manifest,\s+finnish$", printed("--help"), re.MULTILINE)
    assert "  finnish       Make STORE of the Finnish corpus at CORPUS.\n" in printed("corpora")
    text = printed("finnish", "--help", "all")
    assert text.startswith("Usage: tts-prep finnish [OPTIONS] CORPUS STORE\n")
    group = text.partition("The corpus:\n")[2].partition("\n\n")[0]
    for option in ("--root DIR", "--room NAME", "--min-rating N", "--split NAME=FILE"):
        assert option in group


@pytest.mark.whole
def test_a_package_that_cannot_be_loaded_costs_its_own_command_only(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path / "site", "broken", {"tts_prep.corpora": {"mine": "no_such_module:read"}})
    assert ", manifest, mine " in " ".join(run(capsys, "--help")[1].split())
    status, out, _ = run(capsys, "corpora")
    assert status == 0
    assert re.search(r"^  mine +This command does not work: corpus: the reader 'mine' of", out, re.MULTILINE)
    status, _, err = run(capsys, "mine", tmp_path, tmp_path / "store", "--preset", "hifigan")
    assert (status, "the reader 'mine' of no_such_module:read cannot be loaded (No module named" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ((Option("limit", "Rows."),), "'mine': the option --limit is one of all corpora; rename it"),
        ((Option("jobs_of_mine", "Jobs.", flags=("-j",)),), "the option -j is one of all corpora"),
    ],
)
def test_an_option_that_all_corpora_have_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[Option, ...], error: str
) -> None:
    from tts_prep.cli.commands import corpus_command

    with pytest.raises(ConfigurationError, match=error):
        corpus_command(Corpus("mine", lambda root: iter(()), "Make STORE.", options))


def test_an_option_of_a_corpus_is_no_path_and_has_a_known_type() -> None:
    with pytest.raises(ConfigurationError, match="corpus 'mine': option 'table': a store contains no paths"):
        Corpus("mine", lambda root: iter(()), "Make STORE.", (Option("table", "A table.", Path),))
    with pytest.raises(ConfigurationError, match="option 'x': kind: expected one of str, int, float, bool, Path"):
        Option("x", "X.", dict)
    with pytest.raises(ConfigurationError, match="option 'a-b': expected a name that Python accepts"):
        Option("a-b", "X.")
