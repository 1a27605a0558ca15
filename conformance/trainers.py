"""Run systems' own training programs on their own preparation and on ours.

    python conformance/trainers.py NAME CHECKOUT [--steps 50] [--workers 0,4] [--ranks 1,2]

The program of the checkout is run as it stands, in a process of its own, in a copy of the checkout: with its own files
of the demo corpus, made as its own scripts make them, and with those of an export of a store. Models are small, and
their first weights, tokenizers and codecs stand-ins, which are written to a folder as its checkpoint. What is compared
are all losses that the program itself logs. Before the program starts, all generators are seeded.

`PROGRAMS` says what each needs, which lines of the copy are replaced, and why a number of workers or ranks is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import importlib.util
import json
import os
import random
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np

BATCH = 2
# In double precision the least and the largest energy can lie outside of the model's buckets.
STANDARDIZED = "(np.load(filename) - float(mean)) / float(std)"


@dataclasses.dataclass
class Run:
    """What a program is run with.

    Attributes:
        checkout: the copy of the checkout.
        corpus: the demo corpus at 24 kHz.
        folder: an empty folder.
        files: of a side, what its preparation or the export wrote.
        out: where the program writes to.
    """

    checkout: Path
    corpus: Path
    folder: Path
    steps: int = 50
    workers: int = 0
    ranks: int = 1
    files: Path = Path()
    out: Path = Path()


@dataclasses.dataclass(frozen=True)
class Program:
    """The training program of a system.

    Attributes:
        prepare: writes the files of both sides and the stand-ins, and returns the files: theirs and ours.
        command: the path of the program in the checkout, or the name of a module, with its arguments.
        lines: files of the checkout, and what is replaced in them.
        recipe: a file of the checkout, and the import that is added at its end for ours; empty for an export.
        workers: the numbers of workers that it can have.
        ranks: the numbers of ranks that it can have on this machine.
        losses: the losses that it logged, by name and step.
    """

    prepare: Callable[[Run], tuple[Path, Path]]
    command: Callable[[Run], list[str]]
    lines: tuple[tuple[str, str, str], ...] = ()
    recipe: tuple[str, ...] = ()
    workers: tuple[int, ...] = (0, 4)
    ranks: tuple[int, ...] = (1, 2)
    losses: Callable[[Run], dict[tuple[str, int], float]] = lambda run: logged(run.out)


def logged(folder: Path) -> dict[tuple[str, int], float]:
    """Return the losses in files of TensorBoard."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = {}
    for path in sorted(folder.rglob("events.out.tfevents*")):
        events = EventAccumulator(str(path), {"scalars": 0, "tensors": 0})
        events.Reload()
        for tag in events.Tags()["scalars"]:
            if "loss" in tag:
                found |= {(tag, event.step): event.value for event in events.Scalars(tag)}
    return found


