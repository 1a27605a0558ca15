"""The card of a dataset in parquet: what the Hub's own library reads of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from commands import run
from stores import edit_manifest, make_rows, write_store

from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.export import LAYOUTS, export
from tts_prep.export.parquet import size_category

pq = pytest.importorskip("pyarrow.parquet")
yaml = pytest.importorskip("yaml")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_store(tmp_path_factory.mktemp("store") / "voice", make_rows([7, 3, 9]), n_shards=2, waveform=True)


def card(folder: Path) -> tuple[dict, str]:
    """Return the metadata and the text of a card, read by YAML alone."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    _, metadata, body = text.split("---\n", 2)
    return yaml.safe_load(metadata), body


def with_language(store: Path, folder: Path, language: str) -> Path:
    import shutil

    shutil.copytree(store, folder)
    text = {"language": language, "frontend": "espeak"}
    edit_manifest(folder, lambda value: value["configuration"].update(text=text))
    return folder


def test_the_card_has_what_the_hub_asks_for(store: Path, tmp_path: Path) -> None:
    files = export(with_language(store, tmp_path / "voice", "en-us"), "parquet", tmp_path / "out", licence="CC-BY-4.0")
    assert [str(file.relative_to(tmp_path / "out")) for file in files] == [
        "data/train-00000.parquet",
        "README.md",
        "croissant.json",
    ]
    metadata, body = card(tmp_path / "out")
    assert metadata == {
        "language": ["en"],
        "license": "cc-by-4.0",
        "pretty_name": "voice",
        "task_categories": ["text-to-speech"],
        "size_categories": ["n<1K"],
        "configs": [
            {"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*.parquet"}]},
        ],
    }
    fingerprint = json.loads((tmp_path / "voice" / "manifest.json").read_text())["fingerprint"]
    assert all(part in body for part in ("Utterances: 3;", fingerprint, "cc-by-4.0", "## How it was made"))


@pytest.mark.parametrize(
    ("language", "codes"), [("no", ["no"]), ("cmn", ["cmn"]), ("fr-be", ["fr"]), ("", None), ("x-klingon", None)]
)
def test_languages_are_codes_of_the_hub(language: str, codes: list[str] | None, store: Path, tmp_path: Path) -> None:
    export(with_language(store, tmp_path / "voice", language), "parquet", tmp_path / "out")
    assert card(tmp_path / "out")[0].get("language") == codes


def test_the_text_of_a_licence_is_a_file_beside_the_card(store: Path, tmp_path: Path) -> None:
    text = "You may train with it.\nYou may not resell it."
    files = export(store, "parquet", tmp_path / "out", licence=text)
    assert [file.name for file in files] == ["train-00000.parquet", "README.md", "croissant.json", "LICENSE"]
    assert (tmp_path / "out" / "LICENSE").read_text() == f"{text}\n"
    metadata, body = card(tmp_path / "out")
    assert (metadata["license"], metadata["license_name"], metadata["license_link"]) == ("other", "other", "LICENSE")
    assert "See the file `LICENSE`." in body


def test_a_card_without_a_licence_says_so(store: Path, tmp_path: Path) -> None:
    export(store, "parquet", tmp_path / "out")
    metadata, body = card(tmp_path / "out")
    assert "license" not in metadata
    assert "No licence was named." in body


def test_the_command_names_a_licence_and_other_layouts_refuse_it(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "export", store, tmp_path / "out", "--to", "parquet", "--license", "mit")[0] == 0
    assert card(tmp_path / "out")[0]["license"] == "mit"
    for layout in LAYOUTS.keys() - {"parquet"}:
        with pytest.raises(ConfigurationError, match=f"{layout} has no place for it; parquet has"):
            export(store, layout, tmp_path / layout, licence="mit")
        assert not (tmp_path / layout).exists()


