"""Languages of rows: they select frontend and table as ``--language`` does."""

from __future__ import annotations

import gzip
import json
import tarfile
from pathlib import Path

import pytest
from commands import run
from corpora import KALDI, record, write_kaldi, write_text

from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import get_frontend

pytestmark = pytest.mark.whole

# Article 1 of the Universal Declaration of Human Rights, its first words.
SENTENCES = {
    "cs": "Všichni lidé rodí se svobodní a sobě rovní.",
    "de": "Alle Menschen sind frei und gleich an Würde geboren.",
    "es": "Todos los seres humanos nacen libres e iguales.",
    "fr": "Tous les êtres humains naissent libres et égaux.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi.",
    "sv-SE": "Alla människor är födda fria och lika i värde.",
    "vi": "Tất cả mọi người sinh ra đều được tự do.",
    "zh-CN": "人人生而自由。",
}
HEADER = "client_id\tpath\tsentence_id\tsentence\tsentence_domain\tup_votes\tdown_votes\tage\tgender\tlocale\tsegment\n"


def write_common_voice(root: Path, rows: dict[str, str]) -> Path:
    """Write a list of Common Voice 17 with a row for each locale; return its path."""
    lines = [HEADER]
    for number, (locale, text) in enumerate(rows.items()):
        name = f"common_voice_{locale}_{number}.mp3"
        record(root / "clips" / name, 0.5, 32000)
        lines.append(f"c{number}\t{name}\ts{number}\t{text}\t\t2\t0\t\t\t{locale}\t\n")
    write_text(root / "train.tsv", "".join(lines))
    return root / "train.tsv"


@pytest.mark.parametrize("locale", SENTENCES)
def test_common_voice_needs_no_further_option(capsys: pytest.CaptureFixture[str], tmp_path: Path, locale: str) -> None:
    file, store = write_common_voice(tmp_path / locale, {locale: SENTENCES[locale]}), tmp_path / "store"
    status, out, err = run(capsys, "manifest", file, store, "--jobs", 1)
    assert (status, err) == (0, "")
    frontend = get_frontend(language=locale)
    expected = frontend.phoneticize(frontend.normalize(SENTENCES[locale]))
    dataset = UtteranceDataset(store)
    assert [utterance.phoneme_text for utterance in dataset] == [expected]
    assert list(dataset.symbols) == list(frontend.vocab.symbols)
    assert f"language {locale}" in out.splitlines()[0]
    assert f"language {locale}" in run(capsys, "info", store)[1]


def test_rows_of_several_languages_have_the_frontend_of_each(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = {locale: SENTENCES[locale] for locale in ("zh-CN", "de")} | {"en": "All are born free."}
    file, store = write_common_voice(tmp_path / "corpus", rows), tmp_path / "store"
    status, out, err = run(capsys, "manifest", file, store, "--jobs", 1)
    assert (status, err) == (0, "")
    assert "frontend: espeak,zh-CN=mandarin, language de" in out
    chinese, german, english = UtteranceDataset(store)
    mandarin = get_frontend("mandarin")
    spoken = mandarin.phoneticize(mandarin.normalize(rows["zh-CN"]))
    assert chinese.phoneme_text == " ".join(mandarin.split(spoken))
    for utterance, code in ((german, "de"), (english, "en")):
        phonemes = get_frontend(language=code, symbols="espeak").phoneticize(rows[code])
        assert utterance.phoneme_text.replace(" ", "").replace("▁", " ") == phonemes


def test_an_option_comes_before_the_languages_of_rows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, store = write_common_voice(tmp_path / "corpus", {"": "Hallo.", "de": "Hallo."}), tmp_path / "store"
    arguments = ("manifest", file, store, "--language", "fr", "--frontend", "espeak", "--jobs", 1)
    assert run(capsys, *arguments)[0] == 0
    expected = [get_frontend(language=code).phoneticize("Hallo.") for code in ("fr", "de")]
    assert [utterance.phoneme_text for utterance in UtteranceDataset(store)] == expected


def test_a_language_without_a_voice_costs_its_rows_whatever_their_share(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root = write_kaldi(tmp_path / "data", {**KALDI, "utt2lang": "u1 aaa-unknown\nu2 de\n"})
    status, _, _ = run(capsys, "kaldi", root, tmp_path / "store", "--max-failures", 1, "--jobs", 1)
    assert (status, list(UtteranceDataset(tmp_path / "store").id)) == (0, ["u2"])
    assert read_manifest(tmp_path / "store").configuration["text"]["language"] == "de"


def test_an_export_has_the_language_of_each_row_or_of_the_store(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    record(tmp_path / "a.wav")
    write_text(tmp_path / "list.txt", "a.wav|Hallo.\n")
    arguments = ("filelist", tmp_path / "list.txt", tmp_path / "store", "--language", "de", "--jobs", 1)
    assert run(capsys, *arguments)[0] == 0
    assert run(capsys, "export", tmp_path / "store", tmp_path / "cuts", "--to", "lhotse")[0] == 0
    cut = json.loads(gzip.decompress((tmp_path / "cuts/cuts.jsonl.gz").read_bytes()))
    assert cut["supervisions"][0]["language"] == "de"


@pytest.mark.parametrize("layout", ["nemo", "webdataset", "parquet", "espnet", "lhotse"])
def test_every_export_has_the_languages_of_rows_and_info_and_report_count_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, layout: str
) -> None:
    texts = {"de": "Das ist nicht der Hund.", "pl": "To nie jest mój pies."}
    lines = "path\tsentence\tlocale\n"
    for number, (language, text) in enumerate(texts.items()):
        record(tmp_path / f"clips/{number}.wav")
        lines += f"{number}.wav\t{text}\t{language}\n"
    write_text(tmp_path / "train.tsv", lines)
    store, out = tmp_path / "store", tmp_path / "out"
    assert run(capsys, "manifest", tmp_path / "train.tsv", store, "--jobs", 1, "--waveform", "int16")[0] == 0
    if layout == "nemo":
        assert "languages   de × 1, pl × 1\n" in run(capsys, "info", store)[1]
        run(capsys, "report", store, "-o", tmp_path / "page.html")
        assert "de × 1, pl × 1" in (tmp_path / "page.html").read_text(encoding="utf-8")
    if layout == "parquet":
        pytest.importorskip("pyarrow")
    assert run(capsys, "export", store, out, "--to", layout)[0] == 0
    if layout == "nemo":
        found = [json.loads(line)["language"] for line in (out / "manifest.json").read_text("utf-8").splitlines()]
    elif layout == "espnet":
        found = [line.split()[1] for line in (out / "utt2lang").read_text("utf-8").splitlines()]
    elif layout == "lhotse":
        cuts = gzip.decompress((out / "cuts.jsonl.gz").read_bytes()).decode().splitlines()
        found = [json.loads(cut)["supervisions"][0]["language"] for cut in cuts]
    elif layout == "webdataset":
        with tarfile.open(out / "000000.tar") as tar:
            names = [name for name in tar.getnames() if name.endswith(".json")]
            found = [json.load(tar.extractfile(name))["language"] for name in names]  # type: ignore[arg-type]
    else:
        from pyarrow import parquet

        found = parquet.read_table(out / "data/train-00000.parquet")["language"].to_pylist()
    assert found == list(texts)
