"""Functions of batches, and models, over a complete store: what they get, what is stored, what fails."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tts_prep.additions.add_arrays import ModelRun
from tts_prep.errors import ConfigurationError, StoreError, TooManyFailuresError, WorkerError
from tts_prep.loader import Collator, UtteranceDataset
from tts_prep.models.add_model import add_model
from tts_prep.models.function import Description, ModelFunction
from tts_prep.models.inputs import batches_of
from tts_prep.models.outputs import Outputs
from tts_prep.preprocess import ArraySpec, Backend, add_array, add_columns, remove_columns
from tts_prep.preprocess.audio.cleaning import CleaningConfig
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.audio.reading import resample
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare
from tts_prep.progress import Progress
from tts_prep.verification.files import verify_store

sys.path.insert(0, str(Path(__file__).parent))
import model_functions as functions

OWN = {"axis": "own", "dtype": "int32"}


def config(waveform_dtype: str | None = "float32", **cleaning) -> Configuration:
    store = StoreConfig(shard_utterances=3, waveform_dtype=waveform_dtype)
    return Configuration(
        corpus="ljspeech",
        mel=replace(PRESETS["hifigan"], peak=None),
        text=TextConfig("characters", unknown="drop"),
        store=store,
        cleaning=CleaningConfig(**cleaning),
    )


@pytest.fixture(scope="session")
def with_waveforms(corpus: Path, made_once) -> Path:
    return made_once("store-with-waveforms", lambda path: prepare(read_ljspeech(corpus), corpus, path, config()))


@pytest.fixture
def own(with_waveforms: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(with_waveforms, tmp_path / "store"))


def files(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}


def test_batches_have_utterances_of_similar_length_and_are_no_longer_than_asked() -> None:
    assert batches_of([1.0, 5.0, 2.0, 9.0, 2.0], 6.0) == [(3,), (1,), (2, 4, 0)]
    assert batches_of([], 6.0) == []
    assert batches_of([7.0, 7.0], 6.0) == [(0,), (1,)]


def test_a_function_gets_waveforms_in_batches_and_its_values_are_added(own: Path) -> None:
    add_array(own, "rms", functions.loudness, axis="utterance", batch_seconds=5)
    dataset = UtteranceDataset(own, verify=True)
    expected = [np.sqrt(np.mean(utterance.waveform.astype(np.float64) ** 2)) for utterance in dataset]
    np.testing.assert_allclose(dataset.views("rms"), expected, rtol=1e-6)
    assert set(dataset.columns["rms_failure"]) == {""}
    assert not [fault for _, fault in verify_store(own, dataset._store.manifest) if fault]
    assert dataset.statistics("rms").count == 7


def test_waveforms_have_the_rate_that_is_asked_for_by_the_resampler_of_the_project(own: Path) -> None:
    add_array(own, "half", functions.lengths, batch_seconds=5, sample_rate=11_025, **OWN)
    for utterance in UtteranceDataset(own):
        expected = resample(utterance.waveform, 22_050, 11_025)
        assert utterance.arrays["half"].tolist() == [len(expected), 11_025]


def test_a_function_gets_what_it_names_and_nothing_else(own: Path) -> None:
    add_array(own, "noted", functions.noted, batch_seconds=60, **OWN)
    dataset = UtteranceDataset(own)
    rows_of_shard = np.bincount(dataset.columns["shard"])[dataset.columns["shard"]].tolist()
    for utterance, rows in zip(dataset, rows_of_shard, strict=True):
        n_characters, n_phonemes, size = utterance.arrays["noted"].tolist()
        assert (n_characters, n_phonemes) == (len(utterance.text), len(utterance.phonemes))
        assert size == rows


@pytest.mark.parametrize("form", ["pair", "dict"])
def test_a_padded_batch_with_its_lengths_is_stored_without_padding(own: Path, form: str) -> None:
    add_array(own, "padded", functions.Padded, settings={"form": form})
    for utterance in UtteranceDataset(own):
        waveform = resample(utterance.waveform, 22_050, 8000)
        assert np.array_equal(utterance.arrays["codes"], functions.Codes().codes(waveform))


@pytest.mark.parametrize(
    ("form", "reason"),
    [("array", "found one array"), ("list", r"expected about \d+ rows, [\d.]+ s at its rate of 100 Hz, found \d+")],
)
def test_a_padded_batch_without_lengths_ends_the_run_with_the_first_utterance_by_name(
    own: Path, form: str, reason: str
) -> None:
    with pytest.raises(TooManyFailuresError, match=rf"the first is S-000\d: array 'codes': {reason}"):
        add_array(own, "padded", functions.Padded, settings={"form": form})
    assert "codes" not in UtteranceDataset(own).arrays


def test_a_class_returns_arrays_numbers_and_texts_and_is_created_once_in_each_process(
    own: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    settings = {"levels": 32, "log": str(log)}
    manifest = add_array(own, "model", functions.Codes, settings=settings, devices=["gpu:0", "gpu:1"])
    created = [line.split() for line in log.read_text().splitlines()]
    assert sorted(device for _, device in created) == ["gpu:0", "gpu:1"]
    assert len({process for process, _ in created}) == 2
    dataset = UtteranceDataset(own, verify=True)
    model = functions.Codes(levels=32)
    for utterance in dataset:
        waveform = resample(utterance.waveform, 22_050, 8000)
        assert np.array_equal(utterance.arrays["codes"], model.codes(waveform))
        assert utterance.meta["peak"] == pytest.approx(np.abs(waveform).max())
        assert utterance.meta["transcript"] == utterance.text.upper()
    batch = Collator(arrays=("codes", "vector"), array_padding={"codes": -1})(dataset[:3])
    assert batch.codes.shape[2] == 2
    assert batch.array_lengths["codes"].tolist() == [len(view) for view in dataset[:3].views("codes")]
    assert batch.vector.shape == (3, 3)
    spec = manifest.specs["codes"]
    assert spec.settings["model"] == {
        "function": "model_functions:Codes",
        "settings": settings,
        "sample_rate": 8000,
        "batch_seconds": 2.0,
        "weights": "none, it is a formula",
    }
    assert spec.software["numpy"] == np.__version__
    assert spec.software["model_functions"].startswith("sha256:")
    assert dataset.filter(lambda m: m.peak > 0.3).indices.tolist() == np.flatnonzero(dataset.peak > 0.3).tolist()


def test_bytes_do_not_depend_on_the_number_of_processes_or_on_an_interruption(own: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(own, tmp_path / "other"))
    shards: list[Progress] = []
    add_array(own, "model", functions.Codes, jobs=2, progress=shards.append)
    assert shards[-1] == Progress(3, 3, unit="shards")

    def interrupted(now: Progress) -> None:
        if now.done == 2:
            raise KeyboardInterrupt

    before, model = files(other), ModelFunction("model", functions.Codes)
    with pytest.raises(KeyboardInterrupt):
        add_model(other, model, ModelRun(progress=interrupted))
    assert files(other) == before
    done: list[int] = []
    add_model(other, model, ModelRun(progress=lambda now: done.append(now.done)))
    assert sorted({*done}) == [0, 2, 3]
    assert files(other) == files(own)
    # Again, there is nothing to do.
    add_model(other, model, ModelRun(progress=lambda now: done.append(now.done)))
    assert files(other) == files(own)


@pytest.mark.whole
def test_recordings_are_read_and_cleaned_as_the_store_says_where_it_has_no_waveforms(
    corpus: Path, with_waveforms: Path, tmp_path: Path
) -> None:
    both = []
    for dtype in ("float32", None):
        both.append(tmp_path / str(dtype))
        prepare(read_ljspeech(corpus), corpus, both[-1], config(dtype, trim_db=30, loudness=-30))
    with pytest.raises(ConfigurationError, match=r"has no waveforms; .*, or give --corpus CORPUS \(corpus=\)"):
        add_array(both[1], "rms", functions.loudness, axis="utterance", batch_seconds=5)
    add_array(both[0], "rms", functions.loudness, axis="utterance", batch_seconds=5)
    add_array(both[1], "rms", functions.loudness, axis="utterance", batch_seconds=5, corpus=corpus)
    a, b = (UtteranceDataset(store).views("rms") for store in both)
    assert a == b
    plain = UtteranceDataset(with_waveforms).views("waveform")
    assert not np.allclose(a, [np.sqrt(np.mean(waveform**2)) for waveform in plain], rtol=0.01)


REASONS = {
    "raises": "RuntimeError: no such thing as this",
    "hangs": "no result within 1 s",
    "dies": "its process ended (signal 9)",
    "exits": "its process ended (exit status 3)",
    "calls sys.exit": "SystemExit: no licence",
    "raises no Exception": "CancelledError:",
    "recurses": "RecursionError: maximum recursion depth",
    "too few values": "'codes': expected 1 values, one for each utterance, found 0",
    "wrong dtype": "array 'codes': expected float32, found float64",
    "not finite": "values are not finite",
    "wrong shape": "array 'codes': expected the shape [rows], found [3, 2]",
    "no value": "the function returned None for it",
    "text": "array 'codes': expected float32, found",
}


class Clock:
    """A clock that goes only while a process hangs, so that no busy machine exceeds a limit of time."""

    def __init__(self, mark: Path) -> None:
        self._mark, self._now = mark, 0.0

    def monotonic(self) -> float:
        hanging = self._mark.read_text().split()[-1:]
        with contextlib.suppress(ProcessLookupError):
            if hanging:
                os.kill(int(hanging[0]), 0)
                self._now += 2
        return self._now


# In one process, which is started again where it ends, as each start of one takes a second.
@pytest.mark.parametrize(
    "ways",
    [
        ("raises", "too few values", "wrong dtype", "not finite"),
        ("wrong shape", "no value", "text", "calls sys.exit"),
        ("raises no Exception", "recurses"),
        ("hangs",),
        ("dies", "exits"),
    ],
)
def test_an_utterance_that_fails_has_no_value_and_all_others_have_theirs(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ways: tuple[str, ...]
) -> None:
    # In each shard of three are some that fail and some that do not.
    bad = {f"S-000{2 * number}": way for number, way in enumerate(ways)}
    mark = tmp_path / "mark"
    mark.touch()
    settings = {"how": ",".join(f"{uid}={way}" for uid, way in bad.items()), "mark": str(mark)}
    monkeypatch.setattr("tts_prep.models.processes.time", Clock(mark))
    add_array(own, "codes", functions.Faulty, settings=settings, timeout=1, max_failures=len(bad))
    dataset = UtteranceDataset(own, verify=True)
    found = dict(zip(dataset.id, dataset.columns["codes_failure"], strict=True))
    assert {uid for uid, reason in found.items() if reason} == set(bad)
    assert all(REASONS[way] in found[uid] for uid, way in bad.items()), found
    kept = dataset.having("codes")
    assert set(kept.id) == set(found) - set(bad)
    for utterance in kept:
        assert np.array_equal(utterance.arrays["codes"], np.abs(utterance.waveform[::100]))
    with pytest.raises(ConfigurationError, match="utterance 'S-0000' has no 'codes': .*having"):
        Collator(arrays=("codes",))(dataset)
    assert Collator(arrays=("codes",))(kept).codes.shape[0] == 7 - len(bad)
    assert dataset.selection_statistics("codes").count == dataset.statistics("codes").count
    # In its batch, and alone.
    assert len(mark.read_text().split()) == 2 * ("hangs" in ways)


def first_numbers(mels, phonemes):
    """Change the arguments in place, and fail in batches; return the first number of each, as they were changed."""
    for value in (*mels, *phonemes):
        value += 1
    if len(mels) > 1:
        raise MemoryError("one at a time")
    return [np.float32([mel[0, 0], ids[0]]) for mel, ids in zip(mels, phonemes, strict=True)]


def test_a_batch_that_is_tried_again_has_its_arguments_as_they_were_although_the_function_changes_them(
    own: Path,
) -> None:
    add_array(own, "firsts", first_numbers, axis="utterance", row_shape=(2,), batch_seconds=60)
    dataset = UtteranceDataset(own)
    expected = [[utterance.mel[0, 0] + 1, utterance.phonemes[0] + 1] for utterance in dataset]
    np.testing.assert_array_equal(dataset.views("firsts"), np.array(expected, np.float32))


def test_too_many_failures_end_the_run_and_the_store_is_unchanged(own: Path) -> None:
    before = files(own)
    with pytest.raises(
        TooManyFailuresError, match=r"1 of 7 utterances have no 'codes' .* S-0003: RuntimeError: no such"
    ):
        add_array(own, "codes", functions.Faulty, settings={"how": "raises"})
    assert files(own) == before
    # Of finished shards, too, which are not computed again.
    with pytest.raises(TooManyFailuresError, match="1 of 7 utterances"):
        add_array(own, "codes", functions.Faulty, settings={"how": "raises"})
    manifest = add_array(own, "codes", functions.Faulty, settings={"how": "raises"}, max_failures="20%")
    assert manifest.specs["codes"].failures == "codes_failure"


def test_a_function_that_cannot_be_used_is_named(own: Path) -> None:
    before = files(own)
    with pytest.raises(ConfigurationError, match=r"model_functions:Unloadable cannot be loaded: FileNotFoundError: w"):
        add_array(own, "x", functions.Unloadable)
    with pytest.raises(ConfigurationError, match="model_functions:Undeclared: expected 'arrays'"):
        add_array(own, "x", functions.Undeclared)
    with pytest.raises(ConfigurationError, match=r"Codes cannot be loaded: TypeError: .* 'colour'"):
        add_array(own, "x", functions.Codes, settings={"colour": 1})
    with pytest.raises(ConfigurationError, match="the function asks for 'folder', there are id, ids"):
        add_array(own, "x", needs_folder, batch_seconds=5)
    with pytest.raises(ConfigurationError, match="devices: expected at least one"):
        add_array(own, "x", functions.Codes, devices=[])
    assert files(own) == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"settings": 5}, "settings: expected a dict, found 5"),
        ({"settings": {"levels": Path("here")}}, "settings: expected values that JSON has, numbers, texts, lists"),
        ({"devices": "cuda"}, r"devices: expected a list of names, such as \['cuda:0'\], found 'cuda'"),
        ({"devices": [0]}, r"devices: expected names, such as \['cuda:0'\], found \[0\]"),
        ({"timeout": "5"}, "^timeout: expected seconds greater than 0, found '5'"),
        ({"load_timeout": 0}, "load_timeout: expected seconds greater than 0, found 0"),
        ({"row_shape": 2}, r"row_shape: expected a tuple of integers, such as \(80,\), found 2"),
        ({"dtype": np.float32}, "dtype: expected a text such as 'float32', found <class 'numpy.float32'>"),
        ({"function": 5}, "function: expected a function or a class, found 5"),
    ],
)
def test_an_argument_of_another_type_is_refused_in_one_line(
    tmp_path: Path, given: dict[str, object], message: str
) -> None:
    arguments = {"function": functions.lengths, **given}
    if {*given} & {"devices", "timeout", "load_timeout"}:
        arguments["batch_seconds"] = 60
    with pytest.raises(ConfigurationError, match=message):
        add_array(tmp_path / "store", "x", **arguments)


def test_outputs_have_different_names_and_columns() -> None:
    codes, numbers = ArraySpec("codes", "int16", (), "own"), {"n_codes": float}
    for arrays, columns, name in (
        ((codes, codes), {}, "codes"),
        ((codes,), {"codes": float}, "codes"),
        ((codes,), numbers, "n_codes"),
        ((codes,), {"x_failure": str}, "x_failure"),
    ):
        with pytest.raises(ConfigurationError, match=f"two outputs have the same name '{name}'|'x_texts': two of its"):
            sorted(Outputs.of("x", Description(arrays, columns, (), None, 60.0)).specs)


@pytest.mark.whole
def test_an_array_whose_lengths_would_be_a_column_of_the_store_is_refused_before_the_function_is_called(
    own: Path, tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("id,n_codes\nS-0000,3\n", encoding="utf-8")
    add_columns(own, table)
    before = files(own)
    with pytest.raises(StoreError, match="has a column 'n_codes' .* which array 'codes' needs"):
        add_array(own, "codes", functions.Faulty, settings={"how": "dies"})
    assert files(own) == before


def needs_folder(folder):
    return folder


def test_a_function_that_another_process_cannot_get_is_named_with_the_reason(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(own)
    with pytest.raises(ConfigurationError, match=r"<lambda>: a function cannot be sent .*; define functions and"):
        add_array(own, "x", lambda mels: mels, batch_seconds=60)
    (tmp_path / "imported_here_alone.py").write_text("def copies(mels):\n    return mels\n", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        import imported_here_alone
    reason = "ModuleNotFoundError: No module named 'imported_here_alone'; expected a module that it can import"
    with pytest.raises(ConfigurationError, match=f"imported_here_alone:copies cannot be loaded .*{reason}"):
        add_array(own, "x", imported_here_alone.copies, batch_seconds=60)
    assert files(own) == before


def test_a_model_that_changes_its_process_has_the_values_of_one_that_does_not(
    own: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A relative path, although the model changes its working folder.
    monkeypatch.chdir(corpus.parent)
    add_array(own, "rms", functions.Disturbing, settings={"folder": str(tmp_path)}, corpus=corpus.name)
    dataset = UtteranceDataset(own)
    expected = [functions.loudness([utterance.waveform])[0] for utterance in dataset]
    assert dataset.views("rms") == expected


def test_a_function_that_differs_between_processes_is_refused(own: Path) -> None:
    before = files(own)
    with pytest.raises(ConfigurationError, match=r"Differing: asks for or returns something else in the process of 2"):
        add_array(own, "x", functions.Differing, devices=["1", "2"])
    assert files(own) == before


def test_an_array_with_other_settings_is_refused_and_its_columns_are_not_replaced(own: Path) -> None:
    add_array(own, "model", functions.Codes, settings={"levels": 8})
    with pytest.raises(StoreError, match="has the array 'codes' already, made with other settings"):
        add_array(own, "model", functions.Codes, settings={"levels": 9})
    with pytest.raises(StoreError, match="has the array 'codes' already|a column 'peak' of its own"):
        add_array(own, "again", functions.Codes, settings={"levels": 8})


def test_an_utterance_without_an_array_that_a_function_asks_for_has_no_value_either(own: Path) -> None:
    add_array(own, "codes", functions.Faulty, settings={"how": "raises"}, max_failures=1)
    add_array(own, "sums", of_codes, batch_seconds=60, axis="utterance", max_failures=1)
    dataset = UtteranceDataset(own)
    assert dataset.columns["sums_failure"][3].startswith("no value of 'codes': RuntimeError")
    kept = dataset.having("sums")
    assert kept.views("sums") == [pytest.approx(view.sum()) for view in kept.views("codes")]


def of_codes(codes):
    return [np.float32(of_utterance.sum()) for of_utterance in codes]


def test_what_one_function_has_added_is_removed_together(own: Path) -> None:
    before = files(own)
    add_array(own, "model", functions.Codes)
    remove_columns(own, arrays=["vector"])
    assert files(own) == before


def test_a_process_that_is_killed_while_it_loads_the_model_is_started_once_more(own: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    add_array(own, "model", functions.DiesAtFirst, settings={"folder": str(first), "times": 1})
    assert set(UtteranceDataset(own).columns["model_failure"]) == {""}
    remove_columns(own, arrays=["codes"])
    before = files(own)
    with pytest.raises(WorkerError, match=r"ended twice while it loaded the function \(signal 9\)"):
        add_array(own, "model", functions.DiesAtFirst, settings={"folder": str(second), "times": 2})
    assert files(own) == before


def test_a_function_that_is_not_loaded_in_time_ends_the_run_and_the_store_is_unchanged(own: Path) -> None:
    before = files(own)
    with pytest.raises(WorkerError, match=r"of cpu did not load the function within 1 s; .* greater --load-timeout"):
        add_array(own, "x", functions.NeverLoaded, load_timeout=1)
    with pytest.raises(ConfigurationError, match="load_timeout: expected seconds greater than 0, found nan"):
        add_array(own, "x", functions.NeverLoaded, load_timeout=float("nan"))
    assert files(own) == before


def test_a_function_of_batches_refuses_a_backend_of_other_machines(own: Path) -> None:
    with pytest.raises(ConfigurationError, match="processes on this machine; give devices="):
        add_array(own, "x", functions.NeverLoaded, backend=Backend("dask"))