def characters(folder: Path, special: list[str], size: int = 0x250, **settings) -> int:
    """Save a tokenizer of characters with special tokens after them, and return the size of its vocabulary."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    table = {"<unk>": 0} | {chr(number): number for number in range(1, size)}
    tokenizer = Tokenizer(models.WordLevel(table, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("[\\s\\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **settings).save_pretrained(folder)
    return size + len(special)


def fish_files(run: Run) -> tuple[Path, Path]:

    from token_layouts import fish_speech_files

    sys.path.insert(0, str(run.checkout))
    found = fish_speech_files(run.checkout, run.corpus, run.folder)
    llama = importlib.import_module("fish_speech.models.text2semantic.llama")
    names = importlib.import_module("fish_speech.tokenizer").ALL_SPECIAL_TOKENS
    place = run.folder / "checkpoint"
    size = characters(place, ["<|speaker:0|>", "<|speaker:1|>", *names], pad_token="<|pad|>", eos_token="<|endoftext|>")
    config = llama.DualARModelArgs(
        vocab_size=size,
        n_layer=1,
        n_head=2,
        dim=32,
        head_dim=16,
        intermediate_size=64,
        n_fast_layer=1,
        codebook_size=4_096,
        num_codebooks=16,
        max_seq_len=4_096,
    )
    (place / "config.json").write_text(json.dumps(dataclasses.asdict(config)), encoding="utf-8")
    import torch

    torch.manual_seed(0)
    model = llama.DualARTransformer(config)
    model.apply(model._init_weights)
    torch.save(model.state_dict(), place / "model.pth")
    return found


def fish_command(run: Run) -> list[str]:
    return [
        "fish_speech/train.py",
        "--config-name=text2semantic_finetune",
        f"pretrained_ckpt_path={run.folder / 'checkpoint'}",
        "tokenizer.model_path=${pretrained_ckpt_path}",
        f"train_dataset.proto_files=[{run.files}]",
        f"val_dataset.proto_files=[{run.files}]",
        f"paths.run_dir={run.out}",
        f"data.num_workers={run.workers}",
        f"data.batch_size={BATCH}",
        "max_length=1024",
        "trainer.accelerator=cpu",
        f"trainer.devices={run.ranks}",
        "trainer.strategy.process_group_backend=gloo",
        "trainer.precision=32",
        f"trainer.max_steps={run.steps}",
        "trainer.limit_val_batches=0",
        "+trainer.log_every_n_steps=1",
        "+seed=1",
    ]


def sovits_files(run: Run) -> tuple[Path, Path]:
    import torch
    import yaml
    from token_layouts import Codes, make_store

    from tts_prep.export import export
    from tts_prep.loader import UtteranceDataset
    from tts_prep.preprocess import add_array

    store, theirs, ours = (run.folder / name for name in ("store", "theirs", "ours"))
    make_store(run.corpus, store, frontend="arpabet", symbols="gpt-sovits-v2", unknown="drop")
    add_array(store, "made", Codes)
    export(store, "gpt-sovits", ours)
    # As 1-get-text.py and 3-get-semantic.py write them. Phones are those of the store, because g2p_en needs a download.
    (theirs / "3-bert").mkdir(parents=True)
    texts, semantic = [], ["item_name\tsemantic_audio"]
    dataset = UtteranceDataset(store)
    for one in dataset:
        name = f"{one.id}.wav"
        texts.append(f"{name}\t{' '.join(dataset.symbols[number] for number in one.phonemes)}\t{None}\t{one.text}")
        semantic.append(f"{name}\t{' '.join(map(str, one.arrays['semantic_tokens'].tolist()))}")
        torch.save(torch.tensor(np.array(one.arrays["bert"].T)), theirs / "3-bert" / f"{name}.pt")
    (theirs / "2-name2text.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (theirs / "6-name2semantic.tsv").write_text("\n".join(semantic), encoding="utf-8")
    config = yaml.safe_load((run.checkout / "GPT_SoVITS/configs/s1longer-v2.yaml").read_text(encoding="utf-8"))
    config["model"] |= {"embedding_dim": 32, "hidden_dim": 32, "head": 2, "linear_units": 64, "n_layer": 1}
    config["train"] |= {"batch_size": BATCH, "precision": 32, "if_save_latest": True, "if_save_every_weights": True}
    (run.folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return theirs, ours


def sovits_command(run: Run) -> list[str]:
    import yaml

    config = json.loads((run.folder / "config.json").read_text(encoding="utf-8"))
    weights = run.out / "weights"
    weights.mkdir()
    config["train"] |= {"epochs": max(2, run.steps // 25), "half_weights_save_dir": str(weights), "exp_name": "demo"}
    config["data"]["num_workers"] = run.workers
    config |= {
        "output_dir": str(run.out / "s1"),
        "train_semantic_path": str(run.files / "6-name2semantic.tsv"),
        "train_phoneme_path": str(run.files / "2-name2text.txt"),
    }
    path = run.out / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return ["GPT_SoVITS/s1_train.py", "--config_file", str(path)]


def voxcpm_files(run: Run) -> tuple[Path, Path]:
    import torch
    from token_layouts import make_store

    from tts_prep.export import export
    from tts_prep.loader import UtteranceDataset

    sys.path.insert(0, str(run.checkout / "src"))
    make_store(
        run.corpus,
        run.folder / "store",
        frontend="none",
    )
    export(run.folder / "store", "jsonl", run.folder / "ours")
    rows = [
        {"audio": str(run.corpus / "wavs" / f"{one.id}.wav"), "text": one.text}
        for one in UtteranceDataset(run.folder / "store")
    ]
    # No references: VoxCPM takes any, and the export chooses one of the speaker.
    ours = [json.loads(line) for line in (run.folder / "ours/train.jsonl").read_text(encoding="utf-8").splitlines()]
    for row, exported in zip(rows, ours, strict=True):
        row["ref_audio"] = str(run.corpus / "wavs" / Path(exported["ref_audio"]).name)
    theirs = run.folder / "theirs.jsonl"
    theirs.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    place = run.folder / "checkpoint"
    size = characters(place, ["</s>"], pad_token="</s>", eos_token="</s>")
    model, vae = (importlib.import_module(f"voxcpm.{name}") for name in ("model.voxcpm", "modules.audiovae"))
    small = {"hidden_dim": 32, "ffn_dim": 64, "num_heads": 2, "num_layers": 1}
    rope = {"type": "longrope", "long_factor": [1.0] * 8, "short_factor": [1.0] * 8}
    config = {
        "architecture": "voxcpm",
        "lm_config": {
            "bos_token_id": 1,
            "eos_token_id": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "max_position_embeddings": 4_096,
            "num_attention_heads": 2,
            "num_hidden_layers": 1,
            "num_key_value_heads": 2,
            "rms_norm_eps": 1e-5,
            "rope_scaling": {**rope, "original_max_position_embeddings": 4_096},
            "vocab_size": size,
            "use_mup": False,
            "scale_emb": 1.0,
            "dim_model_base": 32,
            "scale_depth": 1.0,
            "rope_theta": 10_000.0,
        },
        "residual_lm_num_layers": 1,
        "encoder_config": small,
        "dit_config": {**small, "cfm_config": {}},
        "audio_vae_config": {"encoder_dim": 8, "decoder_dim": 32},
        "dtype": "float32",
    }
    (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
    torch.manual_seed(0)
    codec = vae.AudioVAE(config=vae.AudioVAEConfig(**config["audio_vae_config"]))
    torch.save({"state_dict": codec.state_dict()}, place / "audiovae.pth")
    made = model.VoxCPMModel(model.VoxCPMConfig(**config), Vocabulary(), codec, device="cpu")
    state = {name: value for name, value in made.state_dict().items() if not name.startswith("audio_vae.")}
    torch.save({"state_dict": state}, place / "pytorch_model.bin")
    return theirs, run.folder / "ours/train.jsonl"


class Vocabulary:
    """What VoxCPM's model looks at in a tokenizer while it is made."""

    def __init__(self):
        self.vocab = {}


def voxcpm_command(run: Run) -> list[str]:
    options = {
        "pretrained_path": run.folder / "checkpoint",
        "train_manifest": run.files,
        "batch_size": BATCH,
        "num_workers": run.workers,
        "num_iters": run.steps,
        "log_interval": 1,
        "save_interval": run.steps,
        "save_path": run.out,
        "tensorboard": run.out / "logs",
        "warmup_steps": 2,
    }
    path = run.out / "config.yaml"
    path.write_text(json.dumps(options, default=str), encoding="utf-8")
    return ["scripts/train_voxcpm_finetune.py", "--config_path", str(path)]


