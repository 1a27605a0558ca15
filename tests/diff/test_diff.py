"""Two stores: planted changes are named by their causes, and nothing else is."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import soundfile
from commands import run
from corpora import SAMPLE_RATE, speech_like
from stores import edit_manifest, make_rows, write_store

N_ROWS = 120
COMMON = ("--frontend", "characters", "--symbols", "auto", "--shard-utterances", "40", "--feature", "energy")
WORDS = ("one", "two", "three", "nguyen", "five")


def rows() -> list[dict[str, str]]:
    return [
        {
            "id": f"row-{n:03d}",
            "audio": f"{n:03d}.wav",
            "text": f"{WORDS[n % 3]} and {WORDS[n % 5]}",
            "speaker": "ab"[n % 2],
            "style": "calm",
        }
        for n in range(N_ROWS)
    ]


def write_corpus(folder: Path, of_rows: list[dict[str, str]], levels: dict[int, float]) -> None:
    folder.mkdir()
    for n in range(N_ROWS):
        soundfile.write(folder / f"{n:03d}.wav", speech_like(0.1, n % 7) * levels.get(n, 1.0), SAMPLE_RATE)
    write_list(folder, of_rows)


def write_list(folder: Path, of_rows: list[dict[str, str]]) -> None:
    with (folder / "list.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, of_rows[0].keys())
        table.writeheader()
        table.writerows(of_rows)


def make_stores(folder: Path) -> None:
    """Write a store, ``one``, and three others: with planted changes, with other symbols, and with other settings."""
    folder.mkdir()
    write_corpus(folder / "corpus", rows(), {})
    changed = rows()
    changed[5]["text"] = "two and five and one"
    changed[6]["speaker"] = "b"
    changed[7]["style"] = "angry"
    changed[9]["audio"] = "copy.wav"
    new = {**changed[100], "id": "new"}
    write_corpus(folder / "changed", [*changed[:100], *changed[101:], new], {20: 0.5, 110: 0.25})
    shutil.copy(folder / "changed/009.wav", folder / "changed/copy.wav")
    (folder / "words.txt").write_text("nguyen\tnuyeg\n", encoding="utf-8")
    scores = {row["id"]: n / 7 for n, row in enumerate(rows())}
    lists = [("corpus", "one", ()), ("changed", "two", ("--lexicon", folder / "words.txt"))]
    lists += [("corpus", "symbols", ("--symbols", "parakeet-characters")), ("corpus", "settings", ("--fmax", "7000"))]
    for corpus, name, options in lists:
        make("manifest", folder / corpus / "list.csv", folder / name, *COMMON, *options)
        values = scores if name != "two" else {**scores, "row-030": 99.0}
        (folder / "scores.csv").write_text("id,wer\n" + "".join(f"{uid},{wer}\n" for uid, wer in values.items()))
        make("add", folder / name, "--columns", folder / "scores.csv")


def make(*arguments: object) -> None:
    from tts_prep.cli.main import cli

    given = [str(argument) for argument in (*arguments, "--quiet")]
    cli.main([*given, "--jobs", "1"] if arguments[0] == "manifest" else given, standalone_mode=False)


@pytest.fixture(scope="module")
def stores(made_once: Any) -> Path:
    pytest.importorskip("tts_prep.symbols", reason="the room of --symbols auto")
    return made_once("diff-stores", make_stores)


def found(capsys: pytest.CaptureFixture[str], *stores: Path) -> Any:
    status, out, err = run(capsys, "diff", *stores, "--json")
    assert err == ""
    value = json.loads(out)
    assert status == (not value["same"])
    return value


NGUYEN = [row["id"] for row in rows() if "nguyen" in row["text"] and row["id"] != "row-100"]
SAME: dict[str, Any] = {
    "same": False,
    **{key: [] for key in ("settings", "versions", "only_first", "only_second", "files", "statistics")},
    "n_common": N_ROWS,
    **{key: {} for key in ("rows", "columns", "arrays")},
}


@pytest.mark.whole
def test_planted_changes_are_named_by_cause_and_nothing_else_is(
    capsys: pytest.CaptureFixture[str], stores: Path
) -> None:
    value = found(capsys, stores / "one", stores / "two")
    assert {name for name, *_ in value.pop("statistics")} <= {"phonemes", "energy mean", "energy std", "mel std"}
    expected = {
        "settings": [["text", "lexicon", "", "nguyen nuyeg none"]],
        "only_first": ["row-100"],
        "only_second": ["new"],
        "n_common": N_ROWS - 1,
        "rows": {
            "recording": ["row-020", "row-110"],
            "file": ["row-009"],
            "text": ["row-005"],
            "speaker": ["row-006"],
            "dictionary": NGUYEN,
        },
        "columns": {"style": ["", ["row-007"]], "wer": ["", ["row-030"]]},
        "arrays": {"energy": ["", ["row-020", "row-110"]]},
    }
    assert value == {name: item for name, item in {**SAME, **expected}.items() if name != "statistics"}


@pytest.mark.whole
def test_symbols_and_settings_are_causes_of_all_rows(capsys: pytest.CaptureFixture[str], stores: Path) -> None:
    ids = [row["id"] for row in rows()]
    symbols = found(capsys, stores / "one", stores / "symbols")
    assert [*symbols["settings"][0][:2], symbols["settings"][0][3]] == ["text", "symbols", "parakeet-characters"]
    assert symbols == {**SAME, "settings": symbols["settings"], "rows": {"table": ids}}
    settings = found(capsys, stores / "one", stores / "settings")
    means = [list(row) for row in settings["statistics"] if row[0].startswith("mel ")]
    changed = [["audio", "fmax", "8000", "7000"]]
    assert settings == {**SAME, "settings": changed, "rows": {"settings": ids}, "statistics": means}


def test_versions_of_libraries_are_causes_of_values_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = make_rows([30] * 6)
    second = [replace(row, mel=row.mel + (number == 4)) for number, row in enumerate(first)]
    stores = [write_store(tmp_path / name, of) for name, of in (("one", first), ("two", second), ("three", second))]
    for store, version in zip(stores, ("2.1", "2.2", "2.1"), strict=True):
        edit_manifest(store, lambda manifest, version=version: manifest.update(software={"numpy": version}))
    value = found(capsys, *stores[:2])
    assert value["versions"] == [["software", "numpy", "2.1", "2.2"]]
    assert value["rows"] == {"library": [first[4].id]}
    # The same values by other versions are no difference of rows, other values by the same ones are not explained.
    assert found(capsys, *stores[1:])["rows"] == {}
    assert found(capsys, stores[0], stores[2])["rows"] == {"unknown": [first[4].id]}


@pytest.mark.whole
@pytest.mark.parametrize("options", [("--mel", "none"), ()])
def test_lists_of_a_corpus_are_no_recordings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    has_audio = not options
    values = [{"id": f"{n}", "text": "one", "codes": [n] * (9 + n)} for n in range(6)]
    for n, row in enumerate(values if has_audio else ()):
        soundfile.write(tmp_path / f"{n}.wav", speech_like(0.2, n), SAMPLE_RATE)
        row["audio"] = f"{n}.wav"
    others = [dict(row) for row in values]
    others[2]["codes"], others[4]["codes"] = [7] * 11, [4] * 5
    others[3]["text"] = "two"
    if has_audio:
        others[5]["audio"] = "0.wav"
    for name, of in (("one", values), ("two", others)):
        (tmp_path / "list.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in of), encoding="utf-8")
        given = ("--frontend", "none", "--list", "codes@own:25", *options)
        make("manifest", tmp_path / "list.jsonl", tmp_path / name, *given)
    value = found(capsys, tmp_path / "one", tmp_path / "two")
    recordings = {"recording": ["5"]} if has_audio else {}
    assert value["rows"] == {**recordings, "text": ["3"], "list": ["2", "4"]}
    assert value["arrays"] == {"codes": ["", ["2", "4"]]}


@pytest.mark.whole
def test_the_status_says_whether_stores_differ(capsys: pytest.CaptureFixture[str], stores: Path) -> None:
    assert run(capsys, "diff", stores / "one", stores / "one") == (
        0,
        f"same         nothing differs in {N_ROWS} rows\n",
        "",
    )
    status, out, _ = run(capsys, "diff", stores / "one", stores / "two")
    assert status == 1
    assert "recording    2 rows with other recordings: row-020, row-110\n" in out
    assert max(map(len, out.splitlines())) < 200
    status, out, err = run(capsys, "diff", stores / "one", stores / "none")
    assert (status, out) == (2, "")
    assert "none: no such folder" in err
