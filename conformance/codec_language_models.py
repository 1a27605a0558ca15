"""Open the export `jsonl` with the datasets of Qwen3-TTS, MOSS-TTS and VoxCPM.

``python conformance/codec_language_models.py qwen3-tts CHECKOUT`` needs a copy of QwenLM/Qwen3-TTS, transformers
4.57.3, torchaudio, sox, einops and onnxruntime; ``moss-tts CHECKOUT`` one of OpenMOSS/MOSS-TTS, transformers 5 and
torchaudio; ``voxcpm CHECKOUT`` one of OpenBMB/VoxCPM and its requirements, with datasets 3.

The demo corpus at 24 kHz is prepared twice: by the system's ``prepare_data.py``, and as a store without mels with
codes, which is exported. Then the system's own dataset, ``collate_fn`` and torch's ``DataLoader`` make batches of both
lists, which are compared, value by value. Codecs and tokenizers are stand-ins with the shapes and the special ids of
the original ones: a code is a formula of 120 samples, 16 for each 1,920, and a text its characters. VoxCPM prepares
nothing: its batches are packed with the latents of a small ``AudioVAE`` of its own with random weights.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import soundfile
import soxr
import token_steps

from tts_prep.demo.corpus import make_demo_corpus
from tts_prep.export import export
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import ArraySpec, add_array, add_columns, configure, prepare, read_corpus

RATE, FRAME, BOOKS, ENTRIES = 24_000, 1_920, 16, 1_024


def codes_of(samples):
    """Return codes [n_frames, 16] of a recording, [n_samples] float32."""
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, BOOKS, FRAME // BOOKS)
    return np.abs(frames.astype(np.float64).sum(axis=2) * 9_973).astype(np.int64) % ENTRIES


class Codes:
    """The codec, as a model of a store."""

    arrays = (ArraySpec("audio_codes", "int16", (BOOKS,), "own", rate=RATE / FRAME),)
    sample_rate = RATE

    def __call__(self, waveforms):
        return {"audio_codes": [codes_of(waveform).astype(np.int16) for waveform in waveforms]}


class OfPaths:
    """The codec, as the systems call it: with paths."""

    @classmethod
    def from_pretrained(cls, *_, **__):
        return cls()

    audio_tokenizer = SimpleNamespace(to=lambda device: device)

    def encode(self, paths):
        return SimpleNamespace(audio_codes=self.encode_audios_from_path(paths))

    def encode_audios_from_path(self, paths, **_):
        import torch

        return [torch.from_numpy(codes_of(read(path))) for path in paths]


def read(path):
    samples, rate = soundfile.read(path, dtype="float32")
    assert rate == RATE
    return samples


def characters(text, **_):
    """Return the ids of a text, as the processor of Qwen3-TTS does."""
    import torch

    return {"input_ids": torch.tensor([[ord(character) for character in text]])}


def qwen3_tts(checkout, given, prepared):
    """Prepare rows as Qwen3-TTS does, and return the function from rows to a dataset."""
    sys.path[:0] = [str(checkout), str(checkout / "finetuning")]
    prepare_data, dataset = (importlib.import_module(name) for name in ("prepare_data", "dataset"))
    configuration = importlib.import_module("qwen_tts.core.models.configuration_qwen3_tts").Qwen3TTSConfig()
    prepare_data.Qwen3TTSTokenizer = OfPaths
    sys.argv[1:] = ["--input_jsonl", str(given), "--output_jsonl", str(prepared)]
    prepare_data.main()
    return lambda rows: dataset.TTSDataset(rows, characters, configuration)


def moss_tts(checkout, given, prepared):
    """Prepare rows as MOSS-TTS does, and return the function from rows to a dataset."""
    sys.path[:0] = [str(checkout)]
    names = ("finetuning.prepare_data", "finetuning.dataset", "processing_moss_tts", "configuration_moss_tts")
    found = [importlib.import_module(f"moss_tts_delay.{name}") for name in names]
    prepare_data, dataset, processing, configuration = found
    prepare_data.MossTTSDelayProcessor = OfPaths
    sys.argv[1:] = ["--device", "cpu", "--input-jsonl", str(given), "--output-jsonl", str(prepared)]
    prepare_data.main()
    config = configuration.MossTTSDelayConfig(n_vq=BOOKS)
    processor = processing.MossTTSDelayProcessor(of_characters(), model_config=config)
    return lambda rows: dataset.MossTTSSFTDataset(rows, processor, n_vq=BOOKS)


def voxcpm(checkout, given, prepared):
    """Return the function from rows to VoxCPM's dataset, whose batches are packed as in a training step."""
    import torch

    sys.path[:0] = [str(checkout / "src")]
    data = importlib.import_module("voxcpm.training.data")
    codec = importlib.import_module("voxcpm.modules.audiovae.audio_vae")
    torch.manual_seed(0)
    vae = codec.AudioVAE(codec.AudioVAEConfig(encoder_dim=8, decoder_dim=32)).eval()
    config = SimpleNamespace(max_length=4_096, patch_size=2, feat_dim=64)
    processor = data.BatchProcessor(config=config, audio_vae=vae, dataset_cnt=1, device=torch.device("cpu"))
    prepared.write_bytes(given.read_bytes())

    def make(rows):
        path = prepared.with_name(f"rows-{len(rows[0])}.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        found, _ = data.load_audio_text_datasets(str(path))
        found = found.map(
            lambda batch: {"text_ids": [[ord(one) for one in text] for text in batch["text"]]},
            batched=True,
            remove_columns=["text"],
        )
        dataset = data.HFVoxCPMDataset(found)

        def collate(batch):
            padded = data.HFVoxCPMDataset.collate_fn(batch)
            packed = {f"packed_{key}": value for key, value in processor(padded).items()}
            return {**padded, "is_prompts": torch.tensor(padded["is_prompts"]), **packed}

        dataset.collate_fn = collate
        return dataset

    return make


def of_characters():
    """Return a tokenizer of characters, with the special tokens of MOSS-TTS at their ids."""
    from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    first = 151_643
    tokenizer = Tokenizer(
        models.WordLevel({chr(number + 2_048 * (number >= 0xD800)): number for number in range(first)})
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("[\\s\\S]"), "isolated")
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|special {number}|>" for number in range(3, 30))]
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=template)