def parler_files(run: Run) -> tuple[Path, Path]:
    import datasets
    import torch
    from token_layouts import RATE, make_store
    from transformers import EncodecFeatureExtractor, T5Config

    from tts_prep.export import export
    from tts_prep.loader import UtteranceDataset
    from tts_prep.preprocess import add_columns

    sys.path.insert(0, str(run.checkout))
    store = run.folder / "store"
    make_store(run.corpus, store, frontend="none")
    found = list(UtteranceDataset(store))
    texts, ids = [one.text for one in found], [one.id for one in found]
    described = [f"A voice speaks for {one.seconds:.1f} seconds." for one in found]
    add_columns(store, {"id": ids, "text_description": described})
    export(store, "parquet", run.folder / "ours")
    # As Parler's guide makes data sets: recordings by path, texts and descriptions.
    columns = {
        "id": ids,
        "audio": [str(run.corpus / "wavs" / f"{uid}.wav") for uid in ids],
        "text": texts,
        "text_description": described,
    }
    made = datasets.Dataset.from_dict(columns).cast_column("audio", datasets.Audio())
    (run.folder / "theirs").mkdir()
    made.to_parquet(run.folder / "theirs" / "train.parquet")
    place = run.folder / "checkpoint"
    size = characters(place, ["</s>"], pad_token="</s>", eos_token="</s>")
    parler = importlib.import_module("parler_tts")
    entries = 1_024
    text = T5Config(vocab_size=size, d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2)
    codec = parler.DACConfig(latent_dim=1_024, codebook_size=entries, num_codebooks=9, sampling_rate=RATE)
    decoder = parler.ParlerTTSDecoderConfig(
        vocab_size=entries + 64,
        num_hidden_layers=1,
        ffn_dim=64,
        num_attention_heads=2,
        hidden_size=32,
        dropout=0.0,
        max_position_embeddings=2_048,
        pad_token_id=entries,
        eos_token_id=entries,
        bos_token_id=entries + 1,
        num_codebooks=9,
    )
    config = parler.ParlerTTSConfig.from_sub_models_config(text, codec, decoder, vocab_size=size)
    config.pad_token_id, config.decoder_start_token_id = entries, entries + 1
    torch.manual_seed(0)
    model = parler.ParlerTTSForConditionalGeneration(config)
    model.generation_config.decoder_start_token_id = entries + 1
    model.generation_config.pad_token_id = model.generation_config.eos_token_id = entries
    model.generation_config.max_length = 2_580
    model.save_pretrained(place)
    EncodecFeatureExtractor(sampling_rate=RATE).save_pretrained(place)
    return run.folder / "theirs", run.folder / "ours"


def parler_command(run: Run) -> list[str]:
    options = {
        "model_name_or_path": run.folder / "checkpoint",
        "train_dataset_name": run.files,
        # Its loader needs a data set of metadata, too, and keeps the columns that the first one lacks.
        "train_metadata_dataset_name": run.files,
        "eval_metadata_dataset_name": run.files,
        "id_column_name": "id",
        "train_dataset_config_name": "default",
        "train_split_name": "train",
        "eval_dataset_config_name": "default",
        "eval_split_name": "train",
        "max_eval_samples": 4,
        "target_audio_column_name": "audio",
        "prompt_column_name": "text",
        "description_column_name": "text_description",
        "save_to_disk": run.out / "saved",
        "temporary_save_to_disk": run.out / "codes",
        "output_dir": run.out / "model",
        "cache_dir": run.out / "cache",
        "report_to": "tensorboard",
        "max_steps": run.steps,
        "logging_steps": 1,
        "save_steps": run.steps,
        "eval_steps": 10 * run.steps,
        "per_device_train_batch_size": BATCH,
        "audio_encoder_per_device_batch_size": 2,
        "dataloader_num_workers": run.workers,
        "preprocessing_num_workers": 1,
        "max_duration_in_seconds": 30,
        "min_duration_in_seconds": 0.5,
        "attn_implementation": "eager",
        "dtype": "float32",
        "learning_rate": 1e-3,
        "use_fast_tokenizer": "true",
        "freeze_text_encoder": "true",
        "overwrite_output_dir": "true",
        "do_train": "true",
        "do_eval": "true",
    }
    return ["training/run_parler_tts_training.py", *(f"--{name}={value}" for name, value in options.items())]


def xtts_files(run: Run) -> tuple[Path, Path]:
    import string

    import torch
    from codec_language_models import RATE
    from token_layouts import make_store
    from tokenizers import AddedToken, Tokenizer, models

    from tts_prep.export import export
    from tts_prep.preprocess import read_corpus

    sys.path.insert(0, str(run.checkout))
    make_store(run.corpus, run.folder / "store", frontend="none", rate=RATE)
    export(run.folder / "store", "coqui", run.folder / "ours")
    # As the demo for fine-tuning writes its list.
    theirs = run.folder / "theirs"
    shutil.copytree(run.corpus / "wavs", theirs / "wavs")
    lines = [f"wavs/{row.id}.wav|{row.text}|ljspeech\n" for row in read_corpus("ljspeech", run.corpus)[0]]
    (theirs / "metadata.csv").write_text("audio_file|text|speaker_name\n" + "".join(lines), encoding="utf-8")
    place = run.folder / "checkpoint"
    place.mkdir()
    special = ["[STOP]", "[UNK]", "[SPACE]", "[en]", "[START]"]
    letters = {letter: number for number, letter in enumerate(string.ascii_lowercase + string.punctuation, 5)}
    table = {token: number for number, token in enumerate(special)} | letters
    tokenizer = Tokenizer(models.BPE(table, [], unk_token="[UNK]"))
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer.save(str(place / "vocab.json"))
    dvae = importlib.import_module("TTS.tts.layers.xtts.dvae").DiscreteVAE(
        channels=80,
        normalization=None,
        positional_dims=1,
        num_tokens=1_024,
        codebook_dim=512,
        hidden_dim=512,
        num_resnet_blocks=3,
        kernel_size=3,
        num_layers=2,
        use_transposed_convs=False,
    )
    torch.save(dvae.state_dict(), place / "dvae.pth")
    torch.save(torch.ones(80), place / "mel_stats.pth")
    return theirs, run.folder / "ours"


