from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import LIGHT, light, run
from corpora import TEXTS, write_ljspeech
from forked_tests import forked_python
from killing import contents

from tts_prep.errors import ConfigurationError, StoreError, TooManyFailuresError
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.make.asked import Part
from tts_prep.preprocess.make.resuming import finish_store
from tts_prep.preprocess.run import Result, prepare

SMALL = light(1)


def make(root: Path, store: Path, part: str, config: Configuration = SMALL, **options: object) -> Result:
    return prepare(read_ljspeech(root), root, store, config, part=Part.parse(part), **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ljspeech(tmp_path_factory.mktemp("large") / "lj", TEXTS * 3)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, large: Path) -> dict[str, bytes]:
    store = tmp_path_factory.mktemp("alone") / "store"
    prepare(read_ljspeech(large), large, store, SMALL)
    return contents(store)


def test_sixteen_parts_in_any_order_some_twice_one_killed_make_the_same_bytes(
    large: Path, alone: dict[str, bytes], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    command = [sys.executable, "-m", "tts_prep", "ljspeech", str(large), str(store), *LIGHT, "--shard-utterances", "1"]
    killed = subprocess.Popen(
        [*command, "--part", "5/16", "--jobs", "1"], start_new_session=True, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not list(store.glob("shards/*")) and killed.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    order = [*range(1, 17), 3, 11]
    random.Random(1).shuffle(order)
    for number in order:
        make(large, store, f"{number}/16")
    finish_store(store)
    assert contents(store) == alone


def test_parts_at_once_do_not_disturb_each_other(
    capsys: pytest.CaptureFixture[str], large: Path, alone: dict[str, bytes], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    command = [*forked_python(), "-m", "tts_prep", "ljspeech", str(large), str(store)]
    command += [*LIGHT, "--shard-utterances", "1"]
    running = [
        subprocess.Popen([*command, "--jobs", "1", "--part", part], stdout=subprocess.PIPE, text=True)
        for part in ("1/2", "2/2")
    ]
    # The second one twice at the same time.
    while running[1].poll() is None and not list(store.glob("shards/*")):
        time.sleep(0.005)
    make(large, store, "2/2")
    for process in running:
        out, _ = process.communicate()
        assert process.returncode == 0
        assert out.endswith(f"when all parts are made: tts-prep finish {store}\n")
    status, out, _ = run(capsys, "finish", store)
    assert (status, out.startswith(f"{store}: 21 utterances, ")) == (0, True)
    assert contents(store) == alone


def test_a_missing_part_is_named(large: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for number in (1, 2, 4):
        make(large, store, f"{number}/4")
    with pytest.raises(StoreError, match=r"5 of 21 shards are missing, shards/00002.h5 first; make all parts"):
        finish_store(store)
    assert make(large, store, "3/4").shards_made == 5
    assert finish_store(store).totals["utterances"] == 21
    assert finish_store(store).totals["utterances"] == 21


def test_a_part_that_is_there_is_not_made_again(large: Path, tmp_path: Path) -> None:
    assert make(large, tmp_path / "store", "2/9").shards_made == 3
    assert make(large, tmp_path / "store", "2/9").shards_made == 0


def test_the_whole_command_goes_on_from_parts(large: Path, alone: dict[str, bytes], tmp_path: Path) -> None:
    make(large, tmp_path / "store", "2/3")
    prepare(read_ljspeech(large), large, tmp_path / "store", SMALL)
    assert contents(tmp_path / "store") == alone


def test_parts_of_another_corpus_or_other_settings_are_refused(own_corpus: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    make(own_corpus, store, "1/3")
    with pytest.raises(StoreError, match="made with other settings"):
        make(own_corpus, store, "2/3", Configuration())
    metadata = (own_corpus / "metadata.csv").read_text(encoding="utf-8")
    (own_corpus / "metadata.csv").write_text(metadata.replace("Why not?", "Why?"), encoding="utf-8")
    with pytest.raises(StoreError, match="the corpus has changed since the first part was made"):
        make(own_corpus, store, "2/3")


def test_failures_of_all_parts_count_together(own_corpus: Path, tmp_path: Path) -> None:
    for name in ("S-0001", "S-0004"):
        (own_corpus / f"wavs/{name}.wav").unlink()
    for part in ("1/2", "2/2"):
        make(own_corpus, tmp_path / "store", part, max_failures="100%")
    with pytest.raises(TooManyFailuresError, match="2 of 7 rows failed so far, more than --max-failures 1 allows"):
        finish_store(tmp_path / "store", max_failures=1)
    assert finish_store(tmp_path / "store", max_failures=2).totals["failures"] == 2


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "a/b", "1/0", "-1/4", "1/4/2"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="part: expected K/N with K from 1 to N"):
        Part.parse(text)


def test_a_whole_store_has_no_parts_and_a_folder_none_to_finish(corpus: Path, store: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="already complete; there is no part to make"):
        make(corpus, store, "1/2", Configuration(store=StoreConfig(shard_utterances=3)))
    with pytest.raises(StoreError, match="no parts of a store; make parts with a corpus command"):
        finish_store(tmp_path)
