"""Models on the command line: named by module or entry point, with settings that help shows."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run
from killing import contents
from plugins import install

from tts_prep.errors import ConfigurationError
from tts_prep.loader import UtteranceDataset
from tts_prep.models.function import configured_model, explained
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.features.kinds import get_feature, outputs_name, parse_feature
from tts_prep.preprocess.run import prepare

sys.path.insert(0, str(Path(__file__).parent))
import model_functions as functions

CODES = "model_functions:Codes"


@pytest.fixture
def own(corpus: Path, made_once, tmp_path: Path) -> Path:
    config = Configuration(
        corpus="ljspeech",
        text=TextConfig("characters", unknown="drop"),
        store=StoreConfig(shard_utterances=3, waveform_dtype="int16"),
    )
    made = made_once("store-with-int16", lambda path: prepare(read_ljspeech(corpus), corpus, path, config))
    return Path(shutil.copytree(made, tmp_path / "store"))


class Settings:
    """Settings of all kinds.

    Args:
        number: a number, whose help
            goes on in the next line.
        text: a text.
    """

    def __init__(self, number: int | None = None, share: float = 0.5, text: str = "", *, fast: bool = False) -> None:
        del number, share, text, fast

    def __call__(self, waveforms):
        return waveforms


def test_settings_are_the_arguments_of_a_class_explained_by_its_docstring() -> None:
    assert explained(Settings) == [
        ("number", "", "a number, whose help goes on in the next line."),
        ("share", "0.5", ""),
        ("text", "", "a text."),
        ("fast", "False", ""),
    ]
    assert outputs_name(functions.Codes) == "codes"
    assert outputs_name(type("EncodecHTTPTokens", (), {})) == "encodec_http_tokens"


def test_values_have_the_types_of_the_arguments() -> None:
    texts = {"number": "3", "share": "1e-2", "text": "3", "fast": "yes"}
    assert configured_model("m:C", Settings, texts) == {"number": 3, "share": 0.01, "text": "3", "fast": True}
    for texts, message in (
        ({"number": "1.5"}, "m:C: number: expected an integer, found '1.5'"),
        ({"fast": "so"}, "m:C: fast: expected true or false, found 'so'"),
        ({"slow": "1"}, "m:C: expected the settings number, share, text, fast, found 'slow'"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            configured_model("m:C", Settings, texts)
    with pytest.raises(ConfigurationError, match="m:F: needs the setting 'how', as in m:F:how=VALUE"):
        configured_model("m:F", functions.Faulty, {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pitch", ("pitch", {})),
        ("pitch:floor=80", ("pitch", {"floor": "80"})),
        ("module:Class", ("module:Class", {})),
        ("a.b:Class:x=1,y=http://z", ("a.b:Class", {"x": "1", "y": "http://z"})),
    ],
)
def test_a_feature_is_a_name_or_a_class_of_a_module(text: str, expected: tuple[str, dict[str, str]]) -> None:
    assert parse_feature(text) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:X", "feature: 'no_such_module:X' cannot be loaded"),
        ("model_functions:Nothing", "feature: 'model_functions:Nothing' cannot be loaded"),
        ("model_functions:BAD", "'model_functions:BAD': expected a class with the method __call__, or a FeatureKind"),
    ],
)
def test_what_is_no_model_is_named(name: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        get_feature(name)


@pytest.mark.whole
def test_a_model_is_added_by_the_command_and_its_settings_are_in_its_help(
    capsys: pytest.CaptureFixture[str], own: Path
) -> None:
    status, out, err = run(capsys, "add", own, "--feature", f"{CODES}:levels=16", "--devices", "a,b")
    assert (status, err) == (0, "")
    assert "codes, int16 × 2, by own" in out
    assert "columns peak, codes_failure, transcript" in out
    dataset = UtteranceDataset(own, verify=True)
    assert dataset.arrays["codes"].settings["model"]["settings"] == {"levels": 16}
    assert max(view.max() for view in dataset.views("codes")) < 16
    status, out, _ = run(capsys, "add", "--feature", CODES, "--help")
    assert (status, "Settings of --feature model_functions:Codes:KEY=VALUE" in out) == (0, True)
    assert "the number of tokens.  [default: 64]" in " ".join(out.split()).replace(". [", ".  [")
    status, out, _ = run(capsys, "features", CODES)
    assert (status, f"{CODES} Tokens of 10 ms of audio" in out, "the number of tokens. [64]" in out) == (0, True, True)


def test_utterances_without_a_value_are_printed_or_end_the_command(
    capsys: pytest.CaptureFixture[str], own: Path
) -> None:
    command = ("add", own, "--jobs", 1, "--feature", "model_functions:Faulty:how=raises")
    status, _, err = run(capsys, *command)
    assert status == 1
    assert "1 of 7 utterances have no 'faulty' so far, more than --max-failures 1% allows; the first is S-0003" in err
    status, out, _ = run(capsys, *command, "--max-failures", 1, "--batch-seconds", 1.5)
    assert status == 0
    assert "1 utterance has no value: S-0003: RuntimeError: no such thing as this" in out
    assert UtteranceDataset(own).arrays["codes"].settings["model"]["batch_seconds"] == 1.5


@pytest.mark.whole
def test_a_model_is_registered_by_an_entry_point(
    capsys: pytest.CaptureFixture[str], own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path / "site", "my-codec", {"tts_prep.features": {"my-codes": CODES}})
    status, out, _ = run(capsys, "features")
    assert (status, "Tokens of 10 ms" in out, "levels" in out) == (0, True, True)
    status, out, err = run(capsys, "add", own, "--feature", "my-codes:levels=8", "--jobs", 1)
    assert (status, err) == (0, "")
    assert "my_codes_failure" in out


@pytest.mark.parametrize("waveform", [("--waveform", "int16"), ()], ids=["waveforms", "recordings"])
def test_a_store_and_the_outputs_of_a_model_are_one_command_which_finishes_what_was_interrupted(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path, waveform: tuple[str, ...]
) -> None:
    def made(store: Path, *more: object) -> tuple[int, str, str]:
        how = ("--frontend", "characters", "--unknown", "drop", "--mel", "none", "--jobs", 1, *waveform, *more)
        return run(capsys, "ljspeech", corpus, store, *how)

    store, apart, model = tmp_path / "store", tmp_path / "apart", ("--feature", f"{CODES}:levels=16")
    assert made(apart)[0] == 0
    source = () if waveform else ("--corpus", corpus)
    assert run(capsys, "add", apart, *model, *source, "--jobs", 1)[0] == 0
    # Too many utterances fail, which ends the command when the store itself is made.
    status, _, err = made(store, "--feature", "model_functions:Faulty:how=raises")
    assert (status, "have no 'faulty' so far" in err) == (1, True)
    assert (store / "manifest.json").exists()
    status, out, _ = made(store, *model, "--devices", "a")
    assert (status, "codes, int16 × 2, by own" in out) == (0, True)
    assert contents(store) == contents(apart)
    status, out, _ = made(store, *model)
    assert (status, "codes, int16 × 2, by own" in out) == (0, True)
    # An update calls the model on new rows alone, and says nothing of what is missing before.
    status, out, _ = made(store, *model, "--limit", 4, "--overwrite")
    assert (status, len(UtteranceDataset(store).views("codes"))) == (0, 4)
    status, out, _ = made(store, *model, "--update")
    assert (status, "no values" in out) == (0, False)
    assert contents(store) == contents(apart)


def test_a_part_of_a_store_is_made_without_models(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    status, _, err = run(capsys, "ljspeech", corpus, tmp_path / "new", "--feature", CODES, "--part", "1/2")
    assert (status, "a model needs a complete store" in err) == (2, True)
    assert not (tmp_path / "new").exists()


def test_only_a_module_that_is_named_is_imported_from_the_working_folder(own: Path, tmp_path: Path) -> None:
    folder, script = tmp_path / "work", tmp_path / "command"
    folder.mkdir()
    script.write_text(
        "import contextlib, sys\n"
        "from tts_prep.__main__ import main\n"
        "if __name__ == '__main__':\n"
        "    commands = ' '.join(sys.argv[1:]).split(' then ')\n"
        "    for number, command in enumerate(commands, 1):\n"
        "        sys.argv[1:] = command.split()\n"
        "        try:\n"
        "            main()\n"
        "        except SystemExit as end:\n"
        "            if end.code or number == len(commands):\n"
        "                raise\n"
    )
    shutil.copy(functions.__file__, folder / "mine.py")
    for name in ("json", "numpy", "soundfile", "torch", "codes", "peak"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise ImportError\n")

    def tts_prep(*arguments: object) -> subprocess.CompletedProcess[str]:
        plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
        command = [sys.executable, script, *map(str, arguments)]
        return subprocess.run(command, cwd=folder, env=plain, capture_output=True, text=True, timeout=120)

    # On a busy machine, the progress would be printed too.
    done = tts_prep("add", own, "--feature", "mine:Codes", "--jobs", "1", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    # What a store says of its models imports nothing, in a process that has imported none.
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    read = (argument for command in ("verify", "info", "reindex") for argument in (command, own, "then"))
    assert tts_prep(*read, "remove", own, "--array", "codes").returncode == 0
    assert "codes" not in UtteranceDataset(own).arrays
    assert not (tmp_path / "ran").exists()


def test_the_class_of_a_script_is_recorded_by_the_name_that_a_command_imports_it_by(tmp_path: Path) -> None:
    script = tmp_path / "my_codec.py"
    script.write_text(
        "from tts_prep.models.function import ModelFunction\n"
        "class Tokens:\n"
        "    pass\n"
        "where = ModelFunction('tokens', Tokens).where\n"
    )
    for name in ("__main__", "__mp_main__", "my_codec"):
        assert runpy.run_path(str(script), run_name=name)["where"] == "my_codec:Tokens"
