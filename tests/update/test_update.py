"""Updates of a store: the bytes of a fresh build, at the cost of the rows that changed."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from commands import run
from corpora import SAMPLE_RATE, speech_like
from killing import contents
from stores import of_room

import tts_prep.preprocess
from tts_prep.errors import StoreError
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import Configuration, Result, make_feature, prepare
from tts_prep.preprocess.configuration.records import StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.features.energy import EnergyFeature
from tts_prep.preprocess.make import examples, shards

add_features = of_room("additions.add_arrays", "add_features")
holds_measures = of_room("checks.measuring", "holds_measures")
imported = of_room("imports.arrays", "make_imported")
verify_store = of_room("verification.files", "verify_store")

SMALL = Configuration(text=TextConfig(frontend="characters", unknown="drop"), store=StoreConfig(shard_utterances=2))


@dataclass(frozen=True)
class Row:
    """A row of a corpus. Recordings of different voices have different sizes, so that a change is detected."""

    id: str
    text: str
    voice: int


MANY = [Row(f"S-{number:04d}", f"Row number {number}.", number) for number in range(16)]
ROWS = MANY[:7]


def write(root: Path, rows: Sequence[Row]) -> Path:
    (root / "wavs").mkdir(parents=True, exist_ok=True)
    for row in rows:
        soundfile.write(root / f"wavs/{row.id}.wav", speech_like(0.2 + row.voice / 1000, row.voice), SAMPLE_RATE)
    lines = "".join(f"{row.id}|{row.text}|{row.text}\n" for row in rows)
    (root / "metadata.csv").write_text(lines, encoding="utf-8")
    return root


def make(root: Path, store: Path, rows: Sequence[Row], config: Configuration = SMALL, **options: Any) -> Result:
    write(root, rows)
    return prepare(read_ljspeech(root), root, store, config, **options)


def energy() -> Any:
    return make_feature("energy", {}, SMALL.mel)


def linked(before: dict[str, int], store: Path) -> list[str]:
    """Return the files of a store that are those of an earlier one, under whichever name."""
    return sorted(name for name, inode in inodes(store).items() if inode in before.values())


def shards_of(store: Path) -> list[tuple[str, ...]]:
    """Return the ids in each shard."""
    dataset = UtteranceDataset(store)
    ids, shards = [*dataset.id], np.asarray(dataset.column("shard"))
    return [tuple(ids[row] for row in np.flatnonzero(shards == shard)) for shard in range(shards[-1] + 1)]


def inodes(store: Path) -> dict[str, int]:
    return {path.relative_to(store).as_posix(): path.stat().st_ino for path in store.rglob("*.h5")}


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the ids of the utterances whose energy has been computed."""
    found: list[str] = []
    compute = EnergyFeature.compute

    def counted(self: EnergyFeature, utterance: Any) -> Any:
        found.append(utterance.id)
        return compute(self, utterance)

    monkeypatch.setattr(EnergyFeature, "compute", counted)
    return found


