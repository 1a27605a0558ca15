"""Out-of-domain texts of a store: made, read, checked and repaired."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from commands import light, run
from corpora import record, write_text
from killing import contents
from stores import of_room

from tts_prep.errors import CorruptStoreError
from tts_prep.loader import UtteranceDataset
from tts_prep.ood import making
from tts_prep.ood.making import check_ood_texts
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.configuration.records import OodConfig
from tts_prep.preprocess.configuration.settings import configure
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare

verify_store = of_room("verification.files", "verify_store")

JOBS = ("--jobs", 1)


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


@pytest.mark.whole
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
    monkeypatch.setattr(making, "_LINES_PER_JOB", 2)
    write_text(tmp_path / "ood.txt", "".join(f"Sentence {number}.\n" for number in range(7)))
    config = replace(light(1000), ood_texts=OodConfig.of(tmp_path / "ood.txt"))
    for jobs in (1, 2):
        prepare(read_ljspeech(corpus), corpus, tmp_path / f"store{jobs}", config, jobs=jobs)
    assert contents(tmp_path / "store1") == contents(tmp_path / "store2")
    assert [text.text for text in UtteranceDataset(tmp_path / "store2").ood_texts][5] == "Sentence 5."
