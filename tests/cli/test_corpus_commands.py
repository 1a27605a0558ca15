from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
import soundfile
from commands import light, run
from corpora import KALDI, SPEAKER_INFO, TEXTS, record, write_kaldi, write_libritts, write_text, write_vctk
from killing import contents
from plugins import install
from stores import of_room

from tts_prep.cli.main import cli
from tts_prep.format.records.manifest import read_manifest
from tts_prep.format.records.remarks import Remarks
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import Vocab, get_frontend
from tts_prep.preprocess.configuration.records import TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare

verify_store = of_room("verification.files", "verify_store")

JOBS = ("--jobs", 1)


def failures(store: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (store / "failures.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.whole
def test_the_first_lines_of_a_run_say_what_was_understood(capsys, tmp_path: Path) -> None:
    record(tmp_path / "a.wav", 0.2)
    (tmp_path / "list.txt").write_text("a.wav|anna|One two three.\na.wav|anna|Broken|line\n", encoding="utf-8")
    arguments = ("filelist", tmp_path / "list.txt", tmp_path / "store", "--max-failures", 1, *JOBS)
    status, out, _ = run(capsys, *arguments, "--preset", "hifigan", "--language", "en-gb")
    assert status == 0
    assert out.splitlines()[:3] == [
        f"corpus: filelist {tmp_path / 'list.txt'}; preset: hifigan; frontend: espeak, language en-gb",
        "columns: path|speaker|text (guessed; override with --columns)",
        "rows: 2",
    ]
    (tmp_path / "list.txt").write_text("a.wav|no|anna\n", encoding="utf-8")
    status, _, err = run(capsys, *arguments, "--overwrite")
    assert (status, "cannot tell text from speaker" in err, "--columns" in err) == (1, True, True)


@pytest.mark.whole
def test_vctk_becomes_a_store_whose_columns_the_loader_filters_on(capsys, tmp_path: Path) -> None:
    root, store = write_vctk(tmp_path / "vctk"), tmp_path / "store"
    status, out, _ = run(capsys, "vctk", root, store, "--max-failures", 1, "--language", "en-gb", *JOBS)
    assert (status, "failed: 1 row of the corpus (corpus 1)" in out) == (0, True)
    dataset = UtteranceDataset(store)
    assert list(dataset.speakers) == ["p225", "p280", "p362", "s5"]
    assert list(dataset.filter(lambda m: (m.age > 22) & (m.gender == "F")).id) == [
        "p225_001",
        "p225_002",
        "p280_001",
        "p362_001",
    ]
    assert dataset[0].meta == {"accent": "English", "age": 23.0, "gender": "F", "region": "Southern England"}
    assert read_manifest(store).configuration["corpus"] == {"reader": "vctk", "limit": None, "mic": "mic1"}
    assert SPEAKER_INFO.startswith("ID")


@pytest.mark.whole
def test_libritts_becomes_a_store_with_its_subsets_as_splits(capsys, tmp_path: Path) -> None:
    root, store = write_libritts(tmp_path / "libritts"), tmp_path / "store"
    status, _, _ = run(capsys, "libritts", root, store, "--max-failures", 1, *JOBS)
    assert status == 0
    dataset = UtteranceDataset(store)
    assert list(dataset.filter(lambda m: m.split == "dev-clean").id) == ["84_121123_000007_000001"]
    assert failures(store)[0]["where"] == "dev-clean/84/121123/84_121123_000008_000000.normalized.txt:1"
    # The text that the corpus has not normalized is normalized here.
    assert dataset[2].text == "In 1843."
    assert dataset[2].phoneme_text == get_frontend().phoneticize("In eighteen forty-three.")


@pytest.mark.whole
def test_a_file_list_takes_relative_paths_under_its_root_and_absolute_ones_as_they_stand(
    capsys, tmp_path: Path
) -> None:
    record(tmp_path / "audio/x/1.wav")
    record(tmp_path / "elsewhere/2.wav")
    lines = f"x/1.wav|ðɪs ɪz|001\n{tmp_path / 'elsewhere/2.wav'}|ˈaɪ☃|1\nx/none.wav|ˈaɪ|1\n"
    write_text(tmp_path / "train.txt", lines)
    arguments = ("filelist", tmp_path / "train.txt", tmp_path / "store", "--root", tmp_path / "audio")
    status, out, _ = run(capsys, *arguments, "--frontend", "phonemes", "--max-failures", 2, *JOBS)
    assert status == 0
    dataset = UtteranceDataset(tmp_path / "store")
    assert [(u.id, u.speaker, u.phoneme_text) for u in dataset] == [("x/1", "001", "ðɪs ɪz")]
    assert [row["stage"] for row in failures(tmp_path / "store")] == ["text", "audio"]
    assert "train.txt:2" in {row["where"] for row in failures(tmp_path / "store")}
    # Counted and reported with an example, though the utterance is left out.
    assert f"unknown symbols: 1, 1 different: '☃' × 1 (first in {tmp_path / 'elsewhere/2'})" in out
    assert read_manifest(tmp_path / "store").remarks["unknown_symbols"]["count"] == 1


@pytest.mark.whole
def test_unknown_symbols_are_dropped_or_replaced_as_asked_and_counted_all_the_same(capsys, tmp_path: Path) -> None:
    record(tmp_path / "1.wav")
    write_text(tmp_path / "list.txt", "1.wav|a☃b☃\n")
    write_text(tmp_path / "symbols.txt", "<pad>\n<unk>\na\nb\n \n")
    arguments = ("filelist", tmp_path / "list.txt", tmp_path / "store", "--frontend", "phonemes", "--overwrite", *JOBS)
    options = ("--symbols", tmp_path / "symbols.txt")
    for policy, ids in (("drop", [2, 3]), ("unk", [2, 1, 3, 1])):
        status, out, _ = run(capsys, *arguments, *options, "--unknown", policy)
        assert (status, "unknown symbols: 2, 1 different: '☃' × 2 (first in 1)" in out) == (0, True)
        dataset = UtteranceDataset(tmp_path / "store")
        assert dataset[0].phonemes.tolist() == ids
        assert dataset[0].phoneme_text == "a☃b☃"
    manifest = read_manifest(tmp_path / "store")
    assert manifest.vocabulary == {"symbols": ["<pad>", "<unk>", "a", "b", " "], "pad": 0, "unk": 1}
    assert Vocab.from_dict(manifest.vocabulary).lookup(" ") == 4
    assert manifest.configuration["text"]["symbols"] == ["<pad>", "<unk>", "a", "b", " "]
    status, out, _ = run(capsys, "info", tmp_path / "store")
    assert "2 unknown symbols" in out


@pytest.mark.whole
def test_words_that_are_not_in_the_dictionary_are_reported(capsys, own_corpus: Path, tmp_path: Path) -> None:
    (own_corpus / "metadata.csv").write_text("S-0000|x|The zyzzogeton and the zyzzogeton.\n", encoding="utf-8")
    status, out, _ = run(capsys, "ljspeech", own_corpus, tmp_path / "store", "--frontend", "arpabet", *JOBS)
    assert status == 0
    assert "words not in dictionary: 2, 1 different: 'zyzzogeton' × 2 (first in S-0000)" in out
    dataset = UtteranceDataset(tmp_path / "store")
    assert (len(dataset.symbols), dataset.pad_id) == (81, 0)


@pytest.mark.whole
def test_kaldi_languages_are_spoken_utterance_by_utterance(capsys, tmp_path: Path) -> None:
    root = write_kaldi(tmp_path / "data", KALDI)
    assert run(capsys, "kaldi", root, tmp_path / "store", *JOBS)[0] == 0
    english, german = UtteranceDataset(tmp_path / "store")
    assert english.phoneme_text == get_frontend(language="en-us").phoneticize("One two.")
    assert german.phoneme_text == get_frontend(language="de").phoneticize("Drei vier.")
    assert german.meta == {"emotion": "", "gender": "m", "language": "de"}


@pytest.mark.whole
def test_a_language_that_espeak_does_not_have_costs_its_utterances(capsys, tmp_path: Path) -> None:
    root = write_kaldi(tmp_path / "data", {**KALDI, "utt2lang": "u1 en-us\nu2 klingonese\n"})
    status, _, _ = run(capsys, "kaldi", root, tmp_path / "store", "--max-failures", 1, *JOBS)
    assert status == 0
    assert failures(tmp_path / "store")[0]["reason"].startswith("text:2: language: espeak-ng has no 'klingonese'")


@pytest.mark.whole
def test_segments_have_the_samples_of_their_part(capsys, tmp_path: Path) -> None:
    segments = "u1 rec 0.0 0.4\nu2 rec 0.4 -1\nu3 rec 5 6\n"
    files = {"wav.scp": "rec audio/a.wav\n", "segments": segments, "text": "u1 One.\nu2 Two.\nu3 Three.\n"}
    root = write_kaldi(tmp_path / "data", files)
    arguments = ("kaldi", root, tmp_path / "store", "--waveform", "float32", "--max-failures", 1, *JOBS)
    assert run(capsys, *arguments)[0] == 0
    whole, rate = soundfile.read(root / "audio/a.wav", dtype="float32")
    first, second = UtteranceDataset(tmp_path / "store")
    assert first.seconds == pytest.approx(0.4, abs=1e-4)
    assert second.seconds == pytest.approx(0.6, abs=1e-4)
    # The store's waveform is padded to whole frames and at the level of the preset.
    cut = round(0.4 * rate)
    for utterance, part in ((first, whole[:cut]), (second, whole[cut:])):
        found = utterance.waveform[: len(part)]
        np.testing.assert_allclose(found / abs(found).max(), part / abs(part).max(), rtol=0, atol=1e-6)
    assert "1.000 s long, expected an excerpt from 5 to 6 s" in failures(tmp_path / "store")[0]["reason"]


def test_lists_of_ids_mark_splits(capsys, own_corpus: Path, tmp_path: Path) -> None:
    write_text(tmp_path / "valid.txt", "S-0001\nS-0003\n")
    arguments = ("ljspeech", own_corpus, tmp_path / "store", *JOBS)
    assert run(capsys, *arguments, "--split", f"valid={tmp_path / 'valid.txt'}")[0] == 0
    dataset = UtteranceDataset(tmp_path / "store")
    assert list(dataset.filter(lambda m: m.split == "valid").id) == ["S-0001", "S-0003"]
    status, _, err = run(capsys, *arguments, "--split", "valid")
    assert (status, "split: expected NAME=FILE, each name once, found 'valid'" in err) == (2, True)


@pytest.mark.whole
@pytest.mark.parametrize("name", ["arpabet", pytest.param("characters", marks=pytest.mark.soak)])
def test_stores_of_other_frontends_do_not_depend_on_the_number_of_jobs(corpus: Path, tmp_path: Path, name: str) -> None:
    config = replace(light(3), text=TextConfig(name))
    for jobs in (1, 2):
        prepare(read_ljspeech(corpus), corpus, tmp_path / f"store{jobs}", config, jobs=jobs)
    assert contents(tmp_path / "store1") == contents(tmp_path / "store2")
    assert read_manifest(tmp_path / "store1").totals["utterances"] == len(TEXTS)


def test_a_reader_of_another_package_is_a_command(
    capsys, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = {"tts_prep.corpora": {"mine": "tts_prep.preprocess.corpora.ljspeech:read_ljspeech"}}
    install(monkeypatch, tmp_path / "site", "mine", points)
    assert "mine" in cli.list_commands(click.Context(cli))
    status, out, _ = run(capsys, "mine", corpus, tmp_path / "store", *JOBS)
    assert (status, f"{len(TEXTS)} utterances" in out) == (0, True)
    assert read_manifest(tmp_path / "store").configuration["corpus"]["reader"] == "mine"


def test_remarks_add_up_in_corpus_order() -> None:
    first, second = Remarks(), Remarks()
    first.add("unknown_symbols", "☃", "a")
    second.add("unknown_symbols", "☃", "b")
    second.add("unknown_symbols", "%", "b", 3)
    assert Remarks.merged([first.as_dict(), second.as_dict()]).summary() == {
        "unknown_symbols": {
            "count": 5,
            "different": 2,
            "examples": [{"symbol": "%", "count": 3, "id": "b"}, {"symbol": "☃", "count": 2, "id": "a"}],
        }
    }