def xtts_command(run: Run) -> list[str]:
    # The program has its settings as constants.
    settings = {"FILES": run.files, "OUT": run.out, "CHECKPOINT": run.folder / "checkpoint", "WORKERS": run.workers}
    os.environ.update({f"XTTS_{name}": str(value) for name, value in settings.items()})
    os.environ["XTTS_EPOCHS"] = str(-(-run.steps // 17))
    return [XTTS]


XTTS = "recipes/ljspeech/xtts_v2/train_gpt_xtts.py"


def f5_files(run: Run) -> tuple[Path, Path]:
    import datasets
    from token_layouts import f5_tts_files, make_store

    from tts_prep.export import export
    from tts_prep.loader import UtteranceDataset

    theirs, _ = f5_tts_files(run.checkout, run.corpus, run.folder)
    # Nine texts have other spaces and quotation marks after its preparation: those are given to ours, too, and the
    # vocabulary of the export to theirs, whose own would have other ids.
    ids = [one.id for one in UtteranceDataset(run.folder / "raw")]
    texts = ["".join(row) for row in datasets.Dataset.from_file(str(theirs / "raw.arrow"))["text"]]
    corpus, ours = run.folder / "converted", run.folder / "ours_char"
    shutil.copytree(run.corpus, corpus)
    lines = [f"{uid}|{text}|{text}\n" for uid, text in zip(ids, texts, strict=True)]
    (corpus / "metadata.csv").write_text("".join(lines), encoding="utf-8")
    make_store(corpus, run.folder / "again", frontend="characters", symbols="f5", normalize=False)
    export(run.folder / "again", "f5-tts", ours)
    assert texts == ["".join(row) for row in datasets.Dataset.from_file(str(ours / "raw.arrow"))["text"]]
    shutil.copy(ours / "vocab.txt", theirs / "vocab.txt")
    return theirs, ours


def f5_command(run: Run) -> list[str]:
    # The names of data and of results are relative to the checkout.
    data, out = (os.path.relpath(path, run.checkout / "src/../data") for path in (run.files, run.out))
    return [
        "src/f5_tts/train/train.py",
        "--config-name=F5TTS_Small.yaml",
        f"datasets.name={data.removesuffix('_char')}",
        "datasets.batch_size_per_gpu=1500",
        f"datasets.num_workers={run.workers}",
        f"optim.epochs={-(-run.steps * run.ranks // 10)}",
        "optim.num_warmup_updates=2",
        "optim.learning_rate=1e-3",
        "model.tokenizer=char",
        "model.arch.dim=64",
        "model.arch.depth=2",
        "model.arch.heads=2",
        "+model.arch.dim_head=32",
        "model.arch.text_dim=32",
        "model.arch.conv_layers=1",
        "ckpts.logger=tensorboard",
        f"ckpts.wandb_run_name={os.path.relpath(run.out, run.checkout / 'runs')}",
        "ckpts.log_samples=False",
        f"ckpts.save_dir={out.removeprefix('../')}",
        f"hydra.run.dir={run.out}",
    ]


def at_22_khz(run: Run) -> Path:
    """Return a copy of the corpus at 22,050 Hz, in 16 bits."""
    import soundfile
    import soxr

    corpus = run.folder / "corpus"
    shutil.copytree(run.corpus, corpus)
    for path in (corpus / "wavs").iterdir():
        samples, rate = soundfile.read(path)
        soundfile.write(path, soxr.resample(samples, rate, 22_050), 22_050, subtype="PCM_16")
    return corpus


def matcha_files(run: Run) -> tuple[Path, Path]:
    from tts_prep.loader import UtteranceDataset
    from tts_prep.preprocess import configure, prepare, read_corpus

    # Its loader refuses other rates than its own.
    corpus, store = at_22_khz(run), run.folder / "store"
    rows, root = read_corpus("ljspeech", corpus)
    prepare(rows, root, store, configure("ljspeech", preset="matcha", settings={"text": {"symbols": "vits"}}))
    lists = []
    # Phonemes of the store in both lists, without cleaners; paths of recordings, and STORE/ID as the recipe takes them.
    for side, place, end in (("theirs", corpus / "wavs", ".wav"), ("ours", store, "")):
        path = run.folder / f"{side}.txt"
        lines = [f"{place / one.id}{end}|{one.phoneme_text}\n" for one in UtteranceDataset(store)]
        path.write_text("".join(lines), encoding="utf-8")
        lists.append(path)
    command = [sys.executable, "-m", "Cython.Build.Cythonize", "--inplace", "core.pyx"]
    environment = {**os.environ, "CFLAGS": f"-I{np.get_include()}"}
    subprocess.run(command, cwd=run.checkout / "matcha/utils/monotonic_align", check=True, env=environment)
    return lists[0], lists[1]


def matcha_command(run: Run) -> list[str]:
    encoder, decoder = "model.encoder.encoder_params", "model.decoder"
    return [
        "matcha/train.py",
        "run_name=demo",
        f"data.train_filelist_path={run.files}",
        f"data.valid_filelist_path={run.files}",
        f"data.batch_size={BATCH}",
        f"data.num_workers={run.workers}",
        "data.cleaners=[]",
        f"hydra.run.dir={run.out}",
        "trainer.accelerator=cpu",
        f"trainer.devices={run.ranks}",
        *(["+trainer.strategy=ddp_find_unused_parameters_true"] if run.ranks > 1 else []),
        "trainer.precision=32",
        f"+trainer.max_steps={run.steps}",
        "+trainer.log_every_n_steps=1",
        "+trainer.limit_val_batches=0",
        "callbacks=none",
        "test=False",
        f"{encoder}.n_channels=32",
        f"{encoder}.filter_channels=64",
        f"{encoder}.filter_channels_dp=32",
        f"{encoder}.n_layers=1",
        f"{decoder}.channels=[32,32]",
        f"{decoder}.attention_head_dim=16",
        f"{decoder}.num_mid_blocks=1",
    ]


def moss_files(run: Run) -> tuple[Path, Path]:
    import torch
    from codec_language_models import lists_of, moss_tts, of_characters

    given, ours = lists_of(run.corpus, run.folder)
    theirs, place, kept = run.folder / "theirs.jsonl", run.folder / "checkpoint", sys.argv[:]
    moss_tts(run.checkout, given, theirs)
    sys.argv[:] = kept
    configuration = importlib.import_module("moss_tts_delay.configuration_moss_tts")
    modeling = importlib.import_module("moss_tts_delay.modeling_moss_tts")
    small = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    small |= {"num_key_value_heads": 2, "head_dim": 16, "vocab_size": 155_648}
    config = configuration.MossTTSDelayConfig(language_config=small, n_vq=16)
    config.auto_map = {"AutoConfig": "configuration_moss_tts.MossTTSDelayConfig"}
    torch.manual_seed(0)
    modeling.MossTTSDelayModel(config).save_pretrained(place)
    shutil.copy(run.checkout / "moss_tts_delay/configuration_moss_tts.py", place)
    of_characters().save_pretrained(place)
    return theirs, ours


def moss_command(run: Run) -> list[str]:
    options = {
        "model-path": run.folder / "checkpoint",
        "codec-path": run.folder / "checkpoint",
        "train-jsonl": run.files,
        "output-dir": run.out / "model",
        "per-device-batch-size": BATCH,
        "num-epochs": 10,
        "max-train-steps": run.steps,
        "num-workers": run.workers,
        "mixed-precision": "no",
        "learning-rate": 1e-3,
    }
    return ["moss_tts_delay/finetuning/sft.py", *(f"--{name}={value}" for name, value in options.items())]


def fastspeech2_files(run: Run) -> tuple[Path, Path]:
    import librosa
    import torch
    import yaml
    from fastspeech2 import COMMAND, with_random_boundaries
    from token_layouts import make_store

    from tts_prep.export import export
    from tts_prep.loader import UtteranceDataset

    sys.path.insert(0, str(run.checkout))
    from recipes import by_name
    from textgrids import long_form

    names = ("preprocess", "model", "train")
    config, sizes, train = (
        yaml.safe_load((run.checkout / f"config/LJSpeech/{name}.yaml").read_text(encoding="utf-8")) for name in names
    )
    raw, theirs, ours, store = (run.folder / name for name in ("raw", "theirs", "ours", "store"))
    config["path"] = {"corpus_path": str(run.corpus), "raw_path": str(raw), "preprocessed_path": str(theirs)}
    config["preprocessing"]["val_size"] = 0
    # What they call has other arguments now.
    module, stft = (importlib.import_module(name) for name in ("preprocessor.ljspeech", "audio.stft"))
    module.librosa = SimpleNamespace(load=lambda path, rate: librosa.load(path, sr=rate))
    stft.librosa_mel_fn = by_name(stft.librosa_mel_fn)
    stft.pad_center = lambda window, size: librosa.util.pad_center(window, size=size)
    module.prepare_align(config)
    # Phones of the store's texts, at random boundaries.
    make_store(run.corpus, run.folder / "texts", frontend="arpabet", symbols="fastspeech2", unknown="drop")
    (theirs / "TextGrid/LJSpeech").mkdir(parents=True)
    listed = []
    for one in UtteranceDataset(run.folder / "texts"):
        phones = re.findall(r"[A-Z]+[012]?", one.phoneme_text)
        intervals = with_random_boundaries(raw / f"LJSpeech/{one.id}.wav", phones, len(one.text))
        grid = long_form({"words": intervals, "phones": intervals}, intervals[-1][1])
        (theirs / f"TextGrid/LJSpeech/{one.id}.TextGrid").write_text(grid, encoding="utf-8")
        listed.append(f"{run.corpus / 'wavs' / one.id}.wav|{one.text}|LJSpeech|{one.id}\n")
    importlib.import_module("preprocessor.preprocessor").Preprocessor(config).build_from_path()
    (run.folder / "list.txt").write_text("".join(listed), encoding="utf-8")
    command = [sys.executable, "-m", "tts_prep", "filelist", run.folder / "list.txt", store, *COMMAND]
    command += ["--preset", "fastspeech2", "--feature", "pitch:unvoiced=interpolated"]
    subprocess.run([*map(str, command), "--alignments", str(theirs / "TextGrid/LJSpeech")], check=True)
    export(store, "fastspeech2", ours)
    # In the order of ours, because theirs is shuffled.
    lines = {line.split("|")[0]: line for line in (theirs / "train.txt").read_text(encoding="utf-8").splitlines(True)}
    for name in ("train.txt", "val.txt"):
        ids = [line.split("|")[0] for line in (ours / name).read_text(encoding="utf-8").splitlines()]
        (theirs / name).write_text("".join(lines[uid] for uid in ids), encoding="utf-8")
    sizes["transformer"] |= {"encoder_layer": 1, "encoder_hidden": 32, "decoder_layer": 1, "decoder_hidden": 32}
    sizes["transformer"]["conv_filter_size"] = 64
    sizes["variance_predictor"]["filter_size"] = 32
    train["optimizer"]["batch_size"] = BATCH
    train["step"]["log_step"] = 1
    for name, values in zip(names, (config, sizes, train), strict=True):
        (run.folder / f"{name}.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    hifigan = importlib.import_module("hifigan")
    settings = json.loads((run.checkout / "hifigan/config.json").read_text(encoding="utf-8"))
    vocoder = hifigan.Generator(hifigan.AttrDict(settings))
    torch.save({"generator": vocoder.state_dict()}, run.checkout / "hifigan/generator_LJSpeech.pth.tar")
    return theirs, ours


def fastspeech2_command(run: Run) -> list[str]:
    import yaml

    names = ("preprocess", "model", "train")
    config, sizes, train = (yaml.safe_load((run.folder / f"{name}.yaml").read_text(encoding="utf-8")) for name in names)
    config["path"]["preprocessed_path"] = str(run.files)
    train["path"] = {f"{name}_path": str(run.out / name) for name in ("ckpt", "log", "result")}
    train["step"] |= {"total_step": run.steps, "save_step": run.steps}
    for name, values in zip(names, (config, sizes, train), strict=True):
        (run.out / f"{name}.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    return ["train.py", *(word for name in names for word in (f"-{name[0]}", str(run.out / f"{name}.yaml")))]


MEASURE = """
import torch

class Loudness(torch.nn.Linear):
    def forward(self, wave, sample_rate):
        return wave.abs().mean()

def utmos22_strong(**_):
    return Loudness(1, 1)
"""


def piper_files(run: Run) -> tuple[Path, Path]:
    from tts_prep.export import export
    from tts_prep.preprocess import configure, prepare, read_corpus

    store, theirs, ours = (run.folder / name for name in ("store", "theirs", "ours"))
    corpus = at_22_khz(run)
    rows, root = read_corpus("ljspeech", corpus)
    text = {"symbols": "piper", "blanks": "between", "unknown": "drop"}
    settings = {"text": text, "store": {"waveform_dtype": "int16"}}
    prepare(rows, root, store, configure("ljspeech", preset="piper", settings=settings))
    export(store, "piper", ours)
    # Ids of the store in both lists.
    theirs.mkdir()
    shutil.copy(ours / "metadata.csv", theirs)
    (theirs / "wavs").symlink_to(corpus / "wavs")
    package = run.checkout / "src/piper"
    # Compiled as in its setup.py, and by whoever made its package.
    command = [sys.executable, "-m", "Cython.Build.Cythonize", "--inplace", "core.pyx"]
    environment = {**os.environ, "CFLAGS": f"-I{np.get_include()}"}
    aligning = package / "train/vits/monotonic_align"
    subprocess.run(command, cwd=aligning, check=True, env=environment)
    (aligning / "monotonic_align").mkdir()
    for made in aligning.glob("core.*.so"):
        made.rename(aligning / "monotonic_align" / made.name)
    # The network of its measure of quality, which torch keeps in this folder.
    measure = run.folder / "torch/hub/tarepan_SpeechMOS_v1.2.0"
    measure.mkdir(parents=True)
    (measure / "hubconf.py").write_text(MEASURE, encoding="utf-8")
    installed = Path(importlib.util.find_spec("piper").submodule_search_locations[0])
    shutil.copy(installed / "espeakbridge.so", package)
    return theirs, ours


def piper_command(run: Run) -> list[str]:
    os.environ["TORCH_HOME"] = str(run.folder / "torch")
    options = {
        "seed_everything": 1,
        "data.voice_name": "demo",
        "data.csv_path": run.files / "metadata.csv",
        "data.audio_dir": run.files / "wavs",
        "data.dataset_type": "phoneme_ids",
        "data.espeak_voice": "en-us",
        "data.cache_dir": run.out / "cache",
        "data.config_path": run.out / "voice.json",
        "data.trim_silence": "false",
        "data.batch_size": BATCH,
        "data.num_workers": run.workers,
        "data.num_test_examples": 1,
        "model.hidden_channels": 32,
        "model.inter_channels": 32,
        "model.filter_channels": 64,
        "model.n_layers": 1,
        "model.upsample_initial_channel": 64,
        "trainer.accelerator": "cpu",
        "trainer.devices": run.ranks,
        # One of each of its two optimizers.
        "trainer.max_steps": 2 * run.steps,
        "trainer.log_every_n_steps": 1,
        "trainer.default_root_dir": run.out,
    }
    return ["-m", "piper.train", "fit", *(f"--{name}={value}" for name, value in options.items())]


def zipvoice_files(run: Run) -> tuple[Path, Path]:
    from token_layouts import make_store

    from tts_prep.export import export
    from tts_prep.loader import UtteranceDataset

    make_store(run.corpus, run.folder / "texts", frontend="none")
    lines = [
        f"{one.id}\t{one.text}\t{run.corpus / 'wavs' / one.id}.wav\n" for one in UtteranceDataset(run.folder / "texts")
    ]
    listed, theirs, tokens = (
        run.folder / "list.tsv",
        run.folder / "custom_cuts_train.jsonl.gz",
        run.folder / "tokens.txt",
    )
    listed.write_text("".join(lines), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{run.checkout}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    for program in (
        ("-m", "zipvoice.bin.prepare_dataset", "--tsv-path", listed, "--output-dir", run.folder, "--num-jobs", 1),
        (run.checkout / "egs/zipvoice/local/prepare_token_file_char.py", "--manifest", theirs, "--tokens", tokens),
    ):
        subprocess.run([sys.executable, *map(str, program)], check=True, env=environment)
    text = {"frontend": "characters", "symbols": str(tokens), "normalize": False}
    make_store(run.corpus, run.folder / "store", preset="zipvoice", mel=None, **text)
    export(run.folder / "store", "zipvoice", run.folder / "ours")
    model = {
        "fm_decoder_downsampling_factor": [1, 2, 1],
        "fm_decoder_num_layers": [1, 1, 1],
        "fm_decoder_cnn_module_kernel": [7, 7, 7],
        "fm_decoder_feedforward_dim": 96,
        "fm_decoder_num_heads": 2,
        "fm_decoder_dim": 64,
        "text_encoder_num_layers": 1,
        "text_encoder_feedforward_dim": 48,
        "text_encoder_num_heads": 2,
        "text_encoder_dim": 32,
        "text_embed_dim": 32,
    }
    path = run.checkout / "egs/zipvoice/conf/zipvoice_base.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    (run.folder / "model.json").write_text(json.dumps({**config, "model": config["model"] | model}), encoding="utf-8")
    return theirs, run.folder / "ours/cuts.jsonl.gz"


def zipvoice_command(run: Run) -> list[str]:
    options = {
        # Its compute_fbank.py loses digits. The other choice of its own is to compute mels in training.
        "on-the-fly-feats": run.files.name.startswith("custom"),
        "dataset": "custom",
        "train-manifest": run.files,
        "dev-manifest": run.files,
        "tokenizer": "simple",
        "token-file": run.folder / "tokens.txt",
        "model-config": run.folder / "model.json",
        "exp-dir": run.out,
        "num-workers": run.workers,
        "max-duration": 20,
        "num-buckets": 2,
        "use-fp16": False,
        "num-epochs": 100,
        "num-iters": run.steps,
        # It logs losses of steps rarely, and losses of validation as often.
        "save-every-n": 5,
    }
    return [
        "-m",
        "zipvoice.bin.train_zipvoice",
        *(word for name, value in options.items() for word in (f"--{name}", str(value))),
    ]


def neutts_files(run: Run) -> tuple[Path, Path]:
    import datasets
    import torch
    from codec_language_models import ENTRIES, codes_of, read
    from token_layouts import OneBook, make_store
    from transformers import LlamaConfig, LlamaForCausalLM

    from tts_prep.export import export
    from tts_prep.loader import UtteranceDataset
    from tts_prep.preprocess import add_array

    store, theirs, ours, place = (run.folder / name for name in ("store", "theirs", "ours", "checkpoint"))
    make_store(run.corpus, store, frontend="none")
    add_array(store, "codes", OneBook)
    export(store, "neutts", ours)
    # As the data set that its guide names.
    rows = [
        {
            "__key__": one.id,
            "text": one.text,
            "codes": codes_of(read(run.corpus / "wavs" / f"{one.id}.wav"))[:, 0].tolist(),
        }
        for one in UtteranceDataset(store)
    ]
    (theirs / "data").mkdir(parents=True)
    datasets.Dataset.from_list(rows).to_parquet(theirs / "data" / "train-00000-of-00001.parquet")
    parts = ("TEXT_PROMPT_START", "TEXT_PROMPT_END", "SPEECH_GENERATION_START", "SPEECH_GENERATION_END")
    special = [f"<|{name}|>" for name in (*parts, *(f"speech_{number}" for number in range(ENTRIES)))]
    size = characters(place, [*special, "<|pad|>"], size=0x300, pad_token="<|pad|>")
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(vocab_size=size, max_position_embeddings=512, **small)).save_pretrained(place)
    return theirs, ours


def neutts_command(run: Run) -> list[str]:
    # A data set is a folder where there is one with its name.
    named = run.checkout / "neuphonic/emilia-yodas-english-neucodec"
    named.parent.mkdir(exist_ok=True)
    named.unlink(missing_ok=True)
    named.symlink_to(run.files)
    os.environ |= {"HF_DATASETS_CACHE": str(run.out / "cache"), "NEUTTS_WORKERS": str(run.workers)}
    options = {
        "restore_from": run.folder / "checkpoint",
        "save_root": run.out,
        "run_name": "demo",
        "max_seq_len": 512,
        "lr": 1e-3,
        "warmup_ratio": 0.0,
        "per_device_train_batch_size": BATCH,
        "max_steps": run.steps,
        "logging_steps": 1,
        "save_steps": run.steps,
    }
    path = run.out / "config.yaml"
    path.write_text(json.dumps(options, default=str), encoding="utf-8")
    return ["examples/finetune.py", str(path)]


def neutts_losses(run: Run) -> dict[tuple[str, int], float]:
    """Return losses, which it rounds to four digits, and norms of gradients."""
    state = (run.out / f"demo/checkpoint-{run.steps}/trainer_state.json").read_text(encoding="utf-8")
    steps = [step for step in json.loads(state)["log_history"] if "loss" in step]
    return {(name, step["step"]): step[name] for name in ("loss", "grad_norm") for step in steps}


def printed(run: Run) -> dict[tuple[str, int], float]:
    """Return the losses that a program prints."""
    found = re.findall(r"step=(\d+)/\d+ loss=(\S+)", (run.out / "log.txt").read_text(encoding="utf-8"))
    return {("loss", int(step)): float(loss) for step, loss in found}


PROGRAMS = {
    "fastspeech2": Program(
        fastspeech2_files,
        fastspeech2_command,
        # Of its preparation.
        lines=(
            ("audio/stft.py", ".cuda()", ""),
            ("preprocessor/preprocessor.py", "(np.load(filename) - mean) / std", STANDARDIZED),
        ),
        # It asks for none, and knows no ranks.
        workers=(0,),
        ranks=(1,),
    ),
    "moss-tts": Program(moss_files, moss_command, losses=printed),
    "f5-tts": Program(f5_files, f5_command, workers=(1, 4)),
    "matcha": Program(
        matcha_files,
        matcha_command,
        recipe=(
            "matcha/data/text_mel_datamodule.py",
            "from tts_prep.recipes import TextMelBatchCollate, TextMelDataset",
        ),
    ),
    "neutts": Program(
        neutts_files,
        neutts_command,
        lines=(
            ("examples/finetune.py", "bf16=True", "bf16=True, use_cpu=True"),
            ("examples/finetune.py", "num_workers=64", 'num_workers=int(os.environ["NEUTTS_WORKERS"])'),
        ),
        losses=neutts_losses,
    ),
    # Its data module has no phonemes on other ranks than the first.
    "piper": Program(piper_files, piper_command, ranks=(1,)),
    # Several ranks need NCCL.
    "zipvoice": Program(zipvoice_files, zipvoice_command, ranks=(1,)),
    # Its loader asks for persistent workers, which torch refuses without workers.
    "fish-speech": Program(fish_files, fish_command, workers=(1, 4)),
    # Without a GPU it asks for one device.
    "gpt-sovits": Program(sovits_files, sovits_command, workers=(1, 4), ranks=(1,)),
    "voxcpm": Program(voxcpm_files, voxcpm_command, ranks=(1,)),
    "parler": Program(
        parler_files,
        parler_command,
        # A small codec.
        lines=(("parler_tts/dac_wrapper/modeling_dac.py", "DAC(\n", "DAC(encoder_dim=8, decoder_dim=64,\n"),),
    ),
    # Several ranks are for several GPUs.
    "xtts": Program(
        xtts_files,
        xtts_command,
        lines=(
            (XTTS, 'formatter="ljspeech"', 'formatter="coqui"'),
            (XTTS, '"/raid/datasets/LJSpeech-1.1_24khz/metadata.csv"', '"metadata.csv"'),
            (XTTS, '"/raid/datasets/LJSpeech-1.1_24khz/"', 'os.environ["XTTS_FILES"]'),
            (
                XTTS,
                "OUT_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), ",
                'OUT_PATH = os.path.join(os.environ["XTTS_OUT"], ',
            ),
            (XTTS, 'os.path.join(OUT_PATH, "XTTS_v2.0_original_model_files/")', 'os.environ["XTTS_CHECKPOINT"]'),
            # No weights of the original, and a small model.
            (XTTS, "if not os.path.isfile(TOKENIZER_FILE) or not os.path.isfile(XTTS_CHECKPOINT):", "if False:"),
            (
                XTTS,
                "xtts_checkpoint=XTTS_CHECKPOINT,",
                'xtts_checkpoint="", gpt_layers=1, gpt_n_model_channels=64, gpt_n_heads=2,',
            ),
            (XTTS, "BATCH_SIZE = 3", f"BATCH_SIZE = {BATCH}"),
            (XTTS, "GRAD_ACUMM_STEPS = 84", "GRAD_ACUMM_STEPS = 1"),
            (XTTS, "START_WITH_EVAL = True", "START_WITH_EVAL = False"),
            (XTTS, "num_loader_workers=8", 'num_loader_workers=int(os.environ["XTTS_WORKERS"])'),
            (XTTS, "eval_split_size=config.eval_split_size", "eval_split_size=0.1"),
            (
                XTTS,
                "plot_step=100",
                'plot_step=1, epochs=int(os.environ["XTTS_EPOCHS"]), run_eval=False, test_delay_epochs=10**6',
            ),
        ),
        ranks=(1,),
    ),
}


def seeded() -> None:
    """Run a program, with seeds and what torchaudio did before it needed torchcodec: a path, or a module after -m."""
    import soundfile
    import torch

    def load(path, *_, **__):
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        return torch.from_numpy(samples.T.copy()), rate

    try:
        import torchaudio

        torchaudio.load = load
    except ImportError:
        pass
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    sys.argv = sys.argv[2:]
    sys.path[0] = str(Path.cwd())
    if sys.argv[0] == "-m":
        sys.argv = sys.argv[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(sys.argv[0]).parent.resolve()))
        runpy.run_path(sys.argv[0], run_name="__main__")


@contextlib.contextmanager
def added(run: Run, recipe: tuple[str, ...]) -> Iterator[None]:
    """Add an import at the end of a file of the copy, for a while."""
    if not recipe:
        yield
        return
    path, line = run.checkout / recipe[0], recipe[1]
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\n{line}\n", encoding="utf-8")
    yield
    path.write_text(text, encoding="utf-8")


def losses_of(program: Program, run: Run) -> dict[tuple[str, int], float]:
    """Return what a run of the program logs."""
    run.out.mkdir(parents=True)
    parallel = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={run.ranks}"] if run.ranks > 1 else []
    command = [sys.executable, *parallel, str(Path(__file__).resolve()), "--program", *program.command(run)]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": f"{run.checkout}{os.pathsep}{run.checkout / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        "ACCELERATE_USE_CPU": "true",
    }
    if importlib.util.find_spec("espeakng_loader"):
        espeak = importlib.import_module("espeakng_loader")
        environment |= {"PHONEMIZER_ESPEAK_LIBRARY": espeak.get_library_path()}
        environment |= {"ESPEAK_DATA_PATH": espeak.get_data_path()}
    environment |= {"HF_HOME": str(run.folder / "hub"), "HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled"}
    done = subprocess.run(command, cwd=run.checkout, env=environment, capture_output=True, text=True)
    (run.out / "log.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{(done.stdout + done.stderr)[-4_000:]}")
    return program.losses(run)


def rows(name: str, options: argparse.Namespace, place: Path) -> Iterator[str]:
    """Yield a row of the table for each number of workers and ranks."""
    from codec_language_models import at_24_khz

    program, corpus = PROGRAMS[name], place / "corpus"
    at_24_khz(corpus)
    copy = place / options.checkout.name
    shutil.copytree(options.checkout, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    for file, old, new in program.lines:
        text = (copy / file).read_text(encoding="utf-8")
        assert old in text, (file, old)
        (copy / file).write_text(text.replace(old, new), encoding="utf-8")
    run = Run(copy, corpus, place / "work", options.steps)
    run.folder.mkdir()
    sides = program.prepare(run)
    for workers in options.workers or program.workers:
        for ranks in options.ranks or program.ranks:
            run.workers, run.ranks, found = workers, ranks, []
            for side, files in zip(("theirs", "ours"), sides, strict=True):
                run.files, run.out = files, place / f"{side}-{workers}-{ranks}"
                with added(run, program.recipe if side == "ours" else ()):
                    found.append(losses_of(program, run))
            theirs, ours = found
            assert theirs.keys() == ours.keys(), theirs.keys() ^ ours.keys()
            steps = len({step for _, step in theirs})
            assert steps > 1, theirs
            assert len({*theirs.values()}) > 1, theirs
            largest = max(abs(ours[key] - theirs[key]) for key in theirs)
            values = [value for _, value in sorted((step, value) for (_, step), value in theirs.items())]
            yield f"| {name} | {workers} | {ranks} | {steps} | {values[0]:.3f} to {values[-1]:.3f} | {largest:.1e} |"


def main() -> None:
    if sys.argv[1] == "--program":
        seeded()
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=PROGRAMS)
    parser.add_argument("checkout", type=lambda path: Path(path).absolute())
    parser.add_argument("--steps", type=int, default=50)
    for name in ("--workers", "--ranks"):
        parser.add_argument(name, type=lambda text: [int(number) for number in text.split(",")])
    parser.add_argument("--keep", type=Path, help="an empty folder, whose files stay")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(options.name, options, Path(options.keep or folder).resolve()):
            print(row, flush=True)


if __name__ == "__main__":
    main()
