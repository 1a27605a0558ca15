from __future__ import annotations

import json
import shutil
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
from tts_prep.errors import CorruptStoreError
from tts_prep.format.contents.ood_texts import check_ood_texts
from tts_prep.format.records.manifest import read_manifest
from tts_prep.format.records.remarks import Remarks
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import Vocab, get_frontend
from tts_prep.preprocess.configuration.records import OodConfig, TextConfig
from tts_prep.preprocess.configuration.settings import configure
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.make import ood_texts as ood_module
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


# Out-of-domain texts


@pytest.fixture(scope="module")
def ood_store(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """Return a store with three out-of-domain texts, from a file with two invalid lines."""
    folder = tmp_path_factory.mktemp("ood")
    lines = "It was 1843.|ignored\n...\nA second text, a longer one.\n\nLast.\n()\n"
    write_text(folder / "ood.txt", lines)
    config = configure("ljspeech", settings={"text": {"ood_texts": folder / "ood.txt"}})
    prepare(read_ljspeech(corpus), corpus, folder / "store", config)
    return folder / "store"


@pytest.mark.whole
def test_out_of_domain_texts_are_phonemized_once_into_the_store(ood_store: Path) -> None:
    texts = UtteranceDataset(ood_store).ood_texts
    espeak = get_frontend()
    spoken = ["It was eighteen forty-three.", "A second text, a longer one.", "Last."]
    assert [text.text for text in texts] == ["It was 1843.", *spoken[1:]]
    assert [text.phoneme_text for text in texts] == [espeak.phoneticize(text) for text in spoken]
    for position, text in enumerate(texts):
        assert text.index == position
        assert text.phonemes.tolist() == espeak.numericalize(text.phoneme_text).tolist()
        assert not text.phonemes.flags.writeable
    assert texts.n_phonemes.tolist() == [len(text.phonemes) for text in texts]
    assert (texts[-1].text, [text.text for text in texts[1:]]) == ("Last.", spoken[1:])
    with pytest.raises(IndexError, match="out-of-domain text 3: out of range for 3 texts"):
        texts[3]


def test_a_store_without_out_of_domain_texts_says_so(store: Path) -> None:
    assert UtteranceDataset(store).ood_texts is None
    assert "ood_texts" not in json.loads((store / "manifest.json").read_text(encoding="utf-8"))


@pytest.mark.whole
def test_lines_that_cannot_be_used_are_listed_with_their_reasons(ood_store: Path) -> None:
    reasons = [failure["reason"] for failure in check_ood_texts(ood_store / "ood.h5").failures]
    assert reasons[0] == "ood.txt:2: nothing to speak in '…'"
    assert len(reasons) == 2
    assert all(fault is None for _, fault in verify_store(ood_store))


def test_a_store_with_a_broken_file_of_texts_is_refused_and_found_by_verify(ood_store: Path, tmp_path: Path) -> None:
    shutil.copytree(ood_store, tmp_path / "store")
    data = (tmp_path / "store/ood.h5").read_bytes()
    (tmp_path / "store/ood.h5").write_bytes(data[:-1])
    with pytest.raises(CorruptStoreError, match="the manifest says"):
        _ = UtteranceDataset(tmp_path / "store").ood_texts
    faults = [entry.file for entry, fault in verify_store(tmp_path / "store") if fault]
    assert faults == ["ood.h5"]


def test_texts_of_a_styletts2_list_are_its_second_field_and_a_file_without_any_is_refused(
    capsys, corpus: Path, tmp_path: Path
) -> None:
    write_text(tmp_path / "ood.txt", "a.wav|First.|0\nb.wav|Second.|0\n")
    arguments = ("ljspeech", corpus, tmp_path / "store", *JOBS, "--overwrite")
    status, out, _ = run(capsys, *arguments, "--ood-texts", tmp_path / "ood.txt")
    assert (status, "out-of-domain texts: 2" in out) == (0, True)
    assert [text.text for text in UtteranceDataset(tmp_path / "store").ood_texts] == ["First.", "Second."]
    write_text(tmp_path / "ood.txt", "...\n")
    status, _, err = run(capsys, *arguments, "--ood-texts", tmp_path / "ood.txt")
    assert (status, "no line has a usable text; the first: ood.txt:1: nothing to speak" in err) == (2, True)
    status, _, err = run(capsys, *arguments, "--ood-texts", tmp_path / "none.txt")
    assert (status, "cannot be read (No such file or directory)" in err) == (2, True)


def test_settings_of_texts_come_from_a_file_too_with_paths_beside_it(
    capsys, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text(tmp_path / "conf/symbols.txt", "\n".join(["<pad>", "<unk>", *"abcdefghijklmnopqrstuvwxyz ,.!?'-"]))
    write_text(tmp_path / "conf/ood.txt", "Other text.\n")
    settings = 'frontend = "characters"\nsymbols = "symbols.txt"\nood_texts = "ood.txt"\nunknown = "unk"\n'
    write_text(tmp_path / "conf/tts.toml", f"[text]\n{settings}")
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, "ljspeech", corpus, tmp_path / "store", "--config", "conf/tts.toml", *JOBS)
    assert (status, err) == (0, "")
    dataset = UtteranceDataset(tmp_path / "store")
    assert dataset.symbols[:3] == ("<pad>", "<unk>", "a")
    assert dataset.ood_texts[0].phoneme_text == "other text."
    write_text(tmp_path / "conf/symbols.txt", "a\n\nb")
    status, _, err = run(capsys, "ljspeech", corpus, tmp_path / "x", "--config", "conf/tts.toml", *JOBS)
    assert (status, "symbols.txt:2: expected a symbol, found an empty line" in err) == (2, True)


@pytest.mark.whole
def test_a_store_with_texts_and_reader_options_is_repaired_and_reindexed_to_the_same_bytes(
    capsys, tmp_path: Path
) -> None:
    for number in range(3):
        record(tmp_path / f"{number}.wav")
    write_text(tmp_path / "list.txt", "".join(f"x|{n}.wav|Text {n}.\n" for n in range(3)))
    write_text(tmp_path / "ood.txt", "Other text.\n")
    symbols = ["<pad>", "<unk>", *"abcdefghijklmnopqrstuvwxyz ,.!?'-"]
    write_text(tmp_path / "symbols.txt", "\n".join(symbols))
    store = tmp_path / "store"
    options = (
        "--columns",
        "kind|path|text",
        "--ood-texts",
        tmp_path / "ood.txt",
        "--symbols",
        tmp_path / "symbols.txt",
    )
    arguments = ("filelist", tmp_path / "list.txt", store, "--frontend", "characters", "--shard-utterances", 1)
    assert run(capsys, *arguments, *options, *JOBS)[0] == 0
    before = contents(store)
    shard = bytearray(before["shards/00001.h5"])
    shard[len(shard) // 2] ^= 1
    (store / "shards/00001.h5").write_bytes(shard)
    assert run(capsys, "verify", store, "--repair", tmp_path / "list.txt", "--jobs", 1)[0] == 0
    assert contents(store) == before
    (store / "manifest.json").unlink()
    (store / "index.h5").unlink()
    assert run(capsys, "reindex", store)[0] == 0
    assert contents(store) == before


def test_texts_do_not_depend_on_the_number_of_jobs(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ood_module, "_LINES_PER_JOB", 2)
    write_text(tmp_path / "ood.txt", "".join(f"Sentence {number}.\n" for number in range(7)))
    config = replace(light(1000), ood_texts=OodConfig.of(tmp_path / "ood.txt"))
    for jobs in (1, 2):
        prepare(read_ljspeech(corpus), corpus, tmp_path / f"store{jobs}", config, jobs=jobs)
    assert contents(tmp_path / "store1") == contents(tmp_path / "store2")
    assert [text.text for text in UtteranceDataset(tmp_path / "store2").ood_texts][5] == "Sentence 5."
