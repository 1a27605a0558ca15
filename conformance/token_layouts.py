"""Open exports of codes and texts with the systems' own code: ``python conformance/token_layouts.py NAME CHECKOUT``.

NAME is ``f5-tts`` (SWivid/F5-TTS; needs datasets, torchaudio, librosa, rjieba, pypinyin, x_transformers, torchdiffeq,
accelerate and ema_pytorch), ``fish-speech`` (fishaudio/fish-speech; loguru, lightning, hydra, datasets, tiktoken and
protobuf), ``gpt-sovits`` (RVC-Boss/GPT-SoVITS; pandas), ``inworld`` (inworld-ai/tts; its requirements but those of
training) or ``neutts`` (neuphonic/neutts; fire, omegaconf, phonemizer, transformers and datasets).

The demo corpus at 24 kHz is prepared as the system prepares it, and as a store that is exported. The system's own data
set and collate function make batches of both, which are compared value by value; those of GPT-SoVITS with the arrays of
the store. Codecs and tokenizers are stand-ins: a code is a formula of samples, and a token a character or one of the
original special tokens.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from codec_language_models import BOOKS, FRAME, RATE, at_24_khz, codes_of, read

from tts_prep.export import export
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import ArraySpec, add_array, configure, prepare, read_corpus


class Codes:
    """The codec, as a model of a store, and random arrays of GPT-SoVITS."""

    arrays = (
        ArraySpec("audio_codes", "int16", (BOOKS,), "own", rate=RATE / FRAME),
        ArraySpec("semantic_tokens", "int16", (), "own", rate=25.0),
        ArraySpec("bert", "float32", (1024,), "phoneme"),
        ArraySpec("ssl", "float16", (768,), "own", rate=50.0),
    )
    sample_rate = RATE

    def __call__(self, waveforms, phonemes, seconds):
        codes = [codes_of(waveform).astype(np.int16) for waveform in waveforms]
        lengths = [(len(one), round(25 * time), round(50 * time)) for one, time in zip(phonemes, seconds, strict=True)]
        draws = [np.random.default_rng(size) for size in lengths]
        return {
            "audio_codes": codes,
            "semantic_tokens": [
                rng.integers(0, 1024, size[1]).astype(np.int16) for rng, size in zip(draws, lengths, strict=True)
            ],
            "bert": [
                rng.normal(size=(size[0], 1024)).astype(np.float32) for rng, size in zip(draws, lengths, strict=True)
            ],
            "ssl": [
                rng.normal(size=(size[2], 768)).astype(np.float16) for rng, size in zip(draws, lengths, strict=True)
            ],
        }


def make_store(corpus, store, *, preset=None, mel="none", rate=RATE, **text):
    """Return a store of the corpus."""
    rows, root = read_corpus("ljspeech", corpus)
    audio = {"n_mels": mel, "sample_rate": rate, "peak": "none"} if mel else {}
    settings = {"audio": audio, "text": text, "store": {"waveform_dtype": "int16"}}
    prepare(rows, root, store, configure("ljspeech", preset=preset, settings=settings))
    return UtteranceDataset(store)


def f5_tts(checkout, corpus, folder):
    """Compare recordings and mels of F5-TTS's ``CustomDataset``."""
    import torch

    sys.path[:0] = [str(checkout / "src")]
    preparation = importlib.import_module("f5_tts.train.datasets.prepare_csv_wavs")
    module = importlib.import_module("f5_tts.model.dataset")
    # load_dataset looks for data/NAME_char beside src/.
    name = os.path.relpath(folder, checkout / "data")
    text = {"frontend": "characters", "symbols": "f5", "normalize": False}
    stores = [folder / "raw", folder / "mels"]
    dataset = make_store(corpus, stores[0], **text)
    make_store(corpus, stores[1], preset="f5-tts", mel=None, **text)
    for store in stores:
        export(store, "f5-tts", folder / f"{store.name}_char")
    with (folder / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="|")
        writer.writerow(("audio_file", "text"))
        writer.writerows((corpus / "wavs" / f"{utterance.id}.wav", utterance.text) for utterance in dataset)
    preparation.prepare_and_save_set(folder / "metadata.csv", folder / "theirs_char", is_finetune=False)
    found = [
        module.load_dataset(f"{name}/{which}", "char", audio_type=kind)
        for which, kind in (("theirs", "raw"), ("raw", "raw"), ("mels", "mel"))
    ]
    loaders = []
    for one in found:
        sampler = module.DynamicBatchSampler(torch.utils.data.SequentialSampler(one), 3000, max_samples=8)
        loaders.append(torch.utils.data.DataLoader(one, batch_sampler=sampler, collate_fn=module.collate_fn))
    n_values, largest, other_texts = 0, 0.0, 0
    for theirs, raw, mels in zip(*loaders, strict=True):
        torch.testing.assert_close(raw["mel"], theirs["mel"], rtol=0, atol=0)
        assert mels["mel"].shape == theirs["mel"].shape
        largest = max(largest, float((mels["mel"] - theirs["mel"]).abs().max()))
        assert raw["text"] == mels["text"]
        other_texts += sum([*a] != [*b] for a, b in zip(raw["text"], theirs["text"], strict=True))
        n_values += theirs["mel"].numel()
    return (
        f"{n_values:,} equal values of mels of recordings; stored mels differ by at most {largest:.1e}; "
        f"{other_texts} other texts"
    )


