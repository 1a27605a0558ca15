"""Arrays of models in an updated store: unchanged rows keep their values, the next call computes the others alone."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import soundfile
from commands import run
from corpora import SAMPLE_RATE, speech_like
from killing import contents

from tts_prep.additions.add_arrays import ModelRun
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.models.add_model import add_model
from tts_prep.models.function import ModelFunction
from tts_prep.preprocess import Configuration, Result, add_array, prepare
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.configuration.records import StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.progress import Progress
from tts_prep.verification.files import verify_store

sys.path.insert(0, str(Path(__file__).parent))
import model_functions as functions

CONFIG = Configuration(
    text=TextConfig(frontend="characters", unknown="drop"),
    store=StoreConfig(shard_utterances=2, waveform_dtype="int16"),
)
ROWS = [(f"S-{number:04d}", f"Row number {number}.", number) for number in range(7)]
CHANGED = [*ROWS[:2], ("S-0002", "Row number two, changed.", 2), *ROWS[3:], ("S-0007", "A new row.", 7)]


def make(root: Path, store: Path, rows: Sequence[tuple[str, str, int]], **options) -> Result:
    (root / "wavs").mkdir(parents=True, exist_ok=True)
    for uid, _, voice in rows:
        soundfile.write(root / f"wavs/{uid}.wav", speech_like(0.2 + voice / 1000, voice), SAMPLE_RATE)
    (root / "metadata.csv").write_text("".join(f"{uid}|{text}|{text}\n" for uid, text, _ in rows), encoding="utf-8")
    return prepare(read_ljspeech(root), root, store, options.pop("config", CONFIG), **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a corpus and its store with a model's outputs, of which tests make copies."""
    folder = tmp_path_factory.mktemp("whole")
    # The same log everywhere, because it is one of the settings that a store records.
    (folder / "log").symlink_to(folder / "calls")
    make(folder / "corpus", folder / "store", ROWS)
    add(folder)
    return folder


@pytest.fixture
def place(whole: Path, tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(whole, tmp_path / "place", symlinks=True))
    forget(folder)
    return folder


def add(place: Path, store: str = "store", **options):
    settings = {"log": str(log_of(place))}
    return add_array(place / store, "model", functions.Logged, settings=settings, max_failures=1, **options)


def log_of(place: Path) -> Path:
    return (place / "log").resolve()


def forget(place: Path) -> None:
    log_of(place).unlink(missing_ok=True)


def called(place: Path) -> set[str]:
    log = log_of(place)
    return set(log.read_text().split()) if log.exists() else set()


def test_an_update_keeps_the_values_of_unchanged_rows_and_says_which_have_none(place: Path) -> None:
    rows = [(row.id, row.arrays) for row in UtteranceDataset(place / "store").having("tokens")]
    before = {uid: {name: arrays[name].tolist() for name in ("tokens", "first")} for uid, arrays in rows}
    result = make(place / "corpus", place / "store", CHANGED, existing="update")
    assert [(one.spec.name, one.rows, one.is_kept) for one in result.incomplete] == [
        ("first", 2, True),
        ("tokens", 2, True),
    ]
    assert called(place) == set()
    dataset = UtteranceDataset(place / "store", verify=True)
    assert not [fault for _, fault in verify_store(place / "store", read_manifest(place / "store")) if fault]
    reasons = dict(zip(dataset.columns["id"], dataset.columns["model_failure"], strict=True))
    open_rows = [uid for uid, reason in reasons.items() if reason.startswith("not computed yet: it is new or has chan")]
    assert open_rows == ["S-0002", "S-0007"]
    assert reasons[functions.BAD] == "the function returned None for it"
    kept = dataset.having("tokens")
    assert list(kept.id) == ["S-0000", "S-0001", "S-0004", "S-0005", "S-0006"]
    for utterance in kept:
        assert {name: utterance.arrays[name].tolist() for name in ("tokens", "first")} == before[utterance.id]
        assert utterance.meta["note"] == f"of {utterance.id}"
    assert dataset.statistics("first").count == len(kept)


