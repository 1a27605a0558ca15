"""Ids of texts by tokenizers of language models are those of the tokenizers' own libraries."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from corpora import write_ljspeech
from killing import contents

from tts_prep.inference import frontend_of
from tts_prep.loader import UtteranceDataset

tokenizers = pytest.importorskip("tokenizers", reason="the extra tokenizers")
sentencepiece = pytest.importorskip("sentencepiece", reason="the extra tokenizers")

TEXTS = ("In 1455, one.", "Two and  three, „quoted“.", "Größe 漢字 🙂 <x> ▁.", "Four four four.")
HOW = ("--mel", "none", "--jobs", 1)
Ids = Callable[[str], list[int]]


def byte_level(path: Path) -> Ids:
    """A tokenizer like those of GPT-2 and Qwen, with a special token in front of texts."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    special = ["<|endoftext|>", "<x>"]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet)
    made.train_from_iterator(TEXTS * 5, trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing("<|endoftext|> $A", None, [("<|endoftext|>", 0)])
    made.save(str(path))
    library = tokenizers.Tokenizer.from_file(str(path))
    return lambda text: list(library.encode(text).ids)


def unigram(path: Path) -> Ids:
    """A model of sentencepiece, as Llama's and pocket-tts's are."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 20), model_writer=model, vocab_size=90, hard_vocab_limit=False, minloglevel=2
    )
    path.write_bytes(model.getvalue())
    library = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return lambda text: list(library.encode(text))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ljspeech(tmp_path_factory.mktemp("lj") / "lj", TEXTS)


@pytest.mark.whole
@pytest.mark.parametrize(("make", "name"), [(byte_level, "tokenizer.json"), (unigram, "spm.model")])
def test_ids_are_those_of_the_library_in_stores_and_at_inference(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path, make: Callable[[Path], Ids], name: str
) -> None:
    file, store = tmp_path / name, tmp_path / "store"
    ids = make(file)
    made = ("ljspeech", corpus, store, *HOW, "--frontend", f"tokenizer:{file}")
    status, _, error = run(capsys, *made)
    assert status == 0, error
    dataset = UtteranceDataset(store)
    assert [utterance.phonemes.tolist() for utterance in dataset] == [ids(text) for text in TEXTS]
    assert [utterance.phoneme_text for utterance in dataset] == list(TEXTS)
    before = contents(store)
    assert (run(capsys, *made)[0], contents(store)) == (0, before)
    for command in (("verify",), ("check",), ("info",), ("report", "-o", tmp_path / "r.html")):
        assert run(capsys, command[0], store, *command[1:])[0] == 0, command
    # The manifest alone has all of it.
    content = file.read_bytes()
    file.unlink()
    frontend = frontend_of(store / "manifest.json")
    for text in (*TEXTS, "Unseen text, 12."):
        assert frontend(text).tolist() == ids(text)
    assert frontend.read(TEXTS[0]).phonemes == TEXTS[0]
    if name != "tokenizer.json":
        return
    # Another file is another store, and an update makes it as it would be made anew.
    file.write_text(json.dumps({**json.loads(content), "post_processor": None}), "utf-8")
    status, _, error = run(capsys, *made)
    assert (status, "text.symbols" in error) == (1, True)
    assert run(capsys, *made, "--update")[0] == 0
    assert run(capsys, "ljspeech", corpus, tmp_path / "fresh", *made[3:])[0] == 0
    assert contents(store) == contents(tmp_path / "fresh")
    assert UtteranceDataset(store)[0].phonemes.tolist() == ids(TEXTS[0])[1:]


HOSTILE: dict[str, Any] = {
    "empty.json": b"{}",
    "deep.json": b'{"a":' + b"[" * 100_000,
    "other.json": json.dumps({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": [["a", "b"]]}}).encode(),
    "nothing.model": b"",
    "zeros.model": bytes(10_000),
    "noise.model": np.random.default_rng(0).bytes(50_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_an_error_of_one_line(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(HOSTILE[name])
    given = ("--frontend", f"tokenizer:{tmp_path / name}")
    status, _, error = run(capsys, "ljspeech", corpus, tmp_path / "store", *HOW, *given)
    assert (status, "tokenizer: " in error, error.count("error:")) == (2, True, 1), error
    for given, says in (
        (("--frontend", "tokenizer"), "tokenizer:FILE"),
        (("--frontend", f"tokenizer:{tmp_path / 'no'}"), "cannot be read"),
        (("--frontend", f"tokenizer:{tmp_path / name}", "--symbols", "vits"), "omit --symbols"),
    ):
        status, _, error = run(capsys, "ljspeech", corpus, tmp_path / "store", *HOW, *given)
        assert (status, says in error) == (2, True), error
