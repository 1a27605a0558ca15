"""Rows that are removed from a store: nothing of them remains, and the rest is that of a store without them."""

from __future__ import annotations

import csv
import os
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from commands import run
from corpora import SAMPLE_RATE, speech_like
from killing import contents

from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import add_array

ERASURES = int(os.environ.get("ERASURES", "0"))
"""The number of erasures of the long form, which has outputs of a model too."""

N_ROWS = 3 * ERASURES or 24
OPTIONS = ("--frontend", "characters", "--unknown", "drop", "--waveform", "int16", "--shard-utterances", "6")
FEATURES = ("--feature", "energy", "--feature", "mel:preset=hifigan,fmax=11025")


def number_of(row: int) -> str:
    """Return letters that no other row has."""
    return f"q{chr(97 + row // 6)}z{chr(97 + row % 6)}x"


def text_of(row: int) -> str:
    return f"This is the text of {number_of(row)}"


def id_of(row: int) -> str:
    return f"id-{number_of(row)}"


def write_corpus(folder: Path, rows: list[int]) -> None:
    folder.mkdir()
    with (folder / "list.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["id", "audio", "text", "speaker", "style"])
        for row in rows:
            soundfile.write(folder / f"{row}.wav", speech_like(0.1 + row % 5 / 50, row), SAMPLE_RATE)
            speaker = "withdrawn" if row % 8 == 3 else f"speaker {row % 3}"
            # Rows 5 and 13 fail.
            text = "" if row in (5, 13) else text_of(row)
            table.writerow([id_of(row), f"{row}.wav", text, speaker, f"style-{number_of(row)}"])


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    status, out, err = run(capsys, *arguments)
    assert status == 0, err
    return out


def make(capsys: pytest.CaptureFixture[str], folder: Path, corpus: Path, store: Path, rows: list[int]) -> None:
    """Make a store with every kind of array and column."""
    given = [corpus / "list.csv", store, *OPTIONS, *FEATURES, "--ood-texts", folder / "ood.txt", "--max-failures", 2]
    command(capsys, "manifest", *given, "--corrections", folder / "corrections.csv")
    command(capsys, "add", store, "--measures")
    command(capsys, "add", store, "--array", f"given@utterance={folder / 'vector.npz'}")
    lines = "".join(f"{id_of(row)},{row / 7},kind {number_of(row)},{number_of(row) * 9}\n" for row in rows)
    (folder / "scores.csv").write_text(f"id,wer,kind,long\n{lines}", encoding="utf-8")
    command(capsys, "add", store, "--columns", folder / "scores.csv")
    if ERASURES:
        sys.path.append(str(Path(__file__).parents[1] / "models"))
        from model_functions import Codes

        add_array(store, "model", Codes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [*range(N_ROWS)]
    write_corpus(tmp_path / "corpus", rows)
    (tmp_path / "ood.txt").write_text("Other texts.\n", encoding="utf-8")
    np.savez(tmp_path / "vector.npz", **{id_of(row): np.array([row, 1.5]) for row in rows})
    corrected = "".join(f"{id_of(row)},A corrected {number_of(row)}\n" for row in (2, 8, 20))
    (tmp_path / "corrections.csv").write_text(f"id,text\n{corrected}", encoding="utf-8")
    return tmp_path


def remains(folder: Path, rows: set[int], waveforms: dict[int, bytes]) -> list[tuple[str, int]]:
    """Return the files with anything of some rows, and the rows."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            found += [
                (path.name, row)
                for row in sorted(rows)
                if number_of(row).encode() in data.lower() or (row in waveforms and waveforms[row] in data)
            ]
    return found


@pytest.mark.whole
def test_nothing_of_removed_rows_remains(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    make(capsys, folder, folder / "corpus", folder / "made", [*range(N_ROWS)])
    dataset = UtteranceDataset(folder / "made")
    samples = dict(zip(dataset.id, dataset.views("waveform"), strict=True))
    sounds = {row: samples[id_of(row)][500:600].tobytes() for row in range(N_ROWS) if id_of(row) in samples}
    kept = {row for row in range(N_ROWS) if row % 8 != 3}
    shown = folder / "shown"
    shown.mkdir()
    store = Path(shutil.copytree(folder / "made", shown / "store"))
    decisions = "".join(f"{id_of(row)},yes,,,note {number_of(row)}\n" for row in range(N_ROWS))
    (shown / "decisions.csv").write_text(f"id,keep,text,speaker,note\n{decisions}", encoding="utf-8")
    everything = {path for path, _ in remains(shown, {11, 12}, sounds)}
    assert {"decisions.csv", "index.h5"} < everything
    command(capsys, "remove", store, "--speaker", "withdrawn", "--file", shown / "decisions.csv")
    assert remains(shown, {*range(N_ROWS)} - kept, sounds) == []
    chosen = random.Random(3)
    for count in [1, 2] * (ERASURES // 2) or (1, 5):
        gone = chosen.sample(sorted(kept), count)
        kept -= {*gone}
        (folder / "ids.txt").write_text("".join(f"{id_of(row)}\n" for row in gone))
        out = command(capsys, "remove", store, "--ids", folder / "ids.txt", "--file", shown / "decisions.csv")
        assert "upload again: manifest.json\n" in out
        assert remains(shown, {*range(N_ROWS)} - kept, sounds) == []
    command(capsys, "verify", store)
    # What is left is what was there.
    status, out, _ = run(capsys, "diff", folder / "made", store, "--json")
    assert status == 1
    found = UtteranceDataset(store)
    assert list(found.id) == [uid for uid in dataset.id if uid in {id_of(row) for row in kept}]
    places = {uid: place for place, uid in enumerate(dataset.id)}
    same = dataset.select([places[uid] for uid in found.id])
    for name in dataset.arrays:
        assert all(map(np.array_equal, found.views(name), same.views(name))), name
    for name in ("wer", "kind", "long", "style", "seconds"):
        assert list(found.columns[name]) == list(same.columns[name]), name


@pytest.mark.whole
def test_shards_around_are_not_changed_and_an_update_makes_a_fresh_store(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    given = [*OPTIONS, *FEATURES, "--max-failures", 2]
    store, fresh = folder / "store", folder / "fresh"
    command(capsys, "manifest", folder / "corpus/list.csv", store, *given)
    before = contents(store)
    (folder / "ids.txt").write_text(f"{id_of(17)}\n{id_of(18)}\n")
    out = command(capsys, "remove", store, "--ids", folder / "ids.txt")
    after = contents(store)
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {line.removeprefix("upload again: ") for line in out.splitlines() if line.startswith("upload")}
    assert 1 <= sum(name.startswith("shards/") for name in changed) <= 2
    write_corpus(folder / "rest", [row for row in range(N_ROWS) if row not in (17, 18)])
    command(capsys, "manifest", folder / "rest/list.csv", fresh, *given)
    command(capsys, "manifest", folder / "rest/list.csv", store, *given, "--update")
    assert contents(store) == contents(fresh)


def test_what_cannot_be_removed_is_said(capsys: pytest.CaptureFixture[str], store: Path, tmp_path: Path) -> None:
    status, _, err = run(capsys, "remove", store, "--speaker", "nobody")
    assert (status, err.count("\n")) == (2, 1)
    assert "no speaker 'nobody'; it has " in err
    (tmp_path / "ids.txt").write_text("".join(f"{uid}\n" for uid in UtteranceDataset(store).id))
    status, _, err = run(capsys, "remove", store, "--ids", tmp_path / "ids.txt")
    assert status == 2
    assert "would have no rows" in err
    (tmp_path / "ids.txt").write_text("nothing-of-it\n")
    before = contents(store)
    assert "removed 0 rows and 0 failed rows of 1 id" in command(capsys, "remove", store, "--ids", tmp_path / "ids.txt")
    assert contents(store) == before
