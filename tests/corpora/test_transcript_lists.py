"""LibriSpeech, CMU ARCTIC, JVS and M-AILABS, in the layouts of their releases, built to stores through the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from corpora import record, write_text

from tts_prep.errors import CorpusError
from tts_prep.hints.commands import likely_commands
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import read_corpus

OPTIONS = ("--frontend", "none", "--jobs", 1)


def rows(store: Path) -> list[tuple[str, str, str]]:
    return [(u.id, u.speaker, u.text) for u in UtteranceDataset(store)]


@pytest.mark.whole
def test_librispeech_becomes_a_store_whole_or_by_subset(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # https://www.openslr.org/12
    corpus = tmp_path / "LibriSpeech"
    chapter = corpus / "dev-clean/1272/128104"
    for number in range(2):
        record(chapter / f"1272-128104-000{number}.flac", sample_rate=16000)
    lines = "1272-128104-0000 MISTER QUILTER IS THE APOSTLE\n1272-128104-0001 NOR IS MISTER QUILTER'S\nbroken\n"
    write_text(chapter / "1272-128104.trans.txt", lines)
    for name in ("SPEAKERS.TXT", "CHAPTERS.TXT"):
        write_text(corpus / name, ";")
    assert likely_commands(corpus)[0] == "librispeech"
    for root in (corpus, corpus / "dev-clean"):
        store = tmp_path / f"store-{root.name}"
        status, _, _ = run(capsys, "librispeech", root, store, *OPTIONS, "--max-failures", 1)
        assert (status, rows(store)) == (
            0,
            [
                ("1272-128104-0000", "1272", "mister quilter is the apostle"),
                ("1272-128104-0001", "1272", "nor is mister quilter's"),
            ],
        )
        assert UtteranceDataset(store)[0].meta == {"chapter": "128104", "split": "dev-clean"}
        [failure] = map(json.loads, (store / "failures.jsonl").read_text("utf-8").splitlines())
        assert "1272-128104.trans.txt:3: expected 'id TEXT', found 'broken'" in failure["reason"]


def test_speakers_of_cmu_arctic_become_a_store(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # http://festvox.org/cmu_arctic
    for speaker in ("bdl", "slt"):
        folder = tmp_path / f"arctic/cmu_us_{speaker}_arctic"
        record(folder / "wav/arctic_a0001.wav", sample_rate=16000)
        write_text(folder / "etc/txt.done.data", '( arctic_a0001 "Author of the danger trail, Philip Steels, etc." )\n')
    text = "Author of the danger trail, Philip Steels, etc."
    assert likely_commands(tmp_path / "arctic") == ["arctic"]
    assert run(capsys, "arctic", tmp_path / "arctic", tmp_path / "store", *OPTIONS)[0] == 0
    assert rows(tmp_path / "store") == [("bdl-arctic_a0001", "bdl", text), ("slt-arctic_a0001", "slt", text)]
    assert run(capsys, "arctic", tmp_path / "arctic/cmu_us_slt_arctic", tmp_path / "slt", *OPTIONS)[0] == 0
    assert rows(tmp_path / "slt") == [("slt-arctic_a0001", "slt", text)]
    # A list beside the recordings' folder, as some copies have it.
    (tmp_path / "arctic/cmu_us_slt_arctic/etc/txt.done.data").rename(
        tmp_path / "arctic/cmu_us_slt_arctic/txt.done.data"
    )
    assert run(capsys, "arctic", tmp_path / "arctic/cmu_us_slt_arctic", tmp_path / "flat", *OPTIONS)[0] == 0
    assert rows(tmp_path / "flat") == [("slt-arctic_a0001", "slt", text)]


def test_jvs_becomes_a_store_with_its_styles(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # https://sites.google.com/site/shinnosuketakamichi/research-topics/jvs_corpus
    for speaker in ("jvs001", "jvs002"):
        folder = tmp_path / f"jvs_ver1/{speaker}/parallel100"
        record(folder / "wav24kHz16bit/VOICEACTRESS100_001.wav", sample_rate=24000)
        write_text(folder / "transcripts_utf8.txt", "VOICEACTRESS100_001:また、東寺のように。\n")
    assert likely_commands(tmp_path / "jvs_ver1") == ["jvs"]
    assert run(capsys, "jvs", tmp_path / "jvs_ver1", tmp_path / "store", *OPTIONS)[0] == 0
    assert rows(tmp_path / "store") == [
        (f"{speaker}-parallel100-VOICEACTRESS100_001", speaker, "また、東寺のように。")
        for speaker in ("jvs001", "jvs002")
    ]
    assert UtteranceDataset(tmp_path / "store")[0].meta == {"style": "parallel100"}


def test_mailabs_becomes_a_store_with_language_and_speaker(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # https://github.com/i-celeste-aurora/m-ailabs-dataset
    for path, name in (("female/ramona/kleine_welt", "kleine_welt_01"), ("mix/kammer", "kammer_01")):
        folder = tmp_path / "M-AILABS/de_DE/by_book" / path
        record(folder / f"wavs/{name}.wav", sample_rate=16000)
        write_text(folder / "metadata.csv", f"{name}|Am 2. Mai.|Am zweiten Mai.\n")
    assert likely_commands(tmp_path / "M-AILABS") == ["mailabs"]
    status, out, _ = run(capsys, "mailabs", tmp_path / "M-AILABS", tmp_path / "store", "--jobs", 1)
    assert (status, "language de-DE" in out) == (0, True)
    assert rows(tmp_path / "store") == [
        ("kleine_welt_01", "ramona", "Am zweiten Mai."),
        ("kammer_01", "mix", "Am zweiten Mai."),
    ]
    assert UtteranceDataset(tmp_path / "store")[0].meta == {
        "book": "kleine_welt",
        "gender": "female",
        "language": "de-DE",
    }


@pytest.mark.parametrize("name", ["librispeech", "arctic", "jvs", "mailabs"])
def test_a_folder_without_lists_is_refused_and_an_empty_list_is_one_failure(tmp_path: Path, name: str) -> None:
    with pytest.raises(CorpusError, match="is it the folder of the corpus?"):
        list(read_corpus(name, tmp_path)[0])
    files = {
        "librispeech": "a/1-2.trans.txt",
        "arctic": "etc/txt.done.data",
        "jvs": "jvs001/x/transcripts_utf8.txt",
        "mailabs": "by_book/metadata.csv",
    }
    write_text(tmp_path / files[name], "")
    [failure] = read_corpus(name, tmp_path)[0]
    assert "no rows, expected one per recording" in str(vars(failure)["reason"])