def fish_speech(checkout, corpus, folder):
    """Compare batches of fish-speech's packed files."""
    sys.path[:0] = [str(checkout)]
    packing = importlib.import_module("tools.llama.build_dataset")
    semantic = importlib.import_module("fish_speech.datasets.semantic")
    make_store(corpus, folder / "store", frontend="none")
    add_array(folder / "store", "codes", Codec)
    export(folder / "store", "fish-speech", folder / "ours")
    dataset = UtteranceDataset(folder / "store")
    (folder / "theirs" / "ljspeech").mkdir(parents=True)
    for utterance in dataset:
        path = folder / "theirs" / "ljspeech" / utterance.id
        # As process_batch of extract_vq.py saves indices.
        with path.with_suffix(".npy").open("wb") as file:
            np.save(file, codes_of(read(corpus / "wavs" / f"{utterance.id}.wav")).T)
        path.with_suffix(".lab").write_text(utterance.text, encoding="utf-8")
    batches = []
    for which in ("theirs", "ours"):
        packing.main.callback((folder / which,), folder / f"{which}-packed", 1, (".lab",), 10)
        rows = semantic.AutoTextSemanticInstructionIterableDataset(
            [str(folder / f"{which}-packed")], tokenizer=Characters(), max_length=4096
        )
        random.seed(0)
        collate = semantic.TextDataCollator(Characters(), 4096)
        batches.append([collate([next(iter(rows)) for _ in range(4)]) for _ in range(3)])
    return f"{equal(*batches):,} equal values of batches"


class Codec:
    """The codec alone, as a model of a store."""

    arrays = Codes.arrays[:1]
    sample_rate = RATE

    def __call__(self, waveforms):
        return {"audio_codes": [codes_of(waveform).astype(np.int16) for waveform in waveforms]}


class OneBook:
    """The codec's first codebook, as a model of a store."""

    arrays = (ArraySpec("codes", "int32", (), "own", rate=RATE / FRAME),)
    sample_rate = RATE

    def __call__(self, waveforms):
        return {"codes": [codes_of(waveform)[:, 0].astype(np.int32) for waveform in waveforms]}


