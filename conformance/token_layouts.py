"""Open exports of codes and texts with the systems' own code: ``python conformance/token_layouts.py NAME CHECKOUT``.

NAME is ``f5-tts`` (SWivid/F5-TTS; needs datasets, torchaudio, librosa, rjieba, pypinyin, x_transformers, torchdiffeq,
accelerate and ema_pytorch), ``fish-speech`` (fishaudio/fish-speech; loguru, lightning, hydra, datasets, tiktoken and
protobuf), ``gpt-sovits`` (RVC-Boss/GPT-SoVITS; pandas), ``inworld`` (inworld-ai/tts; its requirements but those of
training), ``neutts`` (neuphonic/neutts; fire, omegaconf, phonemizer, transformers and datasets), ``orpheus``
(unslothai/notebooks; snac, torchaudio, transformers and datasets) or ``zipvoice`` (k2-fsa/ZipVoice; lhotse, torchaudio,
jieba, pypinyin and tensorboard).

The demo corpus at 24 kHz is prepared as the system prepares it, and as a store that is exported. The system's own data
set and collate function make batches of both, which are compared value by value; those of GPT-SoVITS with the arrays of
the store. Codecs and tokenizers are stand-ins: a code is a formula of samples, and a token a character or one of the
original special tokens.
"""

from __future__ import annotations

import ast
import csv
import importlib
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from codec_language_models import BOOKS, FRAME, RATE, at_24_khz, codes_of, read
from token_steps import of_llama

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

    f5_tts_files(checkout, corpus, folder)
    module = importlib.import_module("f5_tts.model.dataset")
    # load_dataset looks for data/NAME_char beside src/.
    name = os.path.relpath(folder, checkout / "data")
    make_store(corpus, folder / "mels", preset="f5-tts", mel=None, **_F5)
    export(folder / "mels", "f5-tts", folder / "mels_char")
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


_F5 = {"frontend": "characters", "symbols": "f5", "normalize": False}


def f5_tts_files(checkout, corpus, folder):
    """Return the folders of data: by ``prepare_csv_wavs.py``, and of an export of recordings."""
    sys.path[:0] = [str(checkout / "src")]
    preparation = importlib.import_module("f5_tts.train.datasets.prepare_csv_wavs")
    dataset = make_store(corpus, folder / "raw", **_F5)
    export(folder / "raw", "f5-tts", folder / "raw_char")
    with (folder / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="|")
        writer.writerow(("audio_file", "text"))
        writer.writerows((corpus / "wavs" / f"{utterance.id}.wav", utterance.text) for utterance in dataset)
    preparation.prepare_and_save_set(folder / "metadata.csv", folder / "theirs_char", is_finetune=False)
    return folder / "theirs_char", folder / "raw_char"


def fish_speech(checkout, corpus, folder):
    """Compare batches of fish-speech's packed files."""
    files = fish_speech_files(checkout, corpus, folder)
    semantic = importlib.import_module("fish_speech.datasets.semantic")
    batches = []
    for packed in files:
        rows = semantic.AutoTextSemanticInstructionIterableDataset(
            [str(packed)], tokenizer=Characters(), max_length=4096
        )
        random.seed(0)
        collate = semantic.TextDataCollator(Characters(), 4096)
        batches.append([collate([next(iter(rows)) for _ in range(4)]) for _ in range(3)])
    return f"{equal(*batches):,} equal values of batches"


def fish_speech_files(checkout, corpus, folder):
    """Return the folders of packed files: of files as ``extract_vq.py`` saves them, and of an export."""
    sys.path[:0] = [str(checkout)]
    packing = importlib.import_module("tools.llama.build_dataset")
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
    for which in ("theirs", "ours"):
        packing.main.callback((folder / which,), folder / f"{which}-packed", 1, (".lab",), 10)
    return folder / "theirs-packed", folder / "ours-packed"


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
    steps = of_llama(batches)
    return f"{n_rows} of {len(rows)} rows with {equal(*batches):,} equal values; {steps}"


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
    steps = of_llama(batches)
    return f"{n_rows} of {len(given)} rows with {equal(*batches):,} equal values; {steps}"


