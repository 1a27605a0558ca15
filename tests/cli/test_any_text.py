"""No text ends a run: texts of any characters, through the command, for every frontend."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from commands import run
from corpora import record
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from tts_prep import doors
from tts_prep.errors import ConfigurationError, MissingPackageError
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.make import phonemizing

pytestmark = pytest.mark.whole

EXAMPLES = int(os.environ.get("EXAMPLES", "0"))
HOSTILE = [
    f"It cost ${'1' * 41}.",
    f"0.{'1' * 5000}",
    "9" * 5000,
    f"{'9' * 5000}th",
    f"1/{'2' * 5000} and {'9' * 37}.5",
    "1:00 " * 500,
    "x" * 2000,
    "(" * 2000,
    "\U0001f600" * 50,
    "\U0010ffff\U000e0001 \x1b[31m \x00",
]


def texts_of_any_characters(count: int) -> list[str]:
    """Return texts of which each has characters up to another one of ASCII, alphabets, the first plane, or all."""
    random_ = random.Random(0)
    texts = []
    for number in range(count):
        codes = [
            random_.randrange((0x80, 0x3000, 0x10000, 0x110000)[number % 4]) for _ in range(random_.randint(1, 60))
        ]
        texts.append("".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000) or "x")
    return texts


SPOKEN = {
    "mandarin": ("zh", "你好。"),
    "japanese": ("ja", "こんにちは。"),
    "korean": ("ko", "안녕."),
    "": ("en-us", "One."),
}
"""First word of a frontend's name → a language that it supports, and a text in it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    record(folder / "a.wav", 0.1)
    return folder


# Pinyin and IPA are written from the same reading of a text as "mandarin": test_mandarin.py writes every syllable.
SAME_READING = ("mandarin-pinyin", "mandarin-ipa")


@pytest.mark.parametrize("frontend", [name for name in doors.rows("frontends") if name not in SAME_READING])
@settings(
    max_examples=EXAMPLES or 1,
    # The first text that is generated is the simplest one.
    phases=(Phase.explicit, Phase.generate) if EXAMPLES else (Phase.explicit,),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60), min_size=40, max_size=40))
@example([*HOSTILE, *texts_of_any_characters(20)])
def test_no_text_of_any_characters_ends_a_run(
    capsys: pytest.CaptureFixture[str], folder: Path, frontend: str, texts: list[str]
) -> None:
    language, good = SPOKEN.get(frontend.split("-")[0], SPOKEN[""])
    try:
        get_frontend(frontend)
    except (ConfigurationError, MissingPackageError) as error:
        pytest.skip(str(error))
    rows = "".join(f"{i}|a.wav|{text}\n" for i, text in enumerate(texts))
    (folder / "list.txt").write_bytes(rows.encode() + b"broken|a.wav|\xff\n" + f"ok|a.wav|{good}\n".encode())
    (folder / "ood.txt").write_bytes(
        "".join(f"{text}\n" for text in texts).encode() + f"\n{good}\n".encode() + b"\xff\n"
    )
    arguments = ("--language", language)
    arguments += ("--columns", "id|path|text", "--frontend", frontend, "--max-failures", "100%", "--jobs", 1)
    status, out, err = run(
        *(capsys, "filelist", folder / "list.txt", folder / "store", *arguments),
        *("--ood-texts", folder / "ood.txt", "--overwrite"),
    )
    assert (status, "Traceback" in err) == (0, False), err
    assert "out-of-domain texts: " in out
    # Not splitlines: a reason may hold a line separator of Unicode, which ends no line of JSON.
    for line in (folder / "store/failures.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n"):
        failure = json.loads(line)
        assert failure["where"].startswith("list.txt:")
        assert failure["reason"].startswith(failure["where"])


def test_a_store_without_utterances_is_a_failure(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "empty.txt").write_text("a.wav|…\n", encoding="utf-8")
    status, _, err = run(
        *(capsys, "filelist", folder / "empty.txt", folder / "empty", "--columns", "path|text", "--jobs", 1),
        *("--max-failures", "100%"),
    )
    assert status == 1
    assert "the only row failed, but a store needs at least one utterance; the first is a (text): empty.txt:1: " in err
    assert not (folder / "empty/manifest.json").exists()


def test_a_frontend_that_raises_costs_one_row_that_is_named(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fragile:
        def __init__(self) -> None:
            self.frontend = get_frontend("characters")

        def __getattr__(self, name: str) -> object:
            return getattr(self.frontend, name)

        def normalize(self, text: str, language: str | None = None) -> str:
            if "2" in text:
                raise IndexError("list index out of\nrange")
            return text

    monkeypatch.setattr(phonemizing, "make_frontend", lambda config: Fragile())
    (folder / "fragile.txt").write_text("a.wav|One.\nb.wav|Take 2.\n", encoding="utf-8")
    record(folder / "b.wav", 0.1)
    status, out, _ = run(
        *(capsys, "filelist", folder / "fragile.txt", folder / "fragile", "--frontend", "characters", "--jobs", 1),
        # A language that no other test gives to this frontend, which a process keeps by its settings.
        *("--language", "nl", "--max-failures", 1, "--ood-texts", folder / "fragile.txt"),
    )
    reason = "fragile.txt:2: the frontend 'characters' fails on 'Take 2.': IndexError: list index out of range"
    assert status == 0
    assert f"the first: b: {reason}" in out
    assert f"1 lines failed, the first: {reason}" in out
