"""Open the exports `cosyvoice` and `cosyvoice3` with CosyVoice's code: ``python conformance/cosyvoice.py CHECKOUT``.

CHECKOUT is a copy of FunAudioLLM/CosyVoice. Needs what its ``cosyvoice/dataset/processor.py`` and ``llm/llm.py``
import: torch, torchaudio, transformers, openai-whisper, onnxruntime, pyworld and pandas. The demo corpus with random
tokens and vectors is prepared twice: as files of Kaldi and of its extraction scripts, packed by its
``make_parquet_list.py``, and as a store that is exported. Both are read by ``parquet_opener``, ``tokenize``,
``filter``, ``resample``, ``compute_fbank``, ``parse_embedding``, ``sort``, ``batch`` and ``padding``, and three steps
of its language models, small and with random weights, are made. Characters take the place of tokens.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import soundfile
from token_steps import of_steps

from tts_prep.demo.corpus import make_demo_corpus
from tts_prep.export import export
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import ArraySpec, add_array, configure, prepare, read_corpus

RATE = 25


class Random:
    """Random tokens and vectors, which depend on the id of an utterance alone."""

    arrays = (
        ArraySpec("speech_tokens", "int16", (), "own", rate=float(RATE)),
        ArraySpec("speaker_vector", "float32", (192,), "utterance"),
    )

    def __call__(self, ids, seconds):
        found = [np.random.default_rng(list(uid.encode())) for uid in ids]
        lengths = [int(RATE * duration) for duration in seconds]
        return {
            "speech_tokens": [rng.integers(0, 6561, n).astype(np.int16) for rng, n in zip(found, lengths, strict=True)],
            "speaker_vector": [rng.normal(size=192).astype(np.float32) for rng in found],
        }


class Characters:
    """A tokenizer: CosyVoice's own need files of their models."""

    def encode(self, text, allowed_special):
        return [ord(character) % 1_000 for character in text]


def pipeline(processor, files):
    """Yield the batches of CosyVoice's data pipeline."""
    import torch

    data = processor.parquet_opener({"src": file} for file in files)
    data = processor.tokenize(data, Characters, "all")
    data = processor.filter(data, token_max_length=1000)
    data = processor.resample(data, resample_rate=24_000)
    data = processor.compute_fbank(data, lambda speech: torch.zeros(1, 80, speech.shape[1] // 480))
    data = processor.parse_embedding(data, normalize=True)
    data = processor.sort(data)
    data = processor.batch(data, batch_type="dynamic", max_frames_in_batch=1500)
    return processor.padding(data, use_spk_embedding=True)


def prepared(checkout, folder, values, *, has_instruct):
    """Return the list of files that ``make_parquet_list.py`` makes of what the steps of ``run.sh`` before it write."""
    import torch

    source, target = folder / "source", folder / "packed"
    source.mkdir(parents=True)
    target.mkdir()
    tables = {
        "wav.scp": {uid: wav for uid, (wav, *_) in values.items()},
        "text": {uid: text for uid, (_, text, *_) in values.items()},
        "utt2spk": dict.fromkeys(values, "ljspeech"),
        "spk2utt": {"ljspeech": " ".join(values)},
    }
    if has_instruct:
        tables["instruct"] = dict.fromkeys(values, "You are a helpful assistant.<|endofprompt|>")
    for name, table in tables.items():
        lines = "".join(f"{key} {value}\n" for key, value in table.items())
        (source / name).write_text(lines, encoding="utf-8")
    vectors = {uid: vector.tolist() for uid, (_, _, _, vector) in values.items()}
    torch.save({uid: tokens.tolist() for uid, (_, _, tokens, _) in values.items()}, source / "utt2speech_token.pt")
    torch.save(vectors, source / "utt2embedding.pt")
    torch.save({"ljspeech": torch.tensor([*vectors.values()]).mean(dim=0).tolist()}, source / "spk2embedding.pt")
    command = [sys.executable, checkout / "tools/make_parquet_list.py", "--src_dir", source, "--des_dir", target]
    subprocess.run(command, check=True, capture_output=True)
    return target / "data.list"


def small(kind, folder):
    """Return a language model of CosyVoice over a small Qwen2; its code for rows without instruction asks for 896."""
    from cosyvoice.llm import llm
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=1_024,
        hidden_size=896,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=14,
        num_key_value_heads=2,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    return getattr(llm, kind)(896, 896, 6_561, llm.Qwen2Encoder(str(folder)), None)


def step(model, batch):
    """Return the loss of a batch; rows are interleaved by chance."""
    import torch

    random.seed(len(batch["utts"]))
    return model(batch, torch.device("cpu"))["loss"]


def main() -> None:
    checkout = Path(sys.argv[1]).absolute()
    sys.path[:0] = [str(checkout), str(checkout / "third_party/Matcha-TTS")]
    import torch
    import torchaudio
    from cosyvoice.dataset import processor

    def load(file, **_):
        samples, rate = soundfile.read(file, dtype="float32", always_2d=True)
        return torch.from_numpy(samples.T.copy()), rate

    # What it did before it needed torchcodec.
    torchaudio.load = load
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        corpus, store = folder / "corpus", folder / "store"
        make_demo_corpus(corpus)
        rows, root = read_corpus("ljspeech", corpus)
        audio = {"n_mels": "none", "sample_rate": 22_050, "peak": "none"}
        settings = {"audio": audio, "text": {"frontend": "none"}, "store": {"waveform_dtype": "int16"}}
        prepare(rows, root, store, configure("ljspeech", settings=settings))
        add_array(store, "random", Random)
        dataset = UtteranceDataset(store)
        made = Random()(list(dataset.id), list(dataset.seconds))
        values = {
            one.id: (corpus / "wavs" / f"{one.id}.wav", one.text, tokens, vector)
            for one, tokens, vector in zip(dataset, made["speech_tokens"], made["speaker_vector"], strict=True)
        }
        for layout, kind in (("cosyvoice", "Qwen2LM"), ("cosyvoice3", "CosyVoice3LM")):
            export(store, layout, folder / layout)
            theirs = prepared(checkout, folder / kind, values, has_instruct=kind == "CosyVoice3LM")
            lists = [path.read_text(encoding="utf-8") for path in (theirs, folder / layout / "data.list")]
            pairs = [list(pipeline(processor, files.splitlines())) for files in lists]
            n_values, n_rows, largest = 0, 0, 0.0
            for one, other in zip(*pairs, strict=True):
                assert one.keys() == other.keys()
                n_rows += len(one["utts"])
                for key, expected in one.items():
                    if not isinstance(expected, torch.Tensor):
                        assert other[key] == expected, key
                        continue
                    assert other[key].dtype == expected.dtype
                    n_values += expected.numel()
                    largest = max(largest, float((other[key].double() - expected.double()).abs().max()))
            steps = of_steps(lambda kind=kind: small(kind, folder / "qwen2"), pairs, step=step)
            print(f"{layout}: {n_rows} rows, {n_values:,} values differ by at most {largest:.1e}; {steps}", flush=True)


if __name__ == "__main__":
    main()