class Snac:
    """Codes of SNAC's shapes in the order of the example: a small network with random weights has few that differ."""

    sample_rate = RATE

    def __init__(self):
        sys.path[:0] = [str(Path(__file__).parents[1] / "examples")]
        self.codec = importlib.import_module("snac_models").SnacCodes()
        self.codec.model = self
        self.arrays = self.codec.arrays

    def encode(self, samples):
        frames = samples[0, 0, : samples.shape[-1] // 2048 * 2048].abs().double()
        return [(frames.reshape(1, -1, size).sum(2) * 997).long() % 4096 for size in (2048, 1024, 512)]

    def __call__(self, waveforms):
        return self.codec(waveforms)


def orpheus(checkout, corpus, folder):
    """Compare rows, batches of torch's ``Trainer`` and three steps with the functions of the notebook for Orpheus."""
    import datasets
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, Trainer, TrainingArguments

    tokenizer = llama_like(folder / "tokenizer.json")
    notebook = (checkout / "molab" / "Orpheus_(3B)-TTS.py").read_text(encoding="utf-8")
    rows, root = read_corpus("ljspeech", corpus)
    rows = [replace(row, speaker=f"voice {number % 2}") for number, row in enumerate(rows)]
    text = {"frontend": f"tokenizer:{folder / 'tokenizer.json'}"}
    audio = {"n_mels": "none", "sample_rate": RATE, "peak": "none"}
    settings = {"audio": audio, "text": text, "store": {"waveform_dtype": "int16"}}
    prepare(rows, root, folder / "store", configure("ljspeech", settings=settings))
    add_array(folder / "store", "audio_codes", Snac)
    export(folder / "store", "orpheus", folder / "ours")
    # The cell as it stands, but for the device, and networks and tokens that were made here.
    names = {"tokenizer": PreTrainedTokenizerFast(tokenizer_object=tokenizer)}
    functions = functions_of(notebook, "tokenise_audio", "remove_duplicate_frames", "create_input_ids")
    exec(functions.replace("'cuda'", "'cpu'"), names)
    names |= {"snac_model": Snac(), "ds_sample_rate": RATE}
    theirs = []
    for row in rows:
        example = {"text": row.text, "source": row.speaker}
        example["codes_list"] = names["tokenise_audio"](read(corpus / "wavs" / f"{row.id}.wav"))
        theirs.append(names["create_input_ids"](names["remove_duplicate_frames"](example)))
    kept = ("input_ids", "labels", "attention_mask")
    made = datasets.Dataset.from_list([{name: row[name] for name in kept} for row in theirs])
    loaded = datasets.load_dataset(str(folder / "ours"), split="train", cache_dir=str(folder / "cache"))
    losses, batches = [], []
    for rows_of in (made, loaded):
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=156_940, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2
        )
        arguments = TrainingArguments(
            str(folder / "run"), max_steps=3, per_device_train_batch_size=1, logging_steps=1, report_to=[], use_cpu=True
        )
        trainer = Trainer(model=LlamaForCausalLM(config), args=arguments, train_dataset=rows_of)
        batches.append(list(trainer.get_train_dataloader()))
        trainer.train()
        losses.append([entry["loss"] for entry in trainer.state.log_history if "loss" in entry])
    steps = max(abs(a - b) for a, b in zip(*losses, strict=True))
    return f"{len(made)} rows with {equal(*batches):,} equal values; losses of {len(losses[0])} steps by {steps:.1e}"