EDITS = {
    "a row at the end": [*MANY, Row("S-0099", "At the end.", 50)],
    "a row at the start": [Row("A-0000", "At the start.", 51), *MANY],
    "a row in the middle": [*MANY[:11], Row("S-0010b", "In the middle.", 52), *MANY[11:]],
    "without the first row": MANY[1:],
    "without a row in the middle": [*MANY[:13], *MANY[14:]],
    "another text": [*MANY[:9], replace(MANY[9], text="Other words."), *MANY[10:]],
    "another recording": [*MANY[:9], replace(MANY[9], voice=60), *MANY[10:]],
}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a corpus and its store, of which tests make copies."""
    folder = tmp_path_factory.mktemp("many")
    make(folder / "corpus", folder / "store", MANY, features=[energy()])
    return folder


# Every kind of change, and both ends of the corpus.
SOME = ("a row at the end", "without the first row", "another text", "another recording")


@pytest.mark.parametrize(
    "name", [*SOME, *(pytest.param(name, marks=pytest.mark.soak) for name in EDITS if name not in SOME)]
)
def test_an_update_makes_the_shards_around_an_edit_only_and_links_all_others(
    tmp_path: Path, computed: list[str], many: Path, name: str
) -> None:
    shutil.copytree(many, tmp_path, dirs_exist_ok=True)
    before, old = inodes(tmp_path / "store"), shards_of(tmp_path / "store")
    computed.clear()
    result = make(tmp_path / "corpus", tmp_path / "store", EDITS[name], existing="update")
    new = shards_of(tmp_path / "store")
    changed = {row.id for row in EDITS[name] if row not in MANY}
    made = [shard for shard in new if shard not in old or changed & {*shard}]
    assert len(made) <= 3
    assert (result.shards_made, result.incomplete) == (len(made), ())
    # Other rows of these shards are kept, too.
    assert computed == [row.id for row in EDITS[name] if row.id in changed]
    kept = [number for number, shard in enumerate(new) if shard not in made]
    files = [f"{folder}/{number:05d}.h5" for folder in ("arrays/energy", "shards") for number in kept]
    assert linked(before, tmp_path / "store") == files
    make(tmp_path / "corpus", tmp_path / "fresh", EDITS[name], features=[energy()])
    assert contents(tmp_path / "store") == contents(tmp_path / "fresh")


def test_a_shard_with_a_failed_row_is_made_again_if_the_line_of_the_row_moves(tmp_path: Path) -> None:
    missing = Row("S-0005b", "No recording.", 0)
    rows = [*MANY[:6], missing, *MANY[6:]]
    for name, written in (("corpus", rows), ("moved", [Row("A-0000", "At the start.", 51), *rows])):
        write(tmp_path / name, written)
        (tmp_path / f"{name}/wavs/{missing.id}.wav").unlink()
    store, fresh = tmp_path / "store", tmp_path / "fresh"
    prepare(read_ljspeech(tmp_path / "corpus"), tmp_path / "corpus", store, SMALL, max_failures=1)
    moved = tmp_path / "moved"
    prepare(read_ljspeech(moved), moved, store, SMALL, max_failures=1, existing="update")
    prepare(read_ljspeech(moved), moved, fresh, SMALL, max_failures=1)
    assert contents(store) == contents(fresh)
    assert "metadata.csv:8" in (store / "failures.jsonl").read_text(encoding="utf-8")


def test_an_imported_array_that_is_given_again_is_read_for_changed_shards_only(tmp_path: Path) -> None:
    def tokens(rows: Sequence[Row]) -> Any:
        np.savez(tmp_path / "tokens.npz", **{row.id: np.arange(row.voice + 1) for row in rows})
        return imported(f"tokens={tmp_path / 'tokens.npz'}")

    make(tmp_path / "corpus", tmp_path / "store", MANY[:-1], features=[tokens(MANY[:-1])])
    before, old = inodes(tmp_path / "store"), shards_of(tmp_path / "store")
    make(tmp_path / "corpus", tmp_path / "store", MANY, existing="update", features=[tokens(MANY)])
    assert [name for name in linked(before, tmp_path / "store") if "tokens" in name] == [
        f"arrays/tokens/{number:05d}.h5" for number, shard in enumerate(shards_of(tmp_path / "store")) if shard in old
    ]
    make(tmp_path / "corpus", tmp_path / "fresh", MANY, features=[tokens(MANY)])
    assert contents(tmp_path / "store") == contents(tmp_path / "fresh")


def vectors(path: Path, rows: Sequence[Row], first: float) -> Any:
    np.savez(path, **{row.id: np.full(3, first if row is rows[0] else 1.0, np.float32) for row in rows})
    return imported(f"vec@utterance={path}")


def test_an_imported_array_whose_file_has_changed_is_read_again_by_an_update_and_named_by_the_same_command(
    tmp_path: Path,
) -> None:
    corpus, store = write(tmp_path / "corpus", ROWS), tmp_path / "store"

    def run_(store: Path, first: float, **options: Any) -> Result:
        features = [vectors(tmp_path / "v.npz", ROWS, first)]
        return prepare(read_ljspeech(corpus), corpus, store, SMALL, features=features, **options)

    run_(store, 2.0)
    before = inodes(store)
    with pytest.raises(StoreError, match="store: older than the files that 'vec' was made from; --update"):
        run_(store, 3.0)
    run_(store, 3.0, existing="update")
    # Only the file of the changed value is another one.
    assert {*before} - {*linked(before, store)} == {"arrays/vec/00000.h5", "index.h5"}
    run_(tmp_path / "fresh", 3.0)
    assert contents(store) == contents(tmp_path / "fresh")
    add_features(store, [vectors(tmp_path / "v.npz", ROWS, 4.0)])
    run_(tmp_path / "other", 4.0)
    assert contents(store) == contents(tmp_path / "other")


@pytest.mark.whole
def test_durations_whose_alignments_have_changed_are_made_again(tmp_path: Path) -> None:
    corpus, store, folder = write(tmp_path / "corpus", ROWS), tmp_path / "store", tmp_path / "durations"
    prepare(read_ljspeech(corpus), corpus, store, SMALL)
    for utterance in UtteranceDataset(store):
        folder.mkdir(exist_ok=True)
        durations = np.ones(len(utterance.phonemes), np.int64)
        durations[0] += len(utterance.mel) - len(durations)
        np.save(folder / f"{utterance.id}.npy", durations)

    def run_(store: Path, **options: Any) -> Result:
        features = [make_feature("durations", {}, SMALL.mel, folder)]
        return prepare(read_ljspeech(corpus), corpus, store, SMALL, features=features, **options)

    run_(store, existing="overwrite")
    path = folder / f"{ROWS[2].id}.npy"
    np.save(path, np.load(path)[::-1])
    with pytest.raises(StoreError, match="older than the files that 'durations' was made from"):
        run_(store)
    run_(store, existing="update")
    run_(tmp_path / "fresh")
    assert contents(store) == contents(tmp_path / "fresh")


def first_frames(utterance: Any) -> Any:
    return utterance.mel[:, 0].astype(np.float32)


@pytest.mark.whole
def test_an_array_is_kept_where_all_rows_have_values_and_else_left_out_and_named(tmp_path: Path) -> None:
    store = tmp_path / "store"
    make(tmp_path / "corpus", store, ROWS)
    tts_prep.preprocess.add_array(store, "first", first_frames)
    values = {utterance.id: np.array(utterance.arrays["first"]) for utterance in UtteranceDataset(store)}
    # The first row is gone, so that every row lies elsewhere.
    result = make(tmp_path / "corpus", store, ROWS[1:], existing="update")
    assert result.incomplete == ()
    dataset = UtteranceDataset(store, verify=True)
    assert [utterance.id for utterance in dataset] == [row.id for row in ROWS[1:]]
    for utterance in dataset:
        np.testing.assert_array_equal(utterance.arrays["first"], values[utterance.id])
    result = make(tmp_path / "corpus", store, [*ROWS[1:6], replace(ROWS[6], voice=30)], existing="update")
    (incomplete,) = result.incomplete
    assert (incomplete.spec.name, incomplete.rows, incomplete.is_kept) == ("first", 1, False)
    assert "first" not in UtteranceDataset(store, verify=True).arrays


@pytest.mark.whole
def test_columns_are_kept_for_unchanged_rows_and_missing_for_others(tmp_path: Path) -> None:
    store = tmp_path / "store"
    make(tmp_path / "corpus", store, ROWS[:6])
    labels = ["good", "bad", "good", "", "bad", "good"]
    tts_prep.preprocess.add_columns(store, {"id": [row.id for row in ROWS[:6]], "score": [*range(6)], "label": labels})
    changed = [ROWS[6], ROWS[0], replace(ROWS[1], text="Another text."), *ROWS[2:6]]
    (incomplete,) = make(tmp_path / "corpus", store, changed, existing="update").incomplete
    assert (incomplete.rows, incomplete.is_kept) == (2, True)
    columns = UtteranceDataset(store, verify=True).columns
    np.testing.assert_array_equal(columns["score"], [np.nan, 0, np.nan, 2, 3, 4, 5])
    assert [*columns["label"]] == ["", "good", "", "good", "", "bad", "good"]


@pytest.mark.whole
def test_categories_without_an_empty_value_are_kept_and_new_rows_have_an_empty_text(tmp_path: Path) -> None:
    store, fresh = tmp_path / "store", tmp_path / "fresh"
    make(tmp_path / "corpus", store, MANY[:-1])
    ids = [row.id for row in MANY]
    keep = [("yes", "no", "unsure")[number % 3] for number in range(15)]
    kind = ["" if number == 4 else "ab"[number % 2] for number in range(15)]
    tts_prep.preprocess.add_columns(store, {"id": ids[:-1], "keep": keep, "kind": kind, "mos": range(15)})
    old = shards_of(store)
    changed = [*MANY[:9], replace(MANY[9], text="Other words."), *MANY[10:]]
    (incomplete,) = make(tmp_path / "corpus", store, changed, existing="update").incomplete
    assert (incomplete.rows, incomplete.is_kept) == (2, True)
    # Shards that were taken over, and rows that were kept in shards that were made.
    assert {*old} & {*shards_of(store)}
    keep[9], kind[9] = "", ""
    dataset = UtteranceDataset(store, verify=True)
    assert [*dataset.keep] == [*keep, ""]
    assert [*dataset.kind] == [*kind, ""]
    # By its name, it depends on the recording alone.
    np.testing.assert_array_equal(dataset.mos, [*range(15), np.nan])
    assert dataset.filter(lambda m: m.keep == "no").id[0] == ids[1]
    assert [fault for _, fault in verify_store(store) if fault] == []
    # The same values and categories as if somebody had added them to a fresh build; only the checksum is the first one.
    make(tmp_path / "corpus", fresh, changed)
    tts_prep.preprocess.add_columns(fresh, {"id": ids[:-1], "keep": keep, "kind": kind, "mos": range(15)})
    specs = [read_manifest(path).specs["external_columns"] for path in (store, fresh)]
    assert specs[0].categories == specs[1].categories == {"keep": ("", "no", "unsure", "yes"), "kind": ("", "a", "b")}
    # The next update links the files of columns again.
    before = inodes(store)
    make(tmp_path / "corpus", store, changed[:-1], existing="update")
    assert any("external_columns" in name for name in linked(before, store))
    assert [*UtteranceDataset(store, verify=True).keep] == keep


@pytest.mark.whole
def test_the_command_names_what_an_update_leaves_out_and_the_command_that_adds_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:

    store, options = tmp_path / "store", ("--shard-utterances", 2, "--frontend", "characters", "--jobs", 1)
    np.savez(tmp_path / "tokens.npz", **{row.id: np.arange(3) for row in ROWS})
    run(capsys, "ljspeech", write(tmp_path / "corpus", ROWS[:6]), store, *options)
    assert run(capsys, "add", store, "--array", f"tokens={tmp_path / 'tokens.npz'}", "--measures", "--jobs", 1)[0] == 0
    update = ("ljspeech", write(tmp_path / "corpus", ROWS), store, *options, "--update")
    status, out, err = run(capsys, *update)
    assert (status, err) == (0, "")
    adds, lines = f"'tts-prep add {store}", out.splitlines()
    tokens = f"tokens: left out, no values for 1 row, new or changed; {adds} --array tokens@own=PATH' adds it again"
    assert tokens in lines
    # Measures are made again, of all rows; they are columns, not arrays.
    assert "measures" not in out
    dataset = UtteranceDataset(store)
    assert holds_measures(dataset)
    assert np.isfinite(dataset.columns["text_copies"]).tolist() == [True] * len(ROWS)
    assert run(capsys, *update)[1].endswith("the store was already complete; nothing was made\n")


@pytest.mark.whole
def test_an_update_measures_waveforms_of_new_rows_only_and_what_compares_rows_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tts_prep.checks import waveforms

    store, fresh = tmp_path / "store", tmp_path / "fresh"
    options = ("--shard-utterances", 4, "--frontend", "characters", "--waveform", "int16", "--jobs", 1)
    run(capsys, "ljspeech", write(tmp_path / "corpus", MANY), store, *options)
    run(capsys, "add", store, "--measures")
    # Copies of others, and a row whose recording has changed.
    rows = [
        Row("A-0000", MANY[14].text, 14),
        *MANY[:9],
        replace(MANY[9], voice=60),
        *MANY[10:],
        Row("S-0099", "A copy.", 3),
    ]
    measured: list[int] = []
    loudness = waveforms.loudness

    def counted(samples: Any, *settings: Any) -> float:
        measured.append(len(samples))
        return loudness(samples, *settings)

    monkeypatch.setattr(waveforms, "loudness", counted)
    status, out, err = run(capsys, "ljspeech", write(tmp_path / "corpus", rows), store, *options, "--update")
    assert (status, err, "left out" in out) == (0, "", False)
    assert len(measured) == 3
    run(capsys, "ljspeech", tmp_path / "corpus", fresh, *options)
    run(capsys, "add", fresh, "--measures")
    assert contents(store) == contents(fresh)
    assert np.count_nonzero(np.asarray(UtteranceDataset(store).columns["audio_copy_of"]) >= 0) == 2


@dataclass(frozen=True)
class Edit:
    """An edit of a corpus."""

    kind: str
    place: int
    voice: int

    def of(self, rows: list[Row], number: int) -> list[Row]:
        place = self.place % len(rows)
        new = Row(f"S-{100 + number:04d}", f"Some words, {self.voice}.", self.voice)
        changed = {"text": new.text} if self.kind == "text" else {"voice": 100 + self.voice}
        others = [*rows[:place], *rows[place + 1 :]]
        return {
            "append": [*rows, new],
            "insert": [*rows[:place], new, *rows[place:]],
            "delete": others or rows,
            "reorder": [*rows[place:], *rows[:place]],
        }.get(self.kind, [*rows[:place], replace(rows[place], **changed), *rows[place + 1 :]])


EDIT_KINDS = ("append", "insert", "delete", "text", "recording", "reorder")


@pytest.mark.soak
def test_kills_of_updates_leave_the_old_store_or_the_bytes_of_a_fresh_build(tmp_path: Path) -> None:
    choose = random.Random(int(os.environ.get("SEED", "1")))
    corpus, store, fresh = tmp_path / "corpus", tmp_path / "store", tmp_path / "fresh"
    options = ["--frontend", "characters", "--shard-utterances", "4", "--waveform", "int16", "--jobs", "2", "-q"]
    command = [sys.executable, "-m", "tts_prep"]
    rows, kills, step = list(MANY), 0, 0
    write(corpus, rows)
    subprocess.run([*command, "ljspeech", corpus, store, *options, "--feature", "energy"], check=True)
    subprocess.run([*command, "add", store, "--measures", "-q"], check=True)
    while kills < int(os.environ.get("KILLS", "200")):
        step += 1
        for number in range(choose.randint(1, 3)):
            edit = Edit(choose.choice(EDIT_KINDS), choose.randrange(30), choose.randrange(100))
            rows = edit.of(rows, 10 * step + number)
        write(corpus, rows)
        before, longest, seen = contents(store), choose.uniform(0.5, 6), []
        update = [*command, "ljspeech", corpus, store, *options, "--update"]
        for _ in range(3):
            process = subprocess.Popen(update, start_new_session=True)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(choose.uniform(0.1, longest))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
            else:
                break
            # A kill during the exchange is set right by the next command that opens the store.
            UtteranceDataset(store, verify=True)
            seen.append(contents(store))
            seen[-1].pop(".lock", None)
        subprocess.run(update, check=True)
        shutil.rmtree(fresh, ignore_errors=True)
        subprocess.run([*command, "ljspeech", corpus, fresh, *options, "--feature", "energy"], check=True)
        subprocess.run([*command, "add", fresh, "--measures", "-q"], check=True)
        assert contents(store) == contents(fresh), (step, kills)
        assert all(one in (before, contents(fresh)) for one in seen), (step, kills)
        assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    print(f"{kills} kills of updates in {step} steps")


@pytest.mark.whole
def test_free_texts_of_unchanged_rows_are_kept_and_new_rows_have_empty_ones(tmp_path: Path) -> None:
    store, notes = tmp_path / "store", ["n" * 300, "", "two\nlines", "ä", "e", "f"]
    make(tmp_path / "corpus", store, ROWS[:6])
    tts_prep.preprocess.add_columns(store, {"id": [row.id for row in ROWS[:6]], "note": notes, "heard": notes[::-1]})
    changed = [ROWS[0], replace(ROWS[1], text="Another text."), *ROWS[2:6], ROWS[6]]
    result = make(tmp_path / "corpus", store, changed, existing="update")
    dataset = UtteranceDataset(store, verify=True)
    assert list(dataset.note) == [notes[0], "", *notes[2:], ""]
    assert list(dataset.heard) == [notes[5], "", *notes[3::-1], ""]
    assert [(array.spec.text_columns, array.rows, array.is_kept) for array in result.incomplete] == [
        (("heard", "note"), 2, True)
    ]


def test_texts_of_new_rows_are_read_together_before_their_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    read_ahead, read_recording = shards.read_ahead, examples.read_recording

    def reading_text(row: Any, config: Any) -> None:
        calls.append(row.text)
        read_ahead(row, config)

    def reading(utterance: Any, recipe: Any, **options: Any) -> Any:
        calls.append(utterance.id)
        return read_recording(utterance, recipe, **options)

    monkeypatch.setattr(shards, "read_ahead", reading_text)
    monkeypatch.setattr(examples, "read_recording", reading)
    monkeypatch.setattr(shards, "_TEXTS_AT_ONCE", 4)
    config = replace(SMALL, store=StoreConfig(shard_utterances=6))
    rows = [replace(row, text="" if row.voice == 2 else row.text) for row in MANY[:6]]
    make(tmp_path, tmp_path / "store", rows, config, max_failures=1)
    # The third row has no text, and fails before its recording is read.
    texts = [row.text for row in rows]
    names = ["S-0000", "S-0001", "S-0003"]
    in_one_shard = [*texts[:4], *names, *texts[4:], "S-0004", "S-0005"]
    assert [call for call in calls if call] == [call for call in in_one_shard if call]
    calls.clear()
    edited = [*rows[:5], replace(rows[5], text="Other words.")]
    make(tmp_path, tmp_path / "store", edited, config, existing="update", max_failures=1)
    assert [call for call in calls if call] == ["Other words.", "S-0005"]


@pytest.mark.whole
@pytest.mark.parametrize(
    "rows", [MANY[:9], [*MANY[:11], Row("S-0099", "New.", 70)], [replace(MANY[0], text="New."), *MANY[1:]]]
)
def test_categories_are_those_of_the_rows_after_some_were_removed_or_changed(
    tmp_path: Path, many: Path, rows: list[Row]
) -> None:
    shutil.copytree(many, tmp_path, dirs_exist_ok=True)
    tts_prep.preprocess.add_columns(
        tmp_path / "store", {"id": [row.id for row in MANY], "note": [f"note {row.id}" for row in MANY]}
    )
    make(tmp_path / "corpus", tmp_path / "store", rows, existing="update")
    # A changed row has no value any more.
    expected = [f"note {row.id}" if row in MANY else "" for row in rows]
    assert list(UtteranceDataset(tmp_path / "store").column("note")) == expected
    spec = read_manifest(tmp_path / "store").specs["external_columns"]
    assert spec.categories == {"note": tuple(sorted({*expected}))}
    assert not [fault for _, fault in verify_store(tmp_path / "store") if fault]