def test_the_next_call_computes_the_missing_rows_alone_and_the_bytes_are_those_of_a_new_store(place: Path) -> None:
    make(place / "corpus", place / "store", CHANGED, existing="update")
    add(place)
    assert called(place) == {"S-0002", "S-0007"}
    make(place / "corpus", place / "new", CHANGED)
    add(place, "new")
    assert contents(place / "store") == contents(place / "new")
    # Then there is nothing to do.
    forget(place)
    add(place)
    assert called(place) == set()


def test_two_updates_in_a_row_leave_the_rows_of_both_to_the_next_call(place: Path) -> None:
    make(place / "corpus", place / "store", [*ROWS, ("S-0007", "A new row.", 7)], existing="update")
    assert make(place / "corpus", place / "store", CHANGED, existing="update").incomplete[0].rows == 2
    add(place)
    assert called(place) == {"S-0002", "S-0007"}


def test_an_interrupted_call_after_an_update_leaves_the_store_as_it_was_and_resumes(place: Path) -> None:
    make(place / "corpus", place / "store", CHANGED, existing="update")
    before = contents(place / "store")
    model = ModelFunction("model", functions.Logged, {"log": str(log_of(place))})

    def interrupted(now: Progress) -> None:
        # The first of three shards is unchanged, the second is computed, the third is not begun.
        if now.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add_model(place / "store", model, ModelRun(progress=interrupted, max_failures=1))
    assert contents(place / "store") == before
    forget(place)
    add(place)
    assert called(place) == {"S-0007"}
    make(place / "corpus", place / "new", CHANGED)
    add(place, "new")
    assert contents(place / "store") == contents(place / "new")


def test_broken_files_of_a_model_are_not_kept_and_are_computed_again(place: Path) -> None:
    broken = sorted((place / "store/arrays/tokens").iterdir())[0]
    data = bytearray(broken.read_bytes())
    data[len(data) // 2] ^= 0xFF
    broken.write_bytes(data)
    result = make(place / "corpus", place / "store", [*ROWS, ("S-0007", "A new row.", 7)], existing="update")
    assert {one.rows for one in result.incomplete} == {3}
    add(place)
    assert called(place) == {"S-0000", "S-0001", "S-0007"}


def test_with_other_mels_no_row_is_kept_and_the_message_says_how_to_add_the_arrays(place: Path) -> None:
    others = replace(CONFIG, mel=replace(PRESETS["hifigan"], fmax=7000.0))
    result = make(place / "corpus", place / "store", ROWS, existing="update", config=others)
    assert {(one.spec.name, one.is_kept) for one in result.incomplete} == {("first", False), ("tokens", False)}
    assert "tokens" not in UtteranceDataset(place / "store").arrays


def test_the_command_says_what_has_no_values_and_what_to_do(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "corpus/metadata.csv").write_text("".join(f"{uid}|{text}|{text}\n" for uid, text, _ in CHANGED[:-1]))
    options = (
        "--frontend",
        "characters",
        "--waveform",
        "int16",
        "--shard-utterances",
        2,
        "--update",
        "--unknown",
        "drop",
    )
    status, out, err = run(capsys, "ljspeech", place / "corpus", place / "store", *options)
    assert (status, err) == (0, "")
    told = (
        f"tokens: no values for 1 row, new or changed; the same 'tts-prep add {place / 'store'} …' computes them alone"
    )
    assert told in " ".join(out.split())
    others = (*options, "--fmax", 7000)
    status, out, err = run(capsys, "ljspeech", place / "corpus", place / "store", *others)
    assert (status, err) == (0, "")
    adds = f"'tts-prep add {place / 'store'} --feature model_functions:Logged' adds it again"
    assert f"tokens: left out, no values for 7 rows, new or changed; {adds}" in " ".join(out.split())