def at_24_khz(corpus):
    make_demo_corpus(corpus)
    for path in sorted((corpus / "wavs").glob("*.wav")):
        samples, rate = soundfile.read(path, dtype="float64")
        soundfile.write(path, soxr.resample(samples, rate, RATE), RATE, subtype="PCM_16")


def lists_of(corpus, folder):
    """Return a list of the recordings, as the systems' guides make it, and that of an export with codes."""
    given, store, out = folder / "given.jsonl", folder / "store", folder / "out"
    rows, root = read_corpus("ljspeech", corpus)
    settings = {
        "audio": {"n_mels": "none", "sample_rate": RATE, "peak": "none"},
        "text": {"frontend": "none"},
        "store": {"waveform_dtype": "int16"},
    }
    prepare(rows, root, store, configure("ljspeech", settings=settings))
    add_array(store, "codes", Codes)
    dataset = UtteranceDataset(store)
    # One reference for all, as Qwen3-TTS advises, because lengths of references must be equal.
    ids, reference = list(dataset.id), dataset[3].id
    values = [
        {
            "audio": str(corpus / "wavs" / f"{utterance.id}.wav"),
            "text": utterance.text,
            "ref_audio": str(corpus / "wavs" / f"{reference}.wav"),
        }
        for utterance in dataset
    ]
    add_columns(store, {"id": ids, "ref_audio": [reference] * len(ids)})
    export(store, "jsonl", out)
    given.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return given, out / "train.jsonl"


def main() -> None:
    import torch

    name, checkout = sys.argv[1], Path(sys.argv[2]).absolute()
    system = {"qwen3-tts": qwen3_tts, "moss-tts": moss_tts, "voxcpm": voxcpm}[name]
    with tempfile.TemporaryDirectory() as folder:
        corpus, prepared = Path(folder, "corpus"), Path(folder, "prepared.jsonl")
        at_24_khz(corpus)
        given, exported = lists_of(corpus, Path(folder))
        make = system(checkout, given, prepared)
        one, other = (
            make([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
            for path in (prepared, exported)
        )
        n_values, pairs = 0, ([], [])
        for theirs, ours in zip(
            *(torch.utils.data.DataLoader(each, 4, collate_fn=each.collate_fn) for each in (one, other)), strict=True
        ):
            for batches, batch in zip(pairs, (theirs, ours), strict=True):
                batches.append(batch)
            assert theirs.keys() == ours.keys()
            for key in theirs:
                torch.testing.assert_close(ours[key], theirs[key], rtol=0, atol=0)
                n_values += ours[key].numel()
        print(f"{len(other)} rows of {name}: {n_values:,} equal values of batches")
        if name == "qwen3-tts":
            print(token_steps.of_steps(token_steps.small_qwen3_tts, pairs, step=token_steps.step_of_qwen3_tts))
        elif name == "moss-tts":
            print(token_steps.of_steps(token_steps.small_moss_tts, pairs))


if __name__ == "__main__":
    main()
