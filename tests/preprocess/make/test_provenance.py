"""Licence and origin of a store: said by an option, kept in the manifest, and by everything that changes the store."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from commands import run
from corpora import TEXTS, write_ljspeech
from killing import contents
from stores import make_rows, of_room, write_store

import tts_prep.loader
import tts_prep.preprocess
from tts_prep.errors import ConfigurationError, CorruptStoreError, StoreError
from tts_prep.format.records.manifest import read_manifest
from tts_prep.format.records.provenance import write_provenance
from tts_prep.format.reindexing import reindex_store
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import Configuration, Part, Progress, Provenance, finish_store, prepare
from tts_prep.preprocess.configuration.records import StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.make.transaction import StoreTransaction

verify_store = of_room("verification.files", "verify_store")
repair_store = of_room("verification.repair", "repair_store")

SMALL = Configuration(text=TextConfig(frontend="characters", unknown="drop"), store=StoreConfig(shard_utterances=3))
OPTIONS = ("--frontend", "characters", "--unknown", "drop", "--shard-utterances", 3)
SAID = Provenance("cc-by-4.0", "Read by Ann in 2024.\nCut by hand.")
AS_STORED = {"license": "cc-by-4.0", "origin": "Read by Ann in 2024.\nCut by hand."}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ljspeech(tmp_path_factory.mktemp("provenance") / "lj", TEXTS)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """Return a store that says licence and origin, of which tests make copies."""
    store = tmp_path_factory.mktemp("original") / "store"
    make(corpus, store, SAID)
    return store


@pytest.fixture
def store(original: Path, tmp_path: Path) -> Path:
    return shutil.copytree(original, tmp_path / "store")


def make(corpus: Path, store: Path, provenance: Provenance = Provenance(), **options) -> None:
    prepare(read_ljspeech(corpus), corpus, store, SMALL, provenance=provenance, **options)


def said(store: Path) -> dict[str, str]:
    """Return what a store says, which its file says too, and every file of which is intact."""
    assert all(fault is None for _, fault in verify_store(store))
    manifest = dict(read_manifest(store).provenance)
    path = store / "provenance.json"
    assert (json.loads(path.read_text("utf-8")) if path.exists() else {}) == manifest
    return manifest


def test_a_store_that_says_nothing_has_no_trace_of_it(corpus: Path, original: Path, tmp_path: Path) -> None:
    make(corpus, tmp_path / "store")
    assert not (tmp_path / "store" / "provenance.json").exists()
    assert "provenance" not in (tmp_path / "store" / "manifest.json").read_text("utf-8")
    with_it, without = contents(original), contents(tmp_path / "store")
    assert {name for name in with_it if with_it[name] != without.get(name)} == {"manifest.json", "provenance.json"}


@pytest.mark.whole
def test_a_store_that_is_told_later_has_the_bytes_of_one_that_was_told_at_once(
    corpus: Path, original: Path, tmp_path: Path
) -> None:
    make(corpus, tmp_path / "store")
    inode = (tmp_path / "store" / "shards" / "00000.h5").stat().st_ino
    tts_prep.preprocess.add_provenance(tmp_path / "store", Provenance(licence=SAID.licence))
    assert said(tmp_path / "store") == {"license": "cc-by-4.0"}
    tts_prep.preprocess.add_provenance(tmp_path / "store", Provenance(origin=f"  {SAID.origin}\n"))
    assert contents(tmp_path / "store") == contents(original)
    assert (tmp_path / "store" / "shards" / "00000.h5").stat().st_ino == inode


def test_parts_and_finish_make_the_same_store(corpus: Path, original: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        make(corpus, tmp_path / "store", SAID, part=Part(number, 2))
    finish_store(tmp_path / "store")
    assert contents(tmp_path / "store") == contents(original)


def test_an_interrupted_run_is_resumed_without_saying_it_again(corpus: Path, original: Path, tmp_path: Path) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(corpus, tmp_path / "store", SAID, progress=interrupt)
    assert not (tmp_path / "store" / "manifest.json").exists()
    make(corpus, tmp_path / "store")
    assert contents(tmp_path / "store") == contents(original)


@pytest.mark.whole
def test_an_update_keeps_what_was_said_and_replaces_what_is_said_anew(
    corpus: Path, store: Path, tmp_path: Path
) -> None:
    longer = write_ljspeech(tmp_path / "longer", (*TEXTS, "One more."))
    make(longer, store, existing="update")
    assert said(store) == AS_STORED
    make(longer, store, Provenance(licence="mit"), existing="update")
    assert said(store) == {**AS_STORED, "license": "mit"}
    make(longer, store, existing="overwrite")
    assert said(store) == {}


def test_another_licence_than_that_of_a_complete_store_is_refused(corpus: Path, store: Path) -> None:
    before = contents(store)
    make(corpus, store)
    make(corpus, store, SAID)
    with pytest.raises(StoreError, match="with another licence or origin; 'tts-prep add .* replaces them"):
        make(corpus, store, Provenance(licence="mit"))
    assert contents(store) == before


@pytest.mark.whole
def test_everything_that_changes_a_store_keeps_what_it_says(corpus: Path, store: Path) -> None:
    ids = list(UtteranceDataset(store).id)
    tts_prep.preprocess.add_columns(store, {"id": ids, "rating": list(range(len(ids)))})
    assert said(store) == AS_STORED
    before = contents(store)
    (store / "manifest.json").write_bytes(b"{}")
    reindex_store(store)
    assert contents(store) == before
    (store / "shards" / "00000.h5").write_bytes(b"")
    repair_store(store, corpus)
    assert contents(store) == before


def test_a_broken_file_is_found_and_made_again_from_the_manifest(corpus: Path, store: Path) -> None:
    before = contents(store)
    (store / "provenance.json").write_bytes(b'{"license": "mit"}\n')
    faults = {entry.file: fault for entry, fault in verify_store(store) if fault}
    assert list(faults) == ["provenance.json"]
    assert repair_store(store, corpus)[1] == ["provenance.json"]
    assert contents(store) == before
    (store / "provenance.json").write_bytes(b"{")
    (store / "manifest.json").unlink()
    with pytest.raises(
        CorruptStoreError, match="provenance.json: .*; remove the file, and say licence and origin again"
    ):
        reindex_store(store)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"license": 1}, "expected"),
        ({"license": "x" * 200_000}, "license: 200,000 characters, more than the maximum"),
        ({"origin": "red \x1b[31m"}, "origin: expected a text, found the character '\\\\x1b'"),
        (["mit"], "expected"),
    ],
)
def test_what_a_hostile_store_says_is_an_error(store: Path, value: object, message: str) -> None:
    from stores import edit_manifest

    edit_manifest(store, lambda manifest: manifest.update(provenance=value))
    with pytest.raises(CorruptStoreError, match=message):
        UtteranceDataset(store)


@pytest.mark.whole
def test_a_licence_with_control_characters_is_refused(store: Path) -> None:
    with pytest.raises(ConfigurationError, match="license: expected a text, found the character"):
        tts_prep.preprocess.add_provenance(store, Provenance(licence="mit\x00"))


@pytest.mark.parametrize("licence", ["mit\x00", "mit \udcff", "x" * 200_000])
def test_a_run_refuses_it_before_it_makes_a_shard(licence: str, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="license: "):
        make(corpus, tmp_path / "store", Provenance(licence=licence))
    assert not (tmp_path / "store").exists()


@pytest.mark.whole
@pytest.mark.parametrize(
    "text",
    [
        "録音\u3000東京",
        "می\u200cخواهم",
        "\N{COPYRIGHT SIGN}\N{NO-BREAK SPACE}2024",
        "\N{ZERO WIDTH NO-BREAK SPACE}BSD",
        "Page 1\n\fPage 2",
        "👩\u200d🔬",
    ],
)
def test_a_text_of_any_script_is_kept(text: str, store: Path) -> None:
    tts_prep.preprocess.add_provenance(store, Provenance(text, text))
    assert said(store) == {"license": text, "origin": text}


@pytest.mark.whole
def test_a_file_that_was_changed_by_hand_does_not_replace_what_was_said(store: Path) -> None:
    (store / "provenance.json").write_bytes(b'{"license": "mit"}\n')
    ids = list(UtteranceDataset(store).id)
    tts_prep.preprocess.add_columns(store, {"id": ids, "rating": list(range(len(ids)))})
    assert said(store) == AS_STORED


def test_parts_that_say_different_things_are_refused(corpus: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    make(corpus, store, Provenance(licence="mit"), part=Part(1, 2))
    with pytest.raises(StoreError, match="another part names another licence or origin"):
        make(corpus, store, SAID, part=Part(2, 2))
    make(corpus, store, Provenance(origin="Read by Ann."), part=Part(2, 2))
    finish_store(store)
    assert said(store) == {"license": "mit", "origin": "Read by Ann."}


def test_a_part_that_says_nothing_removes_nothing_that_another_says_meanwhile(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    look = StoreTransaction.provenance

    def before_another(transaction: StoreTransaction) -> Provenance:
        found = look(transaction)
        write_provenance(store, SAID)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(StoreTransaction, "provenance", before_another)
        make(corpus, store, part=Part(1, 2))
    make(corpus, store, part=Part(2, 2))
    finish_store(store)
    assert said(store) == AS_STORED


@pytest.mark.whole
def test_a_chain_names_the_licence_of_every_store(store: Path, tmp_path: Path) -> None:
    other = write_store(tmp_path / "other", make_rows([20, 30]))
    silent = write_store(tmp_path / "silent", make_rows([20, 30]))
    tts_prep.preprocess.add_provenance(other, Provenance(licence="mit"))
    first, *others = (UtteranceDataset(path, verify=True) for path in (silent, other))
    chain = tts_prep.loader.ChainDataset(tts_prep.loader.TransformDataset(first, lambda utterance: utterance), *others)
    assert [found.licence for found in chain.stores()] == ["", "mit"]
    assert chain[len(first)].store.licence == "mit"
    assert UtteranceDataset(store).metadata.origin == SAID.origin


@pytest.mark.whole
def test_commands_say_show_and_pass_it_on(
    corpus: Path, original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    store, again = tmp_path / "store", tmp_path / "again"
    made = run(capsys, "ljspeech", corpus, store, *OPTIONS, "--license", SAID.licence, "--origin", SAID.origin)
    assert made[0] == 0
    assert read_manifest(store).provenance == AS_STORED
    lines = run(capsys, "info", store)[1].splitlines()
    assert [line.split() for line in lines if line.startswith("license")] == [["license", "cc-by-4.0"]]
    assert any(line.startswith("origin") and "Read by Ann in 2024." in line for line in lines)
    assert json.loads(run(capsys, "info", store, "--json")[1])["provenance"] == AS_STORED
    assert run(capsys, "ljspeech", corpus, again, *OPTIONS)[0] == 0
    status, out, _ = run(capsys, "add", again, "--license", SAID.licence)
    assert (status, out) == (0, f"{again}: license: cc-by-4.0\n")
    assert run(capsys, "export", store, tmp_path / "out", "--to", "parquet")[0] == 0
    text = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert 'license: "cc-by-4.0"' in text
    assert "Read by Ann in 2024. Cut by hand.\n" in text
    assert run(capsys, "export", store, tmp_path / "mit", "--to", "parquet", "--license", "mit")[0] == 0
    assert 'license: "mit"' in (tmp_path / "mit" / "README.md").read_text("utf-8")


def test_a_link_in_its_place_is_not_followed(store: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"license": "secret"}')
    (store / "provenance.json").unlink()
    os.symlink(tmp_path / "secret.json", store / "provenance.json")
    with pytest.raises(CorruptStoreError):
        reindex_store(store)
