"""MLS, FLEURS, Hi-Fi TTS, GigaSpeech, ESD and OpenSLR, built to stores through the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import run
from corpora import record, write_text
from large_corpora import write_esd, write_fleurs, write_gigaspeech, write_hifitts, write_mls, write_openslr

from tts_prep.corpora.manifests.json_lines import json_array
from tts_prep.errors import CorpusError
from tts_prep.hints.commands import likely_commands
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import read_corpus


@dataclass(frozen=True)
class Layout:
    """A corpus: how it is written, its rows (id, speaker, text), the columns of the first, and how many fail."""

    write: Callable[[Path], None]
    rows: list[tuple[str, str, str]]
    meta: dict[str, str | float]
    options: tuple[str, ...] = ()
    failed: int = 0


LAYOUTS = {
    "mls": Layout(
        write_mls,
        [("1756_2426_000000", "1756", "es war einmal"), ("1756_2426_000001", "1756", "ein alter mann")],
        {"book": "2426", "language": "de", "split": "dev"},
    ),
    "fleurs": Layout(
        write_fleurs,
        [("10000", "0", "Am 5. Mai."), ("10001", "0", "Am 5. Mai.")],
        {"gender": "female", "language": "de-DE", "split": "dev"},
        failed=1,
    ),
    "hifitts": Layout(
        write_hifitts,
        [("7_b_0001", "6097", "Mister five."), ("100_a_0001", "92", "Mister five.")],
        {"quality": "other", "split": "dev"},
    ),
    "gigaspeech": Layout(
        write_gigaspeech,
        [("POD0_S0", "0", "hello, you?")],
        {"category": "News", "source": "podcast"},
        ("--subset", "XS"),
    ),
    "esd": Layout(
        write_esd,
        [("0001_000351", "0001", "打远一看。"), ("0011_000001", "0011", "The nine the eggs, I keep.")],
        {"emotion": "angry", "language": "zh"},
    ),
    "openslr": Layout(
        write_openslr,
        [
            ("jvf_00027_00000000001", "jvf_00027", "Sugeng enjing"),
            ("arm_00295_00000000002", "arm_00295", "Buenos días."),
        ],
        {},
        ("--language", "id"),
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.whole
def test_a_corpus_in_the_layout_of_its_release_becomes_a_store(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    layout = LAYOUTS[name]
    corpus = tmp_path / "corpus"
    layout.write(corpus)
    assert likely_commands(corpus)[0] == name
    options = (*layout.options, "--frontend", "none", "--jobs", 1, "--max-failures", layout.failed)
    status, _, err = run(capsys, name, corpus, tmp_path / "store", *options)
    assert (status, err) == (0, "")
    dataset = UtteranceDataset(tmp_path / "store")
    assert [(u.id, u.speaker, u.text) for u in dataset] == layout.rows
    assert dataset[0].meta == layout.meta
    failures = (tmp_path / "store/failures.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(failures) == layout.failed


def test_gigaspeech_has_all_segments_with_speech_of_a_subset(tmp_path: Path) -> None:
    write_gigaspeech(tmp_path)
    rows = list(read_corpus("gigaspeech", tmp_path)[0])
    spans = [(row.text, row.start, row.end) for row in rows]  # type: ignore[union-attr]
    assert spans == [("hello, you?", 0.0, 1.0), ("not in the small one.", 2.0, 3.0)]


@pytest.mark.parametrize("name", LAYOUTS)
def test_another_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CorpusError, match="is it the folder of the corpus|cannot be read"):
        list(read_corpus(name, tmp_path)[0])


def test_a_manifest_can_be_an_array(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for i in range(2):
        record(tmp_path / f"wavs/{i}.wav")
    rows = [{"audio": f"{i}.wav", "text": f"Text {i}.", "speaker": "a"} for i in range(2)]
    write_text(tmp_path / "train.json", "\ufeff" + json.dumps(rows, indent=1))
    status, _, _ = run(
        capsys, "manifest", tmp_path / "train.json", tmp_path / "store", "--frontend", "none", "--jobs", 1
    )
    assert status == 0
    assert [(u.id, u.text) for u in UtteranceDataset(tmp_path / "store")] == [("0", "Text 0."), ("1", "Text 1.")]


def test_arrays_are_read_in_pieces_and_what_is_not_json_is_a_failure(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    rows = [{"text": "ä" * (1 << n)} for n in range(22)]
    write_text(file, json.dumps(rows, ensure_ascii=False))
    assert [value for _, value in json_array(file)] == rows
    for text, expected in {
        '[{"a": 1}, 5, {"a": 2}]': ["a", "a.json:[2]: expected a JSON object, found a int", "a"],
        '[{"a": 1}, {"a": ]': ["a", "not JSON"],
        '[{"a": 1}': ["a", "a.json:[2]: the array has no end"],
        "[" + "[" * 100_000: ["not JSON"],
        "[]": [],
    }.items():
        write_text(file, text)
        found = ["a" if isinstance(value, dict) else value.reason for _, value in json_array(file)]
        assert len(found) == len(expected), text[:40]
        assert all(part in reason for part, reason in zip(expected, found, strict=True)), found
