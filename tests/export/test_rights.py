"""Licence, consent and origin of rows and speakers: from where they come, what carries them, and what says them."""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import soundfile
from commands import run
from corpora import SAMPLE_RATE, speech_like

from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import Provenance, add_array, add_provenance
from tts_prep.preprocess.corpora.corpus import get_corpus

pytestmark = pytest.mark.whole

OPTIONS = (
    "--frontend",
    "characters",
    "--unknown",
    "drop",
    "--waveform",
    "int16",
    "--shard-utterances",
    "2",
    "--jobs",
    1,
)
LICENCES = {"u0": "cc-by-4.0", "u1": "cc0-1.0", "u2": "", "u3": "Ask the speaker, and | pay.", "u4": "cc0-1.0"}
ORIGINS = {"u0": "web", "u1": "studio", "u2": "web", "u3": "web", "u4": ""}
SPEAKERS = {"u0": "anna", "u1": "ben", "u2": "anna", "u3": "ben", "u4": "carl"}
CONSENTS = {"anna": "written", "ben": "spoken", "carl": ""}


def write_corpus(folder: Path, ids: list[str], texts: dict[str, str]) -> Path:
    """Write a manifest whose licences are in a column of another spelling."""
    folder.mkdir(exist_ok=True)
    with (folder / "list.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "audio", "text", "speaker", "licence", "origin"])
        for uid in ids:
            soundfile.write(folder / f"{uid}.wav", speech_like(0.3 + int(uid[1]) / 50, int(uid[1])), SAMPLE_RATE)
            table.writerow(
                [uid, f"{uid}.wav", texts.get(uid, f"Row {uid}"), SPEAKERS[uid], LICENCES[uid], ORIGINS[uid]]
            )
    return folder / "list.csv"


def rights(store: Path) -> dict[str, tuple[str, ...]]:
    dataset = UtteranceDataset(store)
    columns = [dataset.columns[name] for name in ("license", "origin", "consent")]
    return {uid: tuple(map(str, values)) for uid, *values in zip(dataset.id, *columns, strict=True)}


def expected(ids: list[str]) -> dict[str, tuple[str, ...]]:
    return {uid: (LICENCES[uid], ORIGINS[uid], CONSENTS[SPEAKERS[uid]]) for uid in ids}


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a store of the first four rows, with the consents of speakers."""
    path = write_corpus(tmp_path / "corpus", ["u0", "u1", "u2", "u3"], {})
    assert run(capsys, "manifest", path, tmp_path / "store", *OPTIONS)[0] == 0
    (tmp_path / "consents.csv").write_text(
        "speaker,consent\n" + "".join(f"{name},{value}\n" for name, value in CONSENTS.items())
    )
    status, out, err = run(capsys, "add", tmp_path / "store", "--columns", tmp_path / "consents.csv")
    assert (status, err) == (0, "")
    assert "consent, 2 categories; depends on speaker\n" in out
    assert "1 row of no utterance of the store: carl" in out
    return tmp_path / "store"


def test_what_is_said_of_rows_survives_updates_and_exports_to_five_layouts_and_back(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    assert rights(store) == expected(["u0", "u1", "u2", "u3"])
    # A corrected text, a row that leaves and one that comes.
    path = write_corpus(tmp_path / "corpus", ["u0", "u1", "u3", "u4"], {"u0": "Other words"})
    assert run(capsys, "manifest", path, store, *OPTIONS, "--update")[0] == 0
    assert rights(store) == expected(["u0", "u1", "u3", "u4"])
    dataset = UtteranceDataset(store)
    assert [u.id for u in dataset.filter(lambda m: (m.license == "cc0-1.0") & (m.consent != ""))] == ["u1"]
    for layout, read in (
        ("jsonl", ("manifest", "train.jsonl")),
        ("lhotse", ("manifest", "cuts.jsonl.gz")),
        ("parquet", ("manifest", "data")),
        ("webdataset", ("manifest", ".")),
        ("kaldi", ("kaldi", ".")),
    ):
        out, back = tmp_path / layout, tmp_path / f"back-{layout}"
        assert run(capsys, "export", store, out, "--to", layout)[0] == 0
        status, _, err = run(capsys, read[0], out / read[1], back, *OPTIONS)
        assert status == 0, err
        found = {uid.rpartition("-")[2]: values for uid, values in rights(back).items()}
        assert found == expected(["u0", "u1", "u3", "u4"]), layout


def test_a_check_names_rows_that_lack_what_others_have(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def named() -> dict[str, Any]:
        found = json.loads(run(capsys, "check", store, "--json")[1])
        rows = [suspect["id"] for suspect in found["suspects"] if "no-rights" in suspect["reasons"]]
        return {"rows": rows, **found["thresholds"]["no-rights"]}

    assert named()["rows"] == ["u2"]
    # That of the store is that of every row without one.
    add_provenance(store, Provenance("mit"))
    assert (named()["rows"], named()["suspects"]) == ([], 0)
    assert run(capsys, "remove", store, "--columns", "consent")[0] == 0
    path = write_corpus(tmp_path / "corpus", ["u0"], {})
    path.write_text("id,audio,text\nu0,u0.wav,Row\n")
    shutil.rmtree(store)
    assert run(capsys, "manifest", path, store, *OPTIONS)[0] == 0
    assert named()["not_measured"] == "no row lacks a license, consent or origin that others have"


def test_the_card_and_croissant_metadata_have_the_licences_of_rows_and_of_models(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    yaml = pytest.importorskip("yaml")
    add_array(store, "codes", lambda _: [1], dtype="int64", axis="own", settings={"model": {"license": "cc-by-nc-4.0"}})
    assert run(capsys, "export", store, tmp_path / "out", "--to", "parquet")[0] == 0
    _, metadata, body = (tmp_path / "out/README.md").read_text("utf-8").split("---\n", 2)
    assert yaml.safe_load(metadata)["license"] == ["cc-by-4.0", "cc0-1.0", "other"]
    assert (tmp_path / "out/LICENSE").read_text("utf-8") == "Ask the speaker, and | pay.\n"
    lines = body.splitlines()
    assert {"| cc0-1.0 | 1 | 0.00 |", "| Ask the speaker, and / pay. | 1 | 0.00 |", "| not said | 1 | 0.00 |"} <= {
        *lines
    }
    assert {"| written | 2 | 0.00 |", "| web | 3 | 0.00 |", "- `codes`: made by a model under cc-by-nc-4.0"} <= {*lines}
    croissant = json.loads((tmp_path / "out/croissant.json").read_text("utf-8"))
    assert croissant["license"] == ["Ask the speaker, and | pay.", "cc-by-4.0", "cc0-1.0"]
    fields = {field["name"]: field for field in croissant["recordSet"][0]["field"]}
    assert {"license", "consent", "origin", "audio", "phonemes", "codes"} <= {*fields}
    assert (fields["audio"]["dataType"], fields["codes"]["repeated"]) == ("sc:AudioObject", True)
    # One for all.
    assert run(capsys, "export", store, tmp_path / "all", "--to", "parquet", "--license", "mit")[0] == 0
    assert json.loads((tmp_path / "all/croissant.json").read_text("utf-8"))["license"] == "mit"
    # A row without a licence has that of the store.
    add_provenance(store, Provenance("mit"))
    assert run(capsys, "export", store, tmp_path / "own", "--to", "parquet")[0] == 0
    assert "| mit | 1 | 0.00 |" in (tmp_path / "own/README.md").read_text("utf-8").splitlines()


def test_a_corpus_has_the_licence_under_which_it_is_published_unless_another_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wav48_silence_trimmed").mkdir()
    assert get_corpus("vctk").provenance(tmp_path).licence == "cc-by-4.0"
    assert get_corpus("vctk").provenance(tmp_path / "older").licence == ""
    folder = tmp_path / "LibriSpeech/train-clean-100/1/2"
    folder.mkdir(parents=True)
    (folder / "1-2.trans.txt").write_text("1-2-0000 SOME WORDS\n")
    soundfile.write(folder / "1-2-0000.flac", speech_like(0.3, 1), SAMPLE_RATE)
    status, out, _ = run(capsys, "librispeech", tmp_path / "LibriSpeech", tmp_path / "store", *OPTIONS)
    assert (status, "licence: cc-by-4.0, as the corpus is published; --license names another" in out) == (0, True)
    assert UtteranceDataset(tmp_path / "store").metadata.licence == "cc-by-4.0"
    # What was said later stays.
    add_provenance(tmp_path / "store", Provenance("mit", "mine"))
    status, out, _ = run(capsys, "librispeech", tmp_path / "LibriSpeech", tmp_path / "store", *OPTIONS, "--update")
    assert (status, "published" in out.replace(str(tmp_path), "")) == (0, False)
    metadata = UtteranceDataset(tmp_path / "store").metadata
    assert (metadata.licence, metadata.origin) == ("mit", "mine")
    assert (
        run(capsys, "librispeech", tmp_path / "LibriSpeech", tmp_path / "own", *OPTIONS, "--license", "cc0-1.0")[0] == 0
    )
    assert UtteranceDataset(tmp_path / "own").metadata.licence == "cc0-1.0"


def test_a_report_has_the_shares_of_licences_origins_and_consents(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("jinja2")
    assert run(capsys, "report", store, "-o", tmp_path / "report.html")[0] == 0
    page = html.unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    rows = set(re.findall(r'<th scope="row"><bdi>(.*?)</bdi></th><td class="number">[\d.]+ s</td>', page))
    assert rows >= {"Ask the speaker, and | pay.", "cc-by-4.0", "cc0-1.0", "web", "studio", "spoken", "written"}
