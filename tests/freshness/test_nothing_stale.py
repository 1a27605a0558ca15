"""Each input of a store, changed before each command: the bytes are those of a fresh build, or a line names it."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pytest
import soundfile
from commands import run
from corpora import SAMPLE_RATE, speech_like, write_text
from killing import contents

from tts_prep.format.records.manifest import read_manifest

IDS: Final = ("S-0000", "S-0001", "S-0002", "S-0003")


class Place:
    """A corpus, with all files that a store is made from, and the store."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.corpus, self.store = folder, folder / "corpus", folder / "store"

    def write(self) -> Place:
        """Write the files, and return this place."""
        folder = self.folder
        (self.corpus / "wavs").mkdir(parents=True)
        for number, uid in enumerate(IDS):
            soundfile.write(self.corpus / f"wavs/{uid}.wav", speech_like(0.2, number), SAMPLE_RATE)
        write_text(self.corpus / "metadata.csv", "".join(f"{uid}|ab|ab\n" for uid in IDS))
        write_text(folder / "symbols.txt", "_\na\nb\n")
        write_text(folder / "corrections.csv", "id,text\nS-0001,ba\n")
        write_text(folder / "exclude.txt", "S-0003\n")
        write_text(folder / "scores.csv", "id,path,note\nS-0000,0.5,a\n")
        write_text(folder / "settings.toml", "[audio]\nfmin = 50.0\n")
        self.arrays(1.0)
        (folder / "durations").mkdir()
        for uid in IDS:
            self.durations(uid, 1)
        return self

    def arrays(self, value: float) -> None:
        np.savez(self.folder / "v.npz", **{uid: np.full(2, value, np.float32) for uid in IDS})

    def durations(self, uid: str, first: int) -> None:
        n_frames = 1 + len(soundfile.read(self.corpus / f"wavs/{uid}.wav")[0]) // 256
        np.save(self.folder / f"durations/{uid}.npy", np.array([first, n_frames - first]))

    def command(self, store: Path) -> tuple[object, ...]:
        return (
            *("ljspeech", self.corpus, store, "--frontend", "characters", "--symbols", self.folder / "symbols.txt"),
            *("--config", self.folder / "settings.toml", "--alignments", self.folder / "durations"),
            *("--array", f"vec@utterance={self.folder / 'v.npz'}", "--corrections", self.folder / "corrections.csv"),
            *("--exclude", self.folder / "exclude.txt", "--shard-utterances", 2),
        )


def replaced(path: Path, samples: int) -> None:
    """Write a recording of other samples, with the size of so many."""
    soundfile.write(path, speech_like(0.2, 9)[:samples], SAMPLE_RATE)


def same_size(place: Place) -> None:
    path = place.corpus / "wavs/S-0001.wav"
    size = path.stat().st_size
    replaced(path, len(speech_like(0.2, 1)))
    assert path.stat().st_size == size


def other_size(place: Place) -> None:
    replaced(place.corpus / "wavs/S-0001.wav", len(speech_like(0.2, 1)) - 2)


INPUTS: Final[dict[str, Callable[[Place], object]]] = {
    "recording, same size": same_size,
    "recording, other size": other_size,
    "text": lambda place: write_text(
        place.corpus / "metadata.csv",
        "".join(f"{uid}|{text}|{text}\n" for uid, text in zip(IDS, ["ba", "ab", "ab", "ab"], strict=True)),
    ),
    "symbol table": lambda place: write_text(place.folder / "symbols.txt", "_\nb\na\n"),
    "alignments": lambda place: place.durations("S-0001", 2),
    "array files": lambda place: place.arrays(2.0),
    "corrections": lambda place: write_text(place.folder / "corrections.csv", "id,text\nS-0001,aa\n"),
    "exclusions": lambda place: write_text(place.folder / "exclude.txt", "S-0000\n"),
    "settings": lambda place: write_text(place.folder / "settings.toml", "[audio]\nfmin = 60.0\n"),
    "versions": lambda place: None,
}

NAMED: Final = {
    "recording, same size": "older than 1 recording: wavs/S-0001.wav",
    "recording, other size": "the corpus has changed|not made from the rows",
    "text": "the corpus has changed|not made from the rows",
    "symbol table": r"text\.symbols",
    "alignments": "older than the files .*durations",
    "array files": "older than the files .*vec",
    "corrections": "other corrections|the corpus has changed",
    "exclusions": "other corrections|the corpus has changed",
    "settings": r"audio\.fmin",
    "versions": r"software\.soxr|made with soxr",
}
"""What the line says that names an input."""