class Characters:
    """A tokenizer of characters, with special tokens between ``<|`` and ``|>``."""

    def __init__(self):
        self.special = {}

    def get_token_id(self, token):
        return self.special.setdefault(token, 200_000 + len(self.special))

    def encode(self, text, **_):
        found = []
        while text:
            end = text.find("|>") + 2
            if text.startswith("<|") and end > 1:
                found.append(self.get_token_id(text[:end]))
                text = text[end:]
            else:
                found.append(ord(text[0]))
                text = text[1:]
        return found

    # As the semantic ids of fish-speech's tokenizer.
    semantic_begin_id, semantic_end_id = 300_000, 304_095
    semantic_id_to_token_id = property(lambda self: {i: 300_000 + i for i in range(4096)})
    semantic_map_tensor = property(lambda self: __import__("torch").arange(300_000, 304_096))
    pad_token_id = 0
    convert_tokens_to_ids = get_token_id


def gpt_sovits(checkout, corpus, folder):
    """Compare batches of both stages with the arrays of the store."""
    import torch

    sys.path[:0] = [str(checkout / "GPT_SoVITS"), str(checkout)]
    os.environ.update({"version": "v2"})
    text = {"frontend": "arpabet", "symbols": "gpt-sovits-v2", "unknown": "drop"}
    make_store(corpus, folder / "store", **text)
    add_array(folder / "store", "made", Codes)
    export(folder / "store", "gpt-sovits", folder / "out")
    module = importlib.import_module("AR.data.dataset")
    rows = module.Text2SemanticDataset(str(folder / "out/2-name2text.txt"), str(folder / "out/6-name2semantic.tsv"))
    by_name = {f"{utterance.id}.wav": utterance for utterance in UtteranceDataset(folder / "store")}
    n_values, names = 0, set()
    for batch in torch.utils.data.DataLoader(rows, 4, collate_fn=rows.collate):
        for place, row in enumerate(batch["ids"]):
            names.add(rows.item_names[row])
            utterance = by_name[rows.item_names[row]]
            for key, length, expected in (
                ("phoneme_ids", batch["phoneme_ids_len"], utterance.phonemes),
                ("semantic_ids", batch["semantic_ids_len"], utterance.arrays["semantic_tokens"]),
            ):
                found = batch[key][place, : length[place]].numpy()
                np.testing.assert_array_equal(found, expected)
                n_values += found.size
            bert = batch["bert_feature"][place, :, : len(utterance.phonemes)].numpy()
            np.testing.assert_array_equal(bert, utterance.arrays["bert"].T)
            n_values += bert.size
    return f"{len(names)} of {len(by_name)} utterances in stage 1 with {n_values:,} equal values"


class Vocabulary(Characters):
    """The tokenizer of characters as Inworld's data set calls it."""

    pad_token_id = 0

    def __call__(self, text, **_):
        import torch

        return {"input_ids": torch.tensor([self.encode(text)])}


