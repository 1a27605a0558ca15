"""Mandarin, Japanese and Korean from a corpus to a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run
from corpora import record, write_text

from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset, collate
from tts_prep.preprocess.text.frontends.frontend import join_symbols

MANDARIN = ["今天天气很好，我们去散步吧。", "他花了¥3.5万，买了2辆车。", "국물이"]
JAPANESE = ["今日は天気がいいから、散歩に行きましょう。", "何時ですか？", "東京😀"]
KOREAN = ["국물이 많다.", "사과 5개를 샀어요!", "漢字"]


def write_corpus(root: Path, texts: list[str]) -> Path:
    for number, _ in enumerate(texts):
        record(root / f"{number}.wav")
    write_text(root / "list.txt", "".join(f"{number}.wav|{text}\n" for number, text in enumerate(texts)))
    return root / "list.txt"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("packages", "language", "texts", "first", "software", "reason"),
    [
        (("opencc", "pypinyin", "rjieba"), "zh", MANDARIN, "j in1 t ian1", "pypinyin", "nothing to speak in '국물이'"),
        (("pyopenjtalk", "onnxruntime"), "ja", JAPANESE, "ky o o w a", "pyopenjtalk-plus", "cannot read '😀'"),
        (("ko_speech_tools", "mecab_ko"), "ko", KOREAN, "ᄀ ᅮ ᆼ ᄆ ᅮ ᄅ ᅵ ▁", "ko-speech-tools", "no Hangul in '漢字'"),
    ],
)
def test_a_corpus_becomes_a_store_and_a_report(
    capsys, tmp_path: Path, packages, language: str, texts: list[str], first: str, software: str, reason: str
) -> None:
    for package in packages:
        pytest.importorskip(package)
    store = tmp_path / "store"
    made = ("filelist", write_corpus(tmp_path / "corpus", texts), store, "--language", language, "--jobs", 1)
    status, out, _ = run(capsys, *made, "--max-failures", 1)
    assert (status, reason in out) == (0, True)
    manifest = read_manifest(store)
    assert manifest.totals["utterances"] == 2
    assert software in manifest.software
    dataset = UtteranceDataset(store)
    assert dataset[0].text == texts[0]
    assert dataset[0].phoneme_text.startswith(first)
    assert join_symbols(dataset.symbols[i] for i in dataset[1].phonemes) == dataset[1].phoneme_text
    batch = collate(dataset, blanks="around")
    assert batch.phoneme_lengths.tolist() == [2 * n + 1 for n in dataset.n_phonemes]
    pytest.importorskip("jinja2")
    assert run(capsys, "report", store, "-o", tmp_path / "report.html")[0] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert texts[0] in page
    assert first.split()[0] in page
