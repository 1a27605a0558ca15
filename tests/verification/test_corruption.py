"""Corrupted, truncated, extended, exchanged and missing files of a store are detected and rebuilt."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from corpora import write_ljspeech
from killing import contents
from shared_process import SharedProcess
from stores import make_rows, write_store

from tts_prep.errors import CorruptStoreError, StoreError, TtsPrepError
from tts_prep.format.hdf5.reader import read_locations
from tts_prep.format.layout import MANIFEST
from tts_prep.format.records.manifest import read_manifest
from tts_prep.format.reindexing import reindex_store
from tts_prep.loader import UtteranceDataset, collate
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare
from tts_prep.progress import Progress
from tts_prep.verification.files import verify_store
from tts_prep.verification.repair import repair_store

ROUNDS = int(os.environ.get("CORRUPTIONS", "12"))
WAYS = ("flip a bit", "change a byte", "truncate", "extend", "zero a page", "delete")


@pytest.fixture
def copy(store: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(store, tmp_path / "copy"))


def faults(store: Path) -> dict[str, str]:
    return {entry.file: fault for entry, fault in verify_store(store) if fault}


def files_of(store: Path) -> list[Path]:
    """Return the files that hold the contents of a store: the manifest, and what it names."""
    return sorted({store / MANIFEST, *(store / entry.file for entry in read_manifest(store).files)})


def damage(path: Path, way: str, random_: random.Random) -> None:
    """Change a file in one of several ways."""
    data = bytearray(path.read_bytes())
    if way == "delete":
        path.unlink()
    elif way == "truncate" and data:
        path.write_bytes(data[: random_.randrange(len(data))])
    elif way == "extend" or not data:
        path.write_bytes(data + random_.randbytes(random_.randint(1, 5000)))
    elif way == "flip a bit":
        data[random_.randrange(len(data))] ^= 1 << random_.randrange(8)
        path.write_bytes(data)
    elif way == "change a byte":
        data[random_.randrange(len(data))] ^= random_.randrange(1, 256)
        path.write_bytes(data)
    else:
        start = random_.randrange(len(data))
        page = data[start : start + 4096]
        data[start : start + 4096] = bytes(b ^ 0xFF for b in page)
        path.write_bytes(data)


def read_everything(store: Path, *, verify: bool) -> list[bytes]:
    """Read a store; return all columns and arrays."""
    dataset = UtteranceDataset(store, verify=verify)
    found = [repr((u.id, u.text, u.phoneme_text, u.speaker, u.seconds, u.meta)).encode() for u in dataset]
    found += [array.tobytes() for u in dataset for array in (u.mel, u.phonemes) if array is not None]
    batch = collate(dataset)
    return [*found, batch.mel.tobytes(), batch.phonemes.tobytes()]


# A process for all rounds, which no other test shares.
@pytest.mark.usefixtures("own_hdf5_process")
def test_every_damage_at_random_places_is_found_by_verify_and_never_crashes_the_reader(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SharedProcess() as shared:
        monkeypatch.setattr("tts_prep.format.files.child_process.child_process", shared.lend)
        damage_and_check(copy)


def damage_and_check(copy: Path) -> None:
    random_ = random.Random(6)
    paths = files_of(copy)
    whole = read_everything(copy, verify=True)
    for number in range(ROUNDS):
        path, way = random_.choice(paths), WAYS[number % len(WAYS)]
        before = path.read_bytes()
        damage(path, way, random_)
        name = str(path.relative_to(copy))
        try:
            found = faults(copy)
        except StoreError as error:
            assert name == "manifest.json", (way, name)
            assert "manifest.json" in str(error)
        else:
            assert name in found, (way, name)
        with pytest.raises(TtsPrepError):
            read_everything(copy, verify=True)
        with contextlib.suppress(TtsPrepError):
            read_everything(copy, verify=False)
        path.write_bytes(before)
    assert read_everything(copy, verify=True) == whole
    assert not faults(copy)


def test_files_that_were_exchanged_are_found(copy: Path) -> None:
    a, b = copy / "shards/00000.h5", copy / "shards/00001.h5"
    a.rename(copy / "x")
    b.rename(a)
    (copy / "x").rename(b)
    found = faults(copy)
    assert set(found) == {"shards/00000.h5", "shards/00001.h5"}


@pytest.mark.parametrize("name", ["mel", "phonemes", "columns/text/bytes", "header"])
def test_a_changed_byte_is_found_in_the_dataset_where_it_is(copy: Path, name: str) -> None:
    path = copy / "shards/00001.h5"
    place = read_locations(path)[name]
    data = bytearray(path.read_bytes())
    data[place.offset + place.size // 2] ^= 0x10
    path.write_bytes(data)
    assert list(faults(copy)) == ["shards/00001.h5"]
    assert f"'{name}' does not match the checksums in the file" in faults(copy)["shards/00001.h5"]
    with pytest.raises(CorruptStoreError, match=rf"shards/00001\.h5: .*'{name}'"):
        UtteranceDataset(copy, verify=True)


def test_a_shard_that_was_cut_names_the_arrays_that_are_cut_off(copy: Path) -> None:
    path = copy / "shards/00002.h5"
    place = read_locations(path)["phonemes"]
    os.truncate(path, place.offset + 8)
    assert "'phonemes' cut off" in faults(copy)["shards/00002.h5"]


def test_a_change_outside_of_every_dataset_is_said_to_be_there(copy: Path) -> None:
    path = copy / "shards/00001.h5"
    place = read_locations(path)["phonemes"]
    data = bytearray(path.read_bytes())
    data[place.offset + place.size + 8] ^= 1
    path.write_bytes(data)
    assert faults(copy)["shards/00001.h5"].endswith(": outside of all datasets")


def test_a_manifest_with_one_other_digit_is_found(copy: Path) -> None:
    text = (copy / "manifest.json").read_text(encoding="utf-8")
    mean = json.loads(text)["mel_statistics"]["mean"][3]
    (copy / "manifest.json").write_text(text.replace(str(mean), str(mean + 1)), encoding="utf-8")
    assert "its own checksum is" in faults(copy)["manifest.json"]
    with pytest.raises(CorruptStoreError, match=r"manifest\.json: .*its own checksum"):
        UtteranceDataset(copy, verify=True)


def test_rows_that_overlap_are_found_although_every_checksum_is_right(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([7, 3, 9, 4, 5]), n_shards=2)
    with h5py.File(store / "index.h5", "r+") as index:
        starts = index["columns/mel_start"]
        starts[1] = starts[1] - 1
    assert "index.h5" in faults(store)


def test_repair_makes_only_the_broken_shards_and_gives_the_same_bytes(copy: Path, store: Path, corpus: Path) -> None:
    random_ = random.Random(3)
    damage_and_keep = copy / "shards/00001.h5"
    data = bytearray(damage_and_keep.read_bytes())
    data[random_.randrange(len(data))] ^= 0xFF
    damage_and_keep.write_bytes(data)
    (copy / "index.h5").unlink()
    kept = {name: (copy / name).stat().st_mtime_ns for name in ("shards/00000.h5", "shards/00002.h5")}
    result, broken = repair_store(copy, corpus)
    assert sorted(broken) == ["index.h5", "shards/00001.h5"]
    assert result.shards_made == 1
    assert contents(copy) == contents(store)
    assert kept == {name: (copy / name).stat().st_mtime_ns for name in kept}


@pytest.mark.parametrize("victim", ["manifest.json", "failures.jsonl", "index.h5", "shards/00002.h5"])
@pytest.mark.parametrize("how", ["gone", "changed", "cut"])
def test_repair_brings_back_whatever_was_broken(copy: Path, store: Path, corpus: Path, victim: str, how: str) -> None:
    path = copy / victim
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(data[: len(data) // 2] if how == "cut" else data[:-20] + b"x" * 20)
    if (victim, how) == ("failures.jsonl", "cut"):
        path.write_bytes(b"{}")
    repair_store(copy, corpus)
    assert contents(copy) == contents(store)


def test_repair_of_a_whole_store_changes_nothing(copy: Path, corpus: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in files_of(copy)}
    result, broken = repair_store(copy, corpus)
    assert (result.shards_made, broken) == (0, [])
    assert before == {path: path.stat().st_mtime_ns for path in files_of(copy)}


def test_repair_from_another_corpus_is_refused_and_changes_nothing(copy: Path, tmp_path: Path) -> None:
    other = write_ljspeech(tmp_path / "other", ("One.", "Two."))
    (copy / "shards/00001.h5").unlink()
    before = contents(copy)
    with pytest.raises(StoreError, match="not made from the rows and recordings of"):
        repair_store(copy, other)
    assert contents(copy) == before


def test_index_failures_and_manifest_can_be_made_again_from_the_shards_alone(copy: Path, store: Path) -> None:
    for name in ("index.h5", "failures.jsonl", "manifest.json"):
        (copy / name).unlink()
    reindex_store(copy)
    assert contents(copy) == contents(store)


def test_a_store_with_failures_and_speakers_is_reindexed_to_the_same_bytes(own_corpus: Path, tmp_path: Path) -> None:
    (own_corpus / "wavs/S-0002.wav").unlink()
    store = tmp_path / "s"
    config = Configuration(store=StoreConfig(shard_utterances=2, waveform_dtype="int16", mel_dtype="float16"))
    prepare(read_ljspeech(own_corpus), own_corpus, store, config, max_failures=1)
    before = contents(store)
    (store / "manifest.json").write_text("broken")
    (store / "index.h5").unlink()
    reindex_store(store)
    assert contents(store) == before
    (store / "shards/00001.h5").unlink()
    repair_store(store, own_corpus)
    assert contents(store) == before


def test_a_store_that_was_begun_and_not_finished_is_not_made_whole_by_reindexing(corpus: Path, tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(
            read_ljspeech(corpus),
            corpus,
            tmp_path / "s",
            Configuration(store=StoreConfig(shard_utterances=3)),
            progress=stop,
        )
    assert (tmp_path / "s/shards/00000.h5").exists()
    with pytest.raises(StoreError, match=r"2 of 3 shards missing, shards/00001\.h5 first; run the command"):
        reindex_store(tmp_path / "s")


@pytest.mark.parametrize("victim", ["00001", "00002"])
@pytest.mark.parametrize("known_by", ["manifest.json", "plan.json"])
def test_a_missing_shard_is_noticed_by_the_manifest_or_the_plan_alone(copy: Path, victim: str, known_by: str) -> None:
    (copy / ({"manifest.json", "plan.json"} - {known_by}).pop()).unlink()
    (copy / f"shards/{victim}.h5").unlink()
    with pytest.raises(CorruptStoreError, match=rf"{victim}\.h5(: cannot be opened| first)"):
        reindex_store(copy)


def test_a_finished_shard_that_rotted_is_made_again_and_not_trusted(copy: Path, store: Path, corpus: Path) -> None:
    (copy / "manifest.json").unlink()
    path = copy / "shards/00001.h5"
    place = read_locations(path)["mel"]
    data = bytearray(path.read_bytes())
    data[place.offset + 100] ^= 1
    path.write_bytes(data)
    config = Configuration(store=StoreConfig(shard_utterances=3))
    assert prepare(read_ljspeech(corpus), corpus, copy, config).shards_made == 1
    assert contents(copy) == contents(store)


def test_a_store_that_was_verified_gives_what_the_shards_hold(store: Path) -> None:
    dataset = UtteranceDataset(store, verify=True)
    with h5py.File(store / "shards/00000.h5") as shard:
        np.testing.assert_array_equal(dataset[0].mel, shard["mel"][: dataset.n_frames[0]])