def test_names_of_any_characters_make_a_card_of_the_same_form(tmp_path: Path) -> None:
    name = 'a "b": [c]\n# d \\ é\u2028 🙂 <script>'
    rows = [replace(row, speaker="--- `x`") for row in make_rows([3, 4])]
    export(write_store(tmp_path / name, rows), "parquet", tmp_path / "out")
    metadata, body = card(tmp_path / "out")
    assert metadata["pretty_name"] == name
    assert "<script>" not in body
    assert body.count("\n# ") == 1


@pytest.mark.parametrize("origin", ["~~~", "# Licence", "    code", "- a", "1. a", "---"])
def test_an_origin_is_a_paragraph_whatever_it_starts_with(origin: str, tmp_path: Path) -> None:
    store = write_store(tmp_path / "voice", make_rows([3, 4]))
    edit_manifest(store, lambda value: value.update(provenance={"license": "mit", "origin": origin}))
    export(store, "parquet", tmp_path / "out")
    lines = card(tmp_path / "out")[1].splitlines()
    assert lines[lines.index("## How it was made") + 2] == f"Recordings and texts: {origin}"


@pytest.mark.parametrize("licence", ["mit\x00", "mit \udcff"])
def test_a_licence_that_is_no_text_is_refused_before_the_export(licence: str, store: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="license: expected a text, found the character"):
        export(store, "parquet", tmp_path / "out", licence=licence)


def test_a_licence_of_spaces_is_none_and_does_not_hide_that_of_the_store(tmp_path: Path) -> None:
    store = write_store(tmp_path / "voice", make_rows([3, 4]))
    edit_manifest(store, lambda value: value.update(provenance={"license": "mit"}))
    export(store, "parquet", tmp_path / "out", licence="  ")
    assert card(tmp_path / "out")[0]["license"] == "mit"


@pytest.mark.parametrize("seconds", ["x", None, [], 10**400], ids=lambda value: type(value).__name__)
def test_broken_totals_are_an_error_of_the_store(seconds: object, tmp_path: Path) -> None:
    store = write_store(tmp_path / "voice", make_rows([3, 4]))
    edit_manifest(store, lambda value: value["totals"].update(seconds=seconds))
    with pytest.raises(StoreError, match="seconds"):
        export(store, "parquet", tmp_path / "out")


@pytest.mark.parametrize(
    ("n_rows", "category"),
    [
        (1, "n<1K"),
        (999, "n<1K"),
        (1000, "1K<n<10K"),
        (13_100, "10K<n<100K"),
        (10**6, "1M<n<10M"),
        (10**9 - 1, "100M<n<1B"),
    ],
)
def test_a_number_of_rows_has_the_category_of_the_hub(n_rows: int, category: str) -> None:
    assert size_category(n_rows) == category


def test_row_groups_are_of_the_size_that_the_hub_recommends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A thousandth of it: 100 to 300 kB, measured by pyarrow, which knows nothing of our sizes.
    monkeypatch.setattr("tts_prep.export.parquet._GROUP_BYTES", 200_000)
    store = write_store(tmp_path / "voice", make_rows([400 + n for n in range(40)]), waveform=True)
    export(store, "parquet", tmp_path / "out")
    sizes = []
    for path in sorted((tmp_path / "out" / "data").iterdir()):
        file = pq.ParquetFile(path)
        sizes += [file.read_row_group(number).nbytes for number in range(file.num_row_groups)]
    assert len(sizes) > 3
    assert all(100_000 < size < 300_000 for size in sizes[:-1])
    assert sizes[-1] < 300_000


def test_the_library_of_the_hub_reads_the_card(store: Path, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    export(with_language(store, tmp_path / "voice", "de"), "parquet", tmp_path / "out", licence="cc0-1.0")
    found = hub.DatasetCard.load(tmp_path / "out" / "README.md")
    assert found.data.language == ["de"]
    assert (found.data.license, found.data.pretty_name) == ("cc0-1.0", "voice")
    assert found.data.task_categories == ["text-to-speech"]
    assert hub.metadata_load(tmp_path / "out" / "README.md")["size_categories"] == ["n<1K"]
