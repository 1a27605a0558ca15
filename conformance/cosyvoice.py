"""Open the export `cosyvoice` with CosyVoice's own data pipeline: ``python conformance/cosyvoice.py CHECKOUT``.

CHECKOUT is a copy of FunAudioLLM/CosyVoice. Needs what its ``cosyvoice/dataset/processor.py`` imports: torch,
torchaudio (from 2.9 on with torchcodec), openai-whisper, onnxruntime, pyworld and pandas. A store with random tokens
and vectors is made of the demo corpus, exported, and read by ``parquet_opener``, ``tokenize``, ``filter``,
``resample``, ``compute_fbank``, ``parse_embedding``, ``sort``, ``batch`` and ``padding``. The tokens and vectors of the
batches are compared with those of the store.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

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
        return [ord(character) for character in text]


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
    data = processor.batch(data, batch_type="dynamic", max_frames_in_batch=2000)
    return processor.padding(data, use_spk_embedding=True)


def main() -> None:
    sys.path.insert(0, sys.argv[1])
    import torch
    from cosyvoice.dataset import processor

    with tempfile.TemporaryDirectory() as folder:
        corpus, store, out = Path(folder, "corpus"), Path(folder, "store"), Path(folder, "out")
        make_demo_corpus(corpus)
        rows, root = read_corpus("ljspeech", corpus)
        prepare(rows, root, store, configure("ljspeech", settings={"store": {"waveform_dtype": "int16"}}))
        add_array(store, "random", Random)
        export(store, "cosyvoice", out)
        dataset = UtteranceDataset(store)
        by_id = {utterance.id: utterance for utterance in dataset}
        means = {
            speaker: np.mean(dataset.filter(lambda m, s=speaker: m.speaker == s).views("speaker_vector"), axis=0)
            for speaker in dataset.speakers
        }
        n_batches = n_rows = tokens_differ = 0
        vectors_differ = 0.0
        for batch in pipeline(processor, (out / "data.list").read_text().splitlines()):
            n_batches += 1
            for row, uid in enumerate(batch["utts"]):
                n_rows += 1
                utterance = by_id[uid]
                tokens = batch["speech_token"][row, : batch["speech_token_len"][row]].numpy()
                tokens_differ += not np.array_equal(tokens, utterance.arrays["speech_tokens"])
                for name, expected in (
                    ("utt_embedding", utterance.arrays["speaker_vector"]),
                    ("spk_embedding", means[utterance.speaker]),
                ):
                    unit = torch.nn.functional.normalize(torch.tensor(np.array(expected)), dim=0)
                    vectors_differ = max(vectors_differ, float((batch[name][row] - unit).abs().max()))
        print(f"{n_rows} of {len(dataset)} utterances in {n_batches} batches")
        print(f"utterances with other tokens: {tokens_differ}; largest difference of vectors: {vectors_differ:.1e}")


if __name__ == "__main__":
    main()
