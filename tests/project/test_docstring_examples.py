"""The examples in docstrings of what is public: each gives what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from corpora import write_ljspeech
from stores import write_named_stores

from tts_prep.checks import measure, suspects
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import ColumnTable

MODULES = ("loader", "recipes", "preprocess", "checks", "export")
MOST_USED = {
    *("UtteranceDataset", "UtteranceDataset.filter", "UtteranceDataset.select", "UtteranceDataset.sort"),
    *("UtteranceDataset.split", "Utterance", "ChainDataset", "TransformDataset", "TupleDataset", "CacheDataset"),
    *("split", "DataLoader", "collate", "Collator", "SegmentCollator", "Batch", "MelNormalizer", "ArrayNormalizer"),
    *("LengthBucketBatchSampler", "Budget", "MixingSampler", "RandomSampler", "BatchSampler", "average_by_duration"),
    *("read_corpus", "configure", "prepare", "mel_spectrogram", "get_frontend", "make_feature", "add_columns"),
    *("Vocab", "ArraySpec", "Part", "measure", "suspects", "thresholds", "export"),
    *("LJSpeechCollector", "stop_probabilities", "PromptedTokens"),
}
"""What most people touch: each has an example."""


def examples() -> Iterator[tuple[str, str]]:
    """Yield the name and the docstring of everything public that has an example."""
    for module in (importlib.import_module(f"tts_prep.{name}") for name in MODULES):
        for name in module.__all__:
            entry = getattr(module, name)
            members = inspect.getmembers(entry, inspect.isfunction) if inspect.isclass(entry) else []
            for full, thing in [(name, entry), *((f"{name}.{member}", function) for member, function in members)]:
                if ">>>" in (thing.__doc__ or ""):
                    yield full, inspect.getdoc(thing) or ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the stores and the corpus of the examples."""
    path = write_named_stores(tmp_path_factory.mktemp("examples"))
    corpus = write_ljspeech(path / "LJSpeech-1.1", ("Why not?", "Yes."))
    table = corpus / "metadata.csv"
    table.write_text(table.read_text("utf-8").replace("S-0000", "LJ001-0001").replace("S-0001", "LJ001-0002"), "utf-8")
    for number in (0, 1):
        (corpus / "wavs" / f"S-000{number}.wav").rename(corpus / "wavs" / f"LJ001-000{number + 1}.wav")
    return path


@pytest.mark.parametrize(("name", "text"), list(examples()), ids=lambda value: "" if "\n" in value else value)
def test_an_example_gives_what_its_docstring_says(
    name: str, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    printed: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=printed.append)
    assert result.attempted or name == "PromptedTokens"
    assert not result.failed, "".join(printed)


def test_what_most_people_touch_has_an_example() -> None:
    assert {name for name, _ in examples()} >= MOST_USED


def test_results_of_commands_print_as_one_short_line(folder: Path) -> None:
    measures = measure(UtteranceDataset(folder / "other"))
    columns = {name: measures.values("seconds") for name in "abcd"}
    assert repr(measures) == "<Measures: 4 utterances of 'other'>"
    found = suspects(measures)
    assert repr(found) == f"<Suspects: {len(found.ids)} of 4 utterances of 'other'>"
    assert repr(ColumnTable(columns, {}, {})) == "<ColumnTable: a, b, c, …>"
    assert repr(ColumnTable({}, {}, {})) == "<ColumnTable: no columns>"