def llama_like(path):
    """Write and return a tokenizer of bytes with the ids of Llama 3's special tokens and the size of its vocabulary."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    table = {token: number for number, token in enumerate(alphabet)}
    special = {128_000: "<|begin_of_text|>", 128_009: "<|eot_id|>"}
    table |= {special.get(number, f"<|unused {number}|>"): number for number in range(len(table), 128_256)}
    made = Tokenizer(models.BPE(table, []))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.post_processor = processors.TemplateProcessing("<|begin_of_text|> $A", None, [("<|begin_of_text|>", 128_000)])
    made.save(str(path))
    return made


def functions_of(source, *names):
    """Return functions of a notebook, and the numbers that its cells assign; a cell is a function."""
    found = []
    cells = [cell for cell in ast.parse(source).body if isinstance(cell, ast.FunctionDef)]
    for node in (node for cell in cells for node in cell.body):
        is_number = isinstance(node, ast.Assign) and isinstance(node.value, (ast.BinOp, ast.Constant))
        if is_number or (isinstance(node, ast.FunctionDef) and node.name in names):
            found.append(node)
    return "import torch\nimport torchaudio.transforms as T\n" + "\n".join(map(ast.unparse, found))


def zipvoice(checkout, corpus, folder):
    """Compare batches of ZipVoice's data module, of recordings with its own mels and tokens, and three steps."""
    import lhotse
    from lhotse import CutSet, MonoCut, Recording, SupervisionSegment

    sys.path[:0] = [str(checkout), str(checkout / "egs/zipvoice/local")]
    datamodule = importlib.import_module("zipvoice.dataset.datamodule")
    preparation = importlib.import_module("prepare_token_file_char")
    # compute_fbank.py stores mels in chunks that lose precision: the data module computes them from the recordings.
    rows, _ = read_corpus("ljspeech", corpus)
    cuts = []
    for row in rows:
        recording = Recording.from_file(corpus / "wavs" / f"{row.id}.wav", recording_id=row.id)
        segment = SupervisionSegment(row.id, row.id, 0.0, recording.duration, text=row.text)
        cuts.append(MonoCut(row.id, 0.0, recording.duration, 0, [segment], recording=recording))
    CutSet.from_cuts(cuts).to_file(folder / "theirs.jsonl.gz")
    preparation.prepare_tokens(folder / "theirs.jsonl.gz", folder / "tokens.txt")
    text = {"frontend": "characters", "symbols": str(folder / "tokens.txt"), "normalize": False}
    make_store(corpus, folder / "store", preset="zipvoice", mel=None, **text)
    export(folder / "store", "zipvoice", folder / "ours")
    tokens = [(folder / name).read_text(encoding="utf-8") for name in ("tokens.txt", "ours/tokens.txt")]
    assert sorted(tokens[0].splitlines()) == sorted(tokens[1].splitlines())
    batches, ids = [], {}
    for line in (folder / "ours" / "tokens.txt").read_text(encoding="utf-8").split("\n")[:-1]:
        token, number = line.split("\t")
        ids[token] = int(number)
    for path, on_the_fly in ((folder / "theirs.jsonl.gz", True), (folder / "ours" / "cuts.jsonl.gz", False)):
        cuts = lhotse.load_manifest_lazy(path).map(lambda cut: tokenized(cut, ids))
        module = datamodule.TtsDataModule(
            SimpleNamespace(on_the_fly_feats=on_the_fly, return_cuts=False, max_duration=30.0)
        )
        batches.append(list(module.dev_dataloaders(cuts)))
    n_values, largest = 0, 0.0
    for one, other in zip(*batches, strict=True):
        assert one["tokens"] == other["tokens"]
        assert one["text"] == other["text"]
        # int64 of features that are computed, and int32 of those that are read.
        assert other["features_lens"].tolist() == one["features_lens"].tolist()
        # ZipVoice's float32 has errors relative to the largest amplitude of a frame, not to each.
        a, b = one["features"].double().exp(), other["features"].double().exp()
        largest = max(largest, float(((b - a).abs() / a.amax(2, keepdim=True)).max()))
        n_values += a.numel()
    losses = [zipvoice_losses(checkout, found[:3], len(ids)) for found in batches]
    steps = max(abs(a - b) for a, b in zip(*losses, strict=True))
    return (
        f"{n_values:,} amplitudes differ by at most {largest:.1e} of the largest of the frame; losses of "
        f"{len(losses[0])} steps by {steps:.1e}"
    )


def tokenized(cut, ids):
    """Replace the tokens of a cut by ids, as ``tokenize_text`` of ``train_zipvoice.py`` with ``SimpleTokenizer``."""
    segment = cut.supervisions[0]
    tokens = segment.tokens if segment.has_custom("tokens") else [*segment.text]
    segment.tokens = [ids[token] for token in tokens if token in ids]
    return cut


def zipvoice_losses(checkout, batches, vocab_size):
    """Return the losses of steps of a small model with random weights."""
    import torch

    models = importlib.import_module("zipvoice.models.zipvoice")
    torch.manual_seed(0)
    random.seed(0)
    model = models.ZipVoice(
        fm_decoder_downsampling_factor=[1, 2, 1],
        fm_decoder_num_layers=[1, 1, 1],
        fm_decoder_cnn_module_kernel=[7, 7, 7],
        fm_decoder_dim=64,
        fm_decoder_feedforward_dim=96,
        fm_decoder_num_heads=2,
        text_encoder_num_layers=1,
        text_encoder_dim=32,
        text_encoder_feedforward_dim=48,
        text_encoder_num_heads=2,
        text_embed_dim=32,
        vocab_size=vocab_size,
        pad_id=0,
    )
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    losses = []
    for batch in batches:
        # The steps of compute_fbank_loss: feat_scale, noise and times from a seed, and a mean of frames.
        features = batch["features"] * 0.1
        torch.manual_seed(len(losses))
        noise, times = torch.randn_like(features), torch.rand(len(features), 1, 1)
        loss = model(
            tokens=batch["tokens"],
            features=features,
            features_lens=batch["features_lens"],
            noise=noise,
            t=times,
            condition_drop_ratio=0.2,
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses


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


SYSTEMS = {
    "f5-tts": f5_tts,
    "fish-speech": fish_speech,
    "gpt-sovits": gpt_sovits,
    "inworld": inworld,
    "neutts": neutts,
    "orpheus": orpheus,
    "zipvoice": zipvoice,
}


def main() -> None:
    name, checkout = sys.argv[1], Path(sys.argv[2]).absolute()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        at_24_khz(folder / "corpus")
        print(f"{name}: {SYSTEMS[name](checkout, folder / 'corpus', folder)}")


if __name__ == "__main__":
    main()
