"""Features on the command line: during the build, or added by 'tts-prep add'."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import run
from corpora import write_ljspeech
from stores import make_rows, write_store

from tts_prep.loader import UtteranceDataset

Capture = pytest.CaptureFixture[str]
TEXTS = ("One sentence.", "And another one.")


def make(capsys: Capture, tmp_path: Path) -> tuple[Path, Path]:
    corpus, store = write_ljspeech(tmp_path / "lj", TEXTS), tmp_path / "store"
    code, _, err = run(capsys, "ljspeech", corpus, store, "--frontend", "characters", "--jobs", "1")
    assert code == 0, err
    return corpus, store


def test_add_gives_what_the_command_that_makes_the_store_gives(capsys: Capture, tmp_path: Path) -> None:
    corpus, store = make(capsys, tmp_path)
    code, out, err = run(capsys, "add", store, "--corpus", corpus, "--feature", "energy", "--jobs", "1")
    assert code == 0, err
    assert out == f"{store}: energy, float32, by frame\n"
    other = tmp_path / "other"
    code, out, err = run(
        capsys, "ljspeech", corpus, other, "--frontend", "characters", "--jobs", "1", "--feature", "energy"
    )
    assert code == 0, err
    for name in ("manifest.json", "index.h5", "arrays/energy/00000.h5"):
        assert (store / name).read_bytes() == (other / name).read_bytes()


@pytest.mark.whole
def test_the_corpus_of_a_manifest_is_its_folder_or_the_list_itself(capsys: Capture, tmp_path: Path) -> None:
    corpus, store = write_ljspeech(tmp_path / "lj", TEXTS), tmp_path / "store"
    names = [path.name for path in sorted((corpus / "wavs").iterdir())]
    lines = [f"wavs/{name}|{text}\n" for name, text in zip(names, TEXTS, strict=True)]
    (corpus / "list.csv").write_text("audio|text\n" + "".join(lines))
    code, _, err = run(capsys, "manifest", corpus / "list.csv", store, "--frontend", "characters", "--jobs", "1")
    assert code == 0, err
    energies = []
    for given in (corpus / "list.csv", corpus):
        code, _, err = run(capsys, "add", store, "--corpus", given, "--feature", "energy", "--jobs", "1")
        assert code == 0, err
        energies.append((store / "arrays/energy/00000.h5").read_bytes())
    assert energies[0] == energies[1]
    assert (
        "other.csv/list.csv: no such file"
        in run(capsys, "add", store, "--corpus", corpus / "other.csv", "--feature", "pitch")[2]
    )


@pytest.mark.whole
def test_alignments_and_arrays_need_no_corpus(capsys: Capture, tmp_path: Path) -> None:
    _, store = make(capsys, tmp_path)
    folder = tmp_path / "durations"
    folder.mkdir()
    for utterance in UtteranceDataset(store):
        frames = np.zeros(len(utterance.phonemes), np.int32)
        frames[0] = len(utterance.mel) - 1
        np.save(folder / f"{utterance.id}.npy", frames)
    vectors = {uid: np.ones(3, np.float32) for uid in UtteranceDataset(store).id}
    np.savez(tmp_path / "vectors.npz", **vectors)
    array = f"vector@utterance={tmp_path / 'vectors.npz'}"
    code, out, err = run(capsys, "add", store, "--alignments", folder, "--array", array, "--jobs", "1")
    assert code == 0, err
    assert "durations, int32, by phoneme\n  +1 frames added to a phone: 2\n" in out
    assert "vector, float32 × 3, by utterance" in out


@pytest.mark.whole
def test_a_store_that_cannot_be_replaced_is_an_error_before_its_measures_are_made(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, store = make(capsys, tmp_path)
    (tmp_path / ".store.replacement").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr("tts_prep.checks.measuring.measure", lambda *_, **__: pytest.fail("measured"))
    code, _, err = run(capsys, "add", store, "--measures")
    assert (code, "unexpected link; remove it" in err) == (1, True)


@pytest.mark.whole
def test_info_shows_the_medians_of_added_measures(capsys: Capture, tmp_path: Path) -> None:
    _, store = make(capsys, tmp_path)
    assert run(capsys, "add", store, "--measures")[0] == 0
    dataset = UtteranceDataset(store)
    rate = np.median(dataset.n_phones / dataset.seconds)
    line = next(line for line in run(capsys, "info", store)[1].splitlines() if line.startswith("measures"))
    assert line.endswith(f"columns of the index; medians: {rate:.1f} phones/s")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "nothing to add; give --feature, --alignments, --array, --measures, --columns, --license or --origin"),
        (["--feature", "energy"], "feature: energy is computed from recordings; give --corpus CORPUS"),
        (["--feature", "energy:of"], "feature: expected NAME or NAME:KEY=VALUE,KEY=VALUE"),
        (["--feature", "energy", "--feature", "energy"], "feature: 'energy' is repeated"),
        (["--alignments", "/nowhere"], "/nowhere: no such folder or file; expected a folder of TextGrids"),
        (["--alignments", ".", "--feature", "durations:silences=cut"], "change mels and phonemes; pass them to the"),
        (["--array", "x=/nowhere.npz"], "array 'x': /nowhere.npz: cannot be read"),
    ],
)
def test_wrong_options_are_named(capsys: Capture, store: Path, options: list[str], message: str) -> None:
    code, _, err = run(capsys, "add", store, *options)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_add_shows_how_many_shards_are_done(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, store = make(capsys, tmp_path)
    monkeypatch.setattr("tts_prep.cli.output._PLAIN_INTERVAL", 0)
    _, _, err = run(capsys, "add", store, "--corpus", corpus, "--feature", "energy", "--jobs", "1")
    assert err.splitlines() == ["0 of 1 shards", "1 of 1 shards"]


@pytest.mark.whole
def test_columns_and_measures_show_their_steps_and_how_many_utterances_are_done(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two shards of three rows.
    store = write_store(tmp_path / "store", make_rows([20, 30, 40, 20, 30, 40]), n_shards=2)
    monkeypatch.setattr("tts_prep.cli.output._PLAIN_INTERVAL", 0)
    monkeypatch.setattr("tts_prep.additions.column_table._REPORT_EVERY", 2)
    ids = list(UtteranceDataset(store).id)
    # The second row of the table is of no utterance.
    lines = [f"{ids[0]},1,{'x' * 300}", "other,2,x", *(f"{name},1,x" for name in ids[1:4])]
    (tmp_path / "s.csv").write_text("\n".join(["id,wer,note", *lines]), "utf-8")

    def steps(*command: object) -> list[str]:
        code, _, err = run(capsys, *command)
        assert code == 0, err
        return [line.replace(" of 6 utterances,", "") for line in err.splitlines()]

    index = "6 writing the index"
    columns = ["0 writing columns", "3 writing columns"]
    assert steps("add", store, "--columns", tmp_path / "s.csv") == [
        *("0 checking the table", "1 checking the table", "3 checking the table"),
        *("0 reading the table", "1 reading the table", "3 reading the table"),
        *(*columns, "0 writing texts", "3 writing texts", index),
    ]
    assert steps("remove", store, "--columns", "note") == [*columns, index]
    monkeypatch.setattr("tts_prep.checks.measuring._AT_A_TIME", 90)
    assert steps("add", store, "--measures") == [
        "0 loading the measures, or compiling them",
        *("0 measuring", "3 measuring", "6 measuring", "6 comparing", *columns, index),
    ]
    assert steps("add", store, "--measures", "--quiet") == []
