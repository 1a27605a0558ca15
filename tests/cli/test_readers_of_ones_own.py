"""Custom readers: a store has their name, and can be repaired."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from commands import run
from corpora import TEXTS, write_ljspeech

from tts_prep.errors import ConfigurationError
from tts_prep.format.records.manifest import read_manifest
from tts_prep.preprocess.configuration.settings import configure
from tts_prep.preprocess.corpora.corpus import import_reader, read_corpus
from tts_prep.preprocess.run import prepare

MODULE = """
from tts_prep.preprocess.source_utterance import SourceUtterance

def read_mine(root):
    for line in (root / "metadata.csv").read_text("utf-8").splitlines():
        name, _, text = line.split("|")
        yield SourceUtterance(name, text, f"wavs/{name}.wav", "metadata.csv:1", "me")
"""


def checksums(store: Path) -> dict[str, str]:
    files = (path for path in store.rglob("*") if path.is_file())
    return {str(path.relative_to(store)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.whole
def test_a_store_of_a_reader_of_ones_own_has_its_name_and_is_repaired_with_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"reader_{tmp_path.name.replace('-', '_')}"
    Path(f"{name}.py").write_text(MODULE, "utf-8")
    corpus, store = write_ljspeech(tmp_path / "corpus", TEXTS[:2]), tmp_path / "store"
    read_mine = import_reader(f"{name}:read_mine")
    items, root = read_corpus("mine", corpus, own=read_mine)
    prepare(items, root, store, configure("mine"))
    assert read_manifest(store).configuration["corpus"]["reader"] == "mine"
    before = checksums(store)
    (store / "shards/00000.h5").unlink()
    status, _, err = run(capsys, "verify", store, "--repair", corpus, "--jobs", 1)
    assert (status, "give a function of your own by --reader MODULE:FUNCTION" in err) == (2, True)
    status, out, _ = run(capsys, "verify", store, "--repair", corpus, "--jobs", 1, "--reader", f"{name}:read_mine")
    assert (status, "made again" in out) == (0, True)
    assert checksums(store) == before
    status, out, _ = run(
        capsys, "add", store, "--corpus", corpus, "--feature", "energy", "--reader", f"{name}:read_mine", "--jobs", 1
    )
    assert (status, "energy, float32, by frame" in out) == (0, True)


@pytest.mark.parametrize("path", ["module", "os:", ":path", "os:nothing", "no_such_module:f", "os:name"])
def test_what_is_no_function_is_no_reader(path: str) -> None:
    with pytest.raises(ConfigurationError, match="reader: "):
        import_reader(path)
