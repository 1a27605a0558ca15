"""The files of trainers on tokens have the names, shapes and columns that their loaders read."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
from commands import run
from llama_tokenizer import ids_of, write_tokenizer

from tts_prep.additions.add_arrays import add_features
from tts_prep.errors import ConfigurationError
from tts_prep.export import export
from tts_prep.imports.arrays import make_imported
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import add_columns, configure
from tts_prep.preprocess.run import prepare
from tts_prep.preprocess.source_utterance import SourceUtterance

SPEAKERS = ("anna", "../b", "anna", "../b", "c")


def make_store(corpus: Path, path: Path, **settings: Any) -> Path:
    pytest.importorskip("tts_prep.symbols", reason="the room of --symbols auto")
    rows = [
        SourceUtterance(f"u{i}", f'Ma "{i}",\ttwice.', f"wavs/S-{i:04d}.wav", "here", speaker)
        for i, speaker in enumerate(SPEAKERS)
    ]
    preset = settings.pop("preset", None)
    prepare(rows, corpus, path, configure("ljspeech", preset=preset, settings=settings))
    return path


@pytest.fixture
def store(corpus: Path, tmp_path: Path) -> Path:
    audio = {"n_mels": "none", "sample_rate": 32_000, "peak": "none"}
    text = {"frontend": "characters", "symbols": "auto", "normalize": False}
    return make_store(corpus, tmp_path / "store", audio=audio, text=text, store={"waveform_dtype": "int16"})


def add(store: Path, kind: str, values: dict[str, Any]) -> dict[str, Any]:
    path = store.with_name("values.npz")
    np.savez(path, **values)
    add_features(store, [make_imported(f"{kind}={path}")])
    return values


def codes(*shape: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {f"u{i}": rng.integers(0, 1024, (8 + i, *shape)).astype(np.int16) for i in range(len(SPEAKERS))}


def test_fish_speech_has_codes_by_codebook_beside_texts_in_a_folder_for_each_speaker(
    store: Path, tmp_path: Path
) -> None:
    given = add(store, "mimi@own:21.5", codes(10))
    files = export(store, "fish-speech", tmp_path / "out")
    arrays = {path.stem: path for path in files if path.suffix == ".npy"}
    assert {path.parent.name for path in files} == {"anna", "_b", "c"}
    assert {path.parent.parent for path in files} == {tmp_path / "out"}
    for uid, values in given.items():
        # extract_vq.py: indices [n_codebooks, n_frames].
        np.testing.assert_array_equal(np.load(arrays[uid]), values.T)
        assert arrays[uid].with_suffix(".lab").read_text(encoding="utf-8") == f'Ma "{uid[1]}",\ttwice.'


def test_inworld_has_all_codes_as_plain_int32_their_starts_and_samples_of_two_splits(
    store: Path, tmp_path: Path
) -> None:
    given = add(store, "codes@own:50", codes())
    add_columns(store, {"id": ["u1", "u4"], "emotion": ["Happy", "calm"], "duration": ["a", "b"]})
    export(store, "inworld", tmp_path / "out")
    found = {}
    for split, n_rows in (("train", 4), ("val", 1)):
        # As load_and_filter_audio_codes_and_samples of tts/data/data_utils.py reads them.
        all_codes = np.memmap(tmp_path / f"out/{split}_codes.npy", dtype=np.int32, mode="r")
        starts = np.load(tmp_path / f"out/{split}_codes_index.npy")
        lines = (tmp_path / f"out/{split}_samples.jsonl").read_text("utf-8").splitlines()
        assert (len(lines), len(starts), starts[0]) == (n_rows, n_rows, 0)
        for row, values in zip(map(json.loads, lines), np.split(all_codes, starts[1:]), strict=True):
            found[row["id"]] = row
            np.testing.assert_array_equal(values, given[row["id"]])
    assert list(found) == list(given)
    seconds = {utterance.id: utterance.seconds for utterance in UtteranceDataset(store)}
    expected = {"id": "u4", "wav_path": "u4", "speaker_id": "c", "language": "en", "transcript": 'Ma "4",\ttwice.'}
    expected |= {"duration": seconds["u4"], "sample_rate": 32_000, "emotion": "calm", "corpus_duration": "b"}
    assert found["u4"] == expected


def test_neutts_has_a_data_set_of_texts_and_flat_codes(store: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match="NeuTTS needs the array 'audio_codes', integers with the axis 'own'; "
    ):
        export(store, "neutts", tmp_path / "out")
    given = add(store, "neucodec@own:50", codes(1))
    export(store, "neutts", tmp_path / "out")
    (path,) = (tmp_path / "out").rglob("*.parquet")
    rows = pq.read_table(path).to_pylist()
    expected = [(uid, f'Ma "{uid[1]}",\ttwice.', values[:, 0].tolist()) for uid, values in given.items()]
    assert [(row["__key__"], row["text"], row["codes"]) for row in rows] == expected
    add(store, "audio_codes@own", codes(4))
    with pytest.raises(ConfigurationError, match="NeuTTS needs codebooks: 1, and audio_codes has 4; remove it, "):
        export(store, "neutts", tmp_path / "other")


@pytest.fixture(scope="module")
def with_llamas_tokens(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("tokenizers", reason="the extra tokenizers")
    folder = tmp_path_factory.mktemp("llama")
    audio = {"n_mels": "none", "sample_rate": 24_000, "peak": "none"}
    text = {"frontend": f"tokenizer:{write_tokenizer(folder / 'tokenizer.json', whole=True)}"}
    return make_store(corpus, folder / "store", audio=audio, text=text)


@pytest.mark.whole
def test_orpheus_has_rows_of_ids_of_texts_with_speakers_and_codes_by_slot_without_repeated_frames(
    with_llamas_tokens: Path, tmp_path: Path
) -> None:
    store = Path(shutil.copytree(with_llamas_tokens, tmp_path / "store"))
    given = codes(7)
    # Runs of one first code: the first frame of each stays.
    given["u1"][:, 0] = [5, 5, 5, 6, 5, 7, 7, 8, 8]
    add(store, "audio_codes@own", given)
    export(store, "orpheus", tmp_path / "out")
    (path,) = (tmp_path / "out").rglob("*.parquet")
    rows = pq.read_table(path).to_pylist()
    for (uid, values), speaker, row in zip(given.items(), SPEAKERS, rows, strict=True):
        kept = [0, 3, 4, 5, 7] if uid == "u1" else range(len(values))
        slots = [128_266 + 4096 * slot for slot in range(7)]
        speech = [int(code) + first for frame in kept for code, first in zip(values[frame], slots, strict=True)]
        text_ids = ids_of(f'{speaker}: Ma "{uid[1]}",\ttwice.'.replace("\t", ""))
        # As the notebook for Orpheus: start of human, text, end of text, end of human, start of AI, start of speech, …
        ids = [128_259, *text_ids, 128_009, 128_260, 128_261, 128_257, *speech, 128_258, 128_262]
        assert row == {"input_ids": ids, "labels": ids, "attention_mask": [1] * len(ids)}


@pytest.mark.whole
def test_orpheus_refuses_ids_of_another_tokenizer_and_codes_of_another_codec(
    store: Path, with_llamas_tokens: Path, tmp_path: Path
) -> None:
    given = add(store, "audio_codes@own", codes(7))
    with pytest.raises(
        ConfigurationError,
        match="token 128,000 is <.begin_of_text.>, and the store has no symbol there; repeat the command",
    ):
        export(store, "orpheus", tmp_path / "out")
    other = Path(shutil.copytree(with_llamas_tokens, tmp_path / "other"))
    given["u3"][2, 6] = 4096
    add(other, "snac@own", given)
    with pytest.raises(ConfigurationError, match="codes from 0 to 4,095, and snac of u3 has [0-9]+ to 4,096"):
        export(other, "orpheus", tmp_path / "out")


def test_zipvoice_has_cuts_with_mels_before_its_factor_and_tokens_in_supervisions(corpus: Path, tmp_path: Path) -> None:
    text = {"frontend": "characters", "symbols": "auto", "normalize": False}
    store = make_store(corpus, tmp_path / "store", preset="zipvoice", text=text)
    export(store, "zipvoice", tmp_path / "out")
    with gzip.open(tmp_path / "out/cuts.jsonl.gz", "rt", encoding="utf-8") as file:
        cuts = [json.loads(line) for line in file]
    # One token and its id a line, as SimpleTokenizer of zipvoice/tokenizer/tokenizer.py reads them; it pads with "_".
    lines = (tmp_path / "out/tokens.txt").read_text(encoding="utf-8").split("\n")[:-1]
    ids = {token: int(number) for token, number in (line.split("\t") for line in lines)}
    assert (ids["_"], len(ids)) == (0, len(lines))
    for cut, utterance in zip(cuts, UtteranceDataset(store), strict=True):
        (segment,) = cut["supervisions"]
        assert [ids[token] for token in segment["custom"]["tokens"]] == utterance.phonemes.tolist()
        assert "tokens" not in cut["custom"]
        features = cut["features"]
        values = np.load(Path(features["storage_path"], features["storage_key"]))
        # The training step multiplies by feat_scale, 0.1.
        np.testing.assert_allclose(values * np.float32(0.1), utterance.mel, rtol=2e-7)
        assert values.dtype == np.float32
    other = make_store(corpus, tmp_path / "other", preset="vocos", text=text)
    with pytest.raises(ConfigurationError, match="not made for ZipVoice: .* --update --preset zipvoice$"):
        export(other, "zipvoice", tmp_path / "refused")
    # Its SimpleTokenizer asserts that no token is there twice.
    twice = make_store(
        corpus, tmp_path / "twice", preset="zipvoice", text={**text, "symbols": "styletts2", "unknown": "drop"}
    )
    with pytest.raises(ConfigurationError, match='that of the store has "\'" twice; repeat the command'):
        export(twice, "zipvoice", tmp_path / "refused")


def arrow(path: Path) -> list[dict[str, Any]]:
    with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as reader:
        return reader.read_all().to_pylist()


def test_f5_tts_has_recordings_of_a_store_without_mels_with_symbols_and_their_vocabulary(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, "export", store, tmp_path / "out", "--to", "f5-tts")
    rows, dataset = arrow(tmp_path / "out/raw.arrow"), UtteranceDataset(store)
    vocabulary = (tmp_path / "out/vocab.txt").read_text(encoding="utf-8").split("\n")
    assert (status, out.splitlines()[0]) == (
        0,
        f"vocab.txt: {len(vocabulary) - 1} symbols, not those of F5-TTS's released models, which "
        "--frontend characters --symbols f5 gives",
    )
    # get_tokenizer: the space is the first line.
    assert (vocabulary[0], vocabulary[-1], len({*vocabulary})) == (" ", "", len(vocabulary))
    for row, utterance in zip(rows, dataset, strict=True):
        assert "".join(row["text"]) == utterance.text.replace("\t", " ").lower()
        assert {*row["text"]} <= {*vocabulary}
        samples, rate = soundfile.read(row["audio_path"], dtype="int16")
        np.testing.assert_array_equal(samples, utterance.waveform)
        assert row["duration"] == len(samples) / rate
    durations = json.loads((tmp_path / "out/duration.json").read_text())
    assert durations == {"duration": [row["duration"] for row in rows]}


def test_f5_tts_has_mels_by_bin_not_below_its_floor_and_other_mels_are_refused(corpus: Path, tmp_path: Path) -> None:
    text = {"frontend": "characters", "symbols": "f5", "normalize": False, "unknown": "unk"}
    store = make_store(corpus, tmp_path / "mels", preset="vocos", text=text)
    said: list[str] = []
    export(store, "f5-tts", tmp_path / "out", report=said.append)
    assert not said
    # Of the file of the Emilia data set: the space first, 2,545 in all.
    assert (tmp_path / "out/vocab.txt").read_text(encoding="utf-8").count("\n") == 2545
    rows = arrow(tmp_path / "out/mel.arrow")
    for row, utterance in zip(rows, UtteranceDataset(store), strict=True):
        np.testing.assert_array_equal(
            np.array(row["mel_spec"], np.float32), np.maximum(utterance.mel.T, np.log(1e-5, dtype=np.float32))
        )
        assert row["text"] == list(f'Ma "{utterance.id[1]}", twice.')
    other = make_store(corpus, tmp_path / "other", preset="hifigan", text=text)
    with pytest.raises(ConfigurationError, match="F5-TTS"):
        export(other, "f5-tts", tmp_path / "refused")


def test_gpt_sovits_has_the_files_of_its_preparation(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")
    text = {"frontend": "phonemes", "symbols": "gpt-sovits-v2", "unknown": "drop", "normalize": False}
    audio = {"n_mels": "none", "sample_rate": 32_000, "peak": "none"}
    store = tmp_path / "store"
    texts = ["HH AH0 L OW1 !", "W ER1 L D"]
    rows = [SourceUtterance(f"u{i}", text, f"wavs/S-{i:04d}.wav", "here", "a") for i, text in enumerate(texts)]
    settings = {"audio": audio, "text": text, "store": {"waveform_dtype": "int16"}}
    prepare(rows, corpus, store, configure("ljspeech", settings=settings))
    with pytest.raises(
        ConfigurationError, match="GPT-SoVITS needs the array 'semantic_tokens', integers with the axis"
    ):
        export(store, "gpt-sovits", tmp_path / "lacking")
    tokens = add(store, "semantic_tokens@own:25", {uid: values for uid, values in codes().items() if uid < "u2"})
    sizes, rng = {"u0": 5, "u1": 4}, np.random.default_rng(1)
    add(store, "word2ph@own", {uid: np.array([1, size - 1], np.int16) for uid, size in sizes.items()})
    bert = add(store, "bert@phoneme", {uid: rng.normal(size=(n, 6)).astype(np.float32) for uid, n in sizes.items()})
    ssl = add(store, "ssl@own:50", {uid: rng.normal(size=(9, 5)).astype(np.float16) for uid in sizes})
    vector = add(store, "speaker_vector@utterance", {uid: rng.normal(size=7).astype(np.float32) for uid in sizes})
    out = tmp_path / "out"
    status, said, _ = run(capsys, "export", store, out, "--to", "gpt-sovits")
    assert (status, len(said.splitlines())) == (0, 1)
    lines = (out / "2-name2text.txt").read_text(encoding="utf-8").splitlines()
    words = {"u0": "[1, 4]", "u1": "[1, 3]"}
    assert lines == [f"u{i}.wav\t{text}\t{words[f'u{i}']}\t{text}" for i, text in enumerate(texts)]
    with (out / "6-name2semantic.tsv").open(newline="") as file:
        assert [*csv.reader(file, delimiter="\t")] == [
            ["item_name", "semantic_audio"],
            *([f"{uid}.wav", " ".join(map(str, values))] for uid, values in tokens.items()),
        ]
    for uid in sizes:
        for folder, expected in (
            ("3-bert", bert[uid].T),
            ("4-cnhubert", ssl[uid].T[None]),
            ("7-sv_cn", vector[uid][None]),
        ):
            found = torch.load(out / folder / f"{uid}.wav.pt", weights_only=True)
            assert found.is_contiguous()
            np.testing.assert_array_equal(found.numpy(), expected)
            assert found.numpy().dtype == expected.dtype
        samples, rate = soundfile.read(out / "5-wav32k" / f"{uid}.wav", dtype="int16")
        assert rate == 32_000
        np.testing.assert_array_equal(samples, {u.id: u for u in UtteranceDataset(store)}[uid].waveform)


def test_cosyvoice_3_has_the_instruction_of_each_row_and_tokens_that_are_rejected(store: Path, tmp_path: Path) -> None:
    given = add(store, "speech_tokens@own:25", codes())
    rejected = add(store, "reject_speech_tokens@own:25", {uid: values[::-1] for uid, values in given.items()})
    add(store, "speaker_vector@utterance", {uid: np.ones(3, np.float32) for uid in given})
    instructions = ["Speak slowly.", "", "", "Whisper.<|endofprompt|>", ""]
    add_columns(store, {"id": list(given), "instruct": instructions})
    for layout in ("cosyvoice", "cosyvoice3"):
        export(store, layout, tmp_path / layout)
    old, new = (
        pq.read_table(tmp_path / layout / "parquet_000000000.tar").to_pylist() for layout in ("cosyvoice", "cosyvoice3")
    )
    # As run.sh of examples/libritts/cosyvoice3 gives it.
    default = "You are a helpful assistant.<|endofprompt|>"
    expected = ["Speak slowly.<|endofprompt|>", default, default, "Whisper.<|endofprompt|>", default]
    assert [row.pop("instruct") for row in new] == expected
    assert old == new
    assert [row["reject_speech_token"] for row in old] == [values.tolist() for values in rejected.values()]


def test_coqui_tts_has_the_columns_of_its_formatter_and_the_recordings(store: Path, tmp_path: Path) -> None:
    export(store, "coqui", tmp_path / "out")
    # As the formatter coqui of TTS/tts/datasets/formatters.py reads them.
    with (tmp_path / "out" / "metadata.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="|"))
    assert [*rows[0]] == ["audio_file", "text", "speaker_name"]
    assert [row["text"] for row in rows] == [f'Ma "{i}", twice.' for i in range(len(SPEAKERS))]
    assert tuple(row["speaker_name"] for row in rows) == SPEAKERS
    for row, utterance in zip(rows, UtteranceDataset(store), strict=True):
        samples, rate = soundfile.read(tmp_path / "out" / row["audio_file"], dtype="int16")
        assert rate == 32_000
        np.testing.assert_array_equal(samples, utterance.waveform)