COMMANDS: Final = ("same", "update", "add", "repair", "export", "finish")


@pytest.fixture
def newer_soxr(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what makes this program believe in another version of a library."""
    from tts_prep.preprocess.plan import shard_settings

    versions = shard_settings.software_versions

    def install() -> None:
        monkeypatch.setattr(shard_settings, "software_versions", lambda: {**versions(), "soxr": "99.0"})

    return install


class Kept:
    """A place with a store that was made, in one run or in parts, which tests change."""

    def __init__(self, folder: Path, parts: Sequence[tuple[str, ...]]) -> None:
        self._copy, self._place, self._parts, self._number = folder / "copy", folder / "place", parts, 0

    def place(self, capsys: pytest.CaptureFixture[str]) -> Place:
        """Return it as it was when the store had been made."""
        store = self._place / "store"
        if not store.exists() or store.stat().st_ino != self._number:
            # A store knows its folder by the number of it, which an update changes.
            self._make(capsys)
        for path in (*self._place.iterdir(), *store.iterdir()):
            if path.is_dir() and path != store:
                shutil.rmtree(path)
            elif path != store:
                path.unlink()
        shutil.copytree(self._copy, self._place, dirs_exist_ok=True)
        return Place(self._place)

    def _make(self, capsys: pytest.CaptureFixture[str]) -> None:
        for path in (self._place, self._copy):
            shutil.rmtree(path, ignore_errors=True)
        place = Place(self._place).write()
        for part in self._parts:
            assert run(capsys, *place.command(place.store), *part)[0] == 0
        shutil.copytree(self._place, self._copy)
        self._number = place.store.stat().st_ino


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return Kept(tmp_path_factory.mktemp("whole"), [()])


@pytest.fixture(scope="module")
def in_parts(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return Kept(tmp_path_factory.mktemp("parts"), [("--part", "1/2"), ("--part", "2/2")])


@pytest.mark.whole
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", INPUTS)
def test_after_a_change_of_an_input_the_result_is_that_of_a_fresh_build_or_a_line_names_it(
    name: str,
    command: str,
    whole: Kept,
    in_parts: Kept,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    newer_soxr: Callable[[], None],
) -> None:
    place = (in_parts if command == "finish" else whole).place(capsys)
    make, store = place.command(place.store), place.store
    INPUTS[name](place)
    if name == "versions":
        newer_soxr()
    status, out, err = run(
        capsys,
        *{
            "same": make,
            "update": (*make, "--update"),
            "add": ("add", store, "--corpus", place.corpus, "--feature", "energy"),
            "repair": ("verify", store, "--repair", place.corpus),
            "export": ("export", store, tmp_path / "export", "--to", "kaldi"),
            "finish": ("finish", store),
        }[command],
    )
    if command == "update":
        assert status == 0, err
        assert run(capsys, *place.command(tmp_path / "fresh"))[0] == 0
        assert contents(store) == contents(tmp_path / "fresh")
        return
    named = [line for line in (out + err).splitlines() if re.search(NAMED[name], line)]
    assert len(named) == 1, (out, err)
    assert str(store) in named[0]


MODEL = '''
import numpy as np
from tts_prep.preprocess import ArraySpec

class Mean:
    """The mean of a waveform."""

    arrays = (ArraySpec("mean", "float32", (), "utterance"),)

    def __init__(self, checkpoint: str) -> None:
        self.scale = float(open(checkpoint).read())

    def __call__(self, waveforms):
        return [np.float32(self.scale * waveform.mean()) for waveform in waveforms]
'''


@pytest.fixture(scope="module")
def with_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("model")).write()
    write_text(place.folder / "mean_of_tests.py", MODEL)
    write_text(place.folder / "weights.txt", "1.0")
    yield place
    sys.modules.pop("mean_of_tests", None)


@pytest.mark.whole
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["mean_of_tests.py", "weights.txt", "scores.csv"])
def test_a_store_whose_model_has_other_code_or_weights_or_whose_columns_have_another_table_is_named(
    name: str, command: str, with_model: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, store = with_model, with_model.store
    monkeypatch.chdir(place.folder)
    monkeypatch.syspath_prepend(str(place.folder))
    make = (*place.command(store), "--waveform", "int16")
    model = ("add", store, "--feature", "mean_of_tests:Mean:checkpoint=weights.txt")
    if not store.exists():
        assert run(capsys, *make)[0] == 0
        status, out, err = run(capsys, *model, "--columns", "scores.csv")
        assert status == 0, err
        assert "older" not in out
    assert "mean" in {name.removesuffix("_numbers") for name in read_manifest(store).array_files}
    path = place.folder / name
    before = path.read_text()
    # The result of the model is the same: what changes is what it is made from.
    write_text(path, before.rstrip("\n") + "\n\n")
    try:
        _, out, err = run(
            capsys,
            *{
                "same": make,
                "update": (*make, "--update"),
                "add": ("add", store, "--license", "cc0-1.0"),
                "repair": ("verify", store, "--repair", place.corpus),
                "export": ("export", store, place.folder / f"export-{name}", "--to", "kaldi"),
                "finish": ("finish", store),
            }[command],
        )
    finally:
        write_text(path, before)
    named = rf"{store}: (has columns older than \S*{name};|older than \S*{name}, with which a model was called)"
    assert re.search(named, out), (out, err)


@pytest.mark.whole
def test_a_model_whose_arrays_were_removed_is_not_compared(
    with_model: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, store = with_model, tmp_path / "store"
    monkeypatch.chdir(place.folder)
    monkeypatch.syspath_prepend(str(place.folder))
    assert run(capsys, *place.command(store), "--waveform", "int16")[0] == 0
    assert run(capsys, "add", store, "--feature", "mean_of_tests:Mean:checkpoint=weights.txt")[0] == 0
    assert run(capsys, "remove", store, "--array", "mean")[0] == 0
    path = place.folder / "weights.txt"
    write_text(path, "1.0\n\n")
    try:
        status, out, err = run(capsys, "add", store, "--license", "cc0-1.0")
    finally:
        write_text(path, "1.0")
    assert (status, "older" in out, err) == (0, False, "")


@pytest.mark.whole
def test_columns_are_compared_with_the_table_that_they_were_read_from_last_and_not_once_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, store, table = Place(tmp_path).write(), tmp_path / "store", tmp_path / "scores.csv"
    again = ("add", store, "--columns", table, "--replace")
    assert run(capsys, *place.command(store))[0] == 0
    assert run(capsys, *again)[0] == 0
    write_text(table, "id,path,note\nS-0000,0.25,b\n")
    status, out, err = run(capsys, *place.command(store), "--update")
    assert (status, err) == (0, "")
    assert (
        f"{store}: has columns older than {table}; 'tts-prep add {store} --columns {table} --replace' adds them" in out
    )
    status, out, err = run(capsys, *again)
    assert (status, "older" in out, err) == (0, False, "")
    write_text(table, "id,path,note\nS-0000,0.125,b\n")
    status, out, err = run(capsys, "remove", store, "--columns", "path")
    assert (status, err) == (0, "")
    # The other column is of this table, too.
    assert "older than" in run(capsys, "add", store, "--license", "cc0-1.0")[1]
    assert run(capsys, "remove", store, "--columns", "note")[0] == 0
    assert "older than" not in run(capsys, "add", store, "--license", "cc-by-4.0")[1]


@pytest.mark.whole
def test_a_text_that_becomes_its_correction_is_named_as_the_record_of_corrections_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path).write()
    make = place.command(place.store)
    assert run(capsys, *make)[0] == 0
    # S-0001 is corrected to ba, which it has now without.
    texts = zip(IDS, ("ab", "ba", "ab", "ab"), strict=True)
    write_text(place.corpus / "metadata.csv", "".join(f"{uid}|{text}|{text}\n" for uid, text in texts))
    status, _, err = run(capsys, *make)
    assert (status, err.count("\n")) == (1, 1)
    assert re.search(f"{place.store}.*other corrections", err)
    assert run(capsys, *make, "--update")[0] == 0
    assert run(capsys, *place.command(tmp_path / "fresh"))[0] == 0
    assert contents(place.store) == contents(tmp_path / "fresh")