def inworld(checkout, corpus, folder):
    """Compare batches of Inworld TTS's fine-tuning with those of files by its own vectorizer and merger."""
    sys.path[:0] = [str(checkout)]
    vectorizer = importlib.import_module("tools.data.data_vectorizer")
    sets = importlib.import_module("tts.data.tts_datasets")
    sample = importlib.import_module("tts.data.data_sample").Sample
    config = importlib.import_module("tts.utils.configuration").DatasetConfig(["en"], 0.0, 16_000, False)
    make_store(corpus, folder / "store", frontend="characters")
    add_array(folder / "store", "codes", OneBook)
    export(folder / "store", "inworld", folder / "ours")
    dataset = UtteranceDataset(folder / "store")
    (folder / "theirs").mkdir()
    rows = [
        {"id": utterance.id, "wav_path": f"{corpus}/wavs/{utterance.id}.wav", "transcript": utterance.text}
        | {"speaker_id": utterance.speaker, "language": "en", "sample_rate": RATE, "duration": utterance.seconds}
        for utterance in dataset
    ]
    codes = [codes_of(read(Path(row["wav_path"])))[:, 0].tolist() for row in rows]
    n_train = int(len(rows) * (1 - vectorizer._VAL_SPLIT.default))
    for split, of in (("train", slice(n_train)), ("val", slice(n_train, None))):
        starts = np.cumsum([0, *map(len, codes[of])])[:-1]
        samples = [sample.from_json(row, "corpus") for row in rows[of]]
        vectorizer.save_data(samples, np.concatenate(codes[of]), starts, str(folder / "theirs"), split, 0)
    # A program of its own, whose options have the same names.
    merging = [sys.executable, "-m", "tools.data.data_merger", f"--dataset_path={folder / 'theirs'}"]
    subprocess.run(merging, check=True, cwd=checkout, capture_output=True)
    batches = []
    for which in ("theirs", "ours"):
        found = []
        for split in ("train", "val"):
            assert (folder / "theirs" / f"{split}_codes.npy").read_bytes() == (
                folder / "ours" / f"{split}_codes.npy"
            ).read_bytes()
            made, _ = sets._build_dataset(
                tokenizer=Vocabulary(),
                dataset_path=str(folder / which),
                max_seq_len=2048,
                split=split,
                pretraining_mode=False,
                text_normalizer=sets.text_normalization.NoOpTextNormalizer(),
                dataset_config=config,
            )
            wanted = [{**made[place], "source": split} for place in range(len(made))]
            collate = sets.get_collate_fn(0)
            found += [collate(wanted[start : start + 4]) for start in range(0, len(wanted), 4)]
        batches.append([{key: value for key, value in batch.items() if key != "source"} for batch in found])
    n_rows = sum(len(batch["input_ids"]) for batch in batches[0])
    return f"{n_rows} of {len(rows)} rows with {equal(*batches):,} equal values"


def neutts(checkout, corpus, folder):
    """Compare batches of NeuTTS's fine-tuning."""
    import datasets
    import espeakng_loader
    from phonemizer.backend import EspeakBackend
    from phonemizer.backend.espeak.wrapper import EspeakWrapper
    from transformers import default_data_collator

    spec = importlib.util.spec_from_file_location("finetune", checkout / "examples/finetune.py")
    finetune = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(finetune)
    make_store(corpus, folder / "store", frontend="none")
    add_array(folder / "store", "codes", OneBook)
    export(folder / "store", "neutts", folder / "ours")
    dataset = UtteranceDataset(folder / "store")
    given = [
        {
            "__key__": utterance.id,
            "text": utterance.text,
            "codes": codes_of(read(corpus / "wavs" / f"{utterance.id}.wav"))[:, 0].tolist(),
        }
        for utterance in dataset
    ]
    EspeakWrapper.set_library(espeakng_loader.get_library_path())
    EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
    g2p = EspeakBackend("en-us", preserve_punctuation=True, with_stress=True, words_mismatch="ignore")
    loaded = datasets.load_dataset(str(folder / "ours"), split="train", cache_dir=str(folder / "cache"))
    batches = []
    for rows in (datasets.Dataset.from_list(given), loaded):
        tokenizer = Characters()
        made = [finetune.preprocess_sample(row, tokenizer, 2048, g2p) for row in rows.filter(finetune.data_filter)]
        batches.append([default_data_collator(made[start : start + 4]) for start in range(0, len(made), 4)])
    n_rows = sum(len(batch["input_ids"]) for batch in batches[0])
    return f"{n_rows} of {len(given)} rows with {equal(*batches):,} equal values"


def equal(theirs, ours):
    """Return the number of values of batches that are equal."""
    import torch

    n_values = 0
    for one, other in zip(theirs, ours, strict=True):
        assert one.keys() == other.keys()
        for key in one:
            torch.testing.assert_close(other[key], one[key], rtol=0, atol=0)
            n_values += one[key].numel()
    return n_values


SYSTEMS = {"f5-tts": f5_tts, "fish-speech": fish_speech, "gpt-sovits": gpt_sovits, "inworld": inworld, "neutts": neutts}


def main() -> None:
    name, checkout = sys.argv[1], Path(sys.argv[2]).absolute()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        at_24_khz(folder / "corpus")
        print(f"{name}: {SYSTEMS[name](checkout, folder / 'corpus', folder)}")


if __name__ == "__main__":
    main()
