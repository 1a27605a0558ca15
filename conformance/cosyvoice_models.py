"""Run CosyVoice's own extraction scripts and ours on the same clips with the same weights, and compare what they say.

    python conformance/cosyvoice_models.py CHECKOUT [--python PYTHON]

CHECKOUT is a copy of FunAudioLLM/CosyVoice; its ``tools/extract_speech_token.py`` and ``tools/extract_embedding.py``
run as they are, by PYTHON, which needs what they import: torch, torchaudio (from 2.9 on with torchcodec), onnxruntime
and openai-whisper. This script needs the same and onnx. The networks are small and have random weights, but the inputs
and outputs that the scripts ask of theirs: log mels [B, 128, T] with lengths, and features [B, T, 80].

Two classes call them, one utterance at a time and in padded batches, on stores of 16 and of 22.05 kHz, the latter with
two resamplers. Printed is how many
utterances have the source's tokens, and the largest difference of vectors, relative to the largest number of each.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tts_prep.demo.corpus import make_demo_corpus
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import ArraySpec, add_array, configure, prepare, read_corpus

RATE = 16_000
CHANNELS = 16
TOKENS = 64


def write_networks(folder: Path) -> tuple[Path, Path]:
    """Write a tokenizer and a speaker encoder with random weights as ONNX; return their paths."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)

    def weights(name, *shape):
        values = rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
        return numpy_helper.from_array(values.astype(np.float32), name)

    def write(name, nodes, inputs, outputs, values):
        graph = helper.make_graph(nodes, name, inputs, outputs, values)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, folder / f"{name}.onnx")
        return folder / f"{name}.onnx"

    def info(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    # Two convolutions that halve the rate, masked by the lengths, and the nearest entry of a codebook.
    int64 = TensorProto.INT64
    tokenizer = [
        helper.make_node("Conv", ["feats", "first"], ["a"], kernel_shape=[3], pads=[1, 1], strides=[2]),
        helper.make_node("Sin", ["a"], ["b"]),
        helper.make_node("Shape", ["b"], ["size"], start=2, end=3),
        helper.make_node("Squeeze", ["size"], ["frames"]),
        helper.make_node("Range", ["zero", "frames", "one"], ["positions"]),
        helper.make_node("Cast", ["feats_length"], ["lengths"], to=int64),
        helper.make_node("Add", ["lengths", "one"], ["more"]),
        helper.make_node("Div", ["more", "two"], ["halves"]),
        helper.make_node("Unsqueeze", ["halves", "axes"], ["ends"]),
        helper.make_node("Less", ["positions", "ends"], ["is_inside"]),
        helper.make_node("Cast", ["is_inside"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["b", "mask"], ["c"]),
        helper.make_node("Conv", ["c", "second"], ["d"], kernel_shape=[3], pads=[1, 1], strides=[2]),
        helper.make_node("ArgMax", ["d"], ["indices"], axis=1, keepdims=0),
    ]
    first = rng.normal(size=(CHANNELS, 128, 3))
    values = [
        # Without what all bands have in common, so that tokens vary.
        numpy_helper.from_array((first - first.mean(axis=1, keepdims=True)).astype(np.float32), "first"),
        weights("second", TOKENS, CHANNELS, 3),
        *(numpy_helper.from_array(np.int64(n), name) for n, name in enumerate(("zero", "one", "two"))),
        numpy_helper.from_array(np.array([1, 2]), "axes"),
    ]
    tokens = write(
        "tokenizer",
        tokenizer,
        [info("feats", TensorProto.FLOAT, ["B", 128, "T"]), info("feats_length", TensorProto.INT32, ["B"])],
        [info("indices", TensorProto.INT64, ["B", "N"])],
        values,
    )
    # Layers over time, and mean and standard deviation over it, as a speaker encoder pools.
    encoder = [
        helper.make_node("Transpose", ["input"], ["x"], perm=[0, 2, 1]),
        helper.make_node("Conv", ["x", "layer"], ["a"], kernel_shape=[5], pads=[2, 2]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("ReduceMean", ["b"], ["mean"], axes=[2], keepdims=1),
        helper.make_node("Sub", ["b", "mean"], ["left"]),
        helper.make_node("Mul", ["left", "left"], ["square"]),
        helper.make_node("ReduceMean", ["square"], ["variance"], axes=[2], keepdims=1),
        helper.make_node("Sqrt", ["variance"], ["deviation"]),
        helper.make_node("Concat", ["mean", "deviation"], ["both"], axis=1),
        helper.make_node("Flatten", ["both"], ["flat"]),
        helper.make_node("MatMul", ["flat", "project"], ["output"]),
    ]
    vectors = write(
        "campplus",
        encoder,
        [info("input", TensorProto.FLOAT, ["B", "T", 80])],
        [info("output", TensorProto.FLOAT, ["B", 192])],
        [weights("layer", CHANNELS, 80, 5), weights("project", 2 * CHANNELS, 192)],
    )
    return tokens, vectors


def session(path: str):
    """Return a network that runs with one thread, as the scripts run theirs."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, sess_options=options, providers=["CPUExecutionProvider"])


class SpeechTokens:
    """CosyVoice's speech tokens, 25 per second.

    Args:
        model: the path of ``speech_tokenizer_v1.onnx``.
    """

    sample_rate = RATE
    software = ("onnxruntime", "openai-whisper")

    def __init__(self, model: str) -> None:
        self.session, self.weights = session(model), Path(model).name
        self.arrays = (ArraySpec("speech_tokens", "int16", (), "own", rate=25.0),)

    def __call__(self, waveforms):
        import torch
        import whisper

        # Of each waveform alone: the log mel is limited by its own maximum.
        mels = [whisper.log_mel_spectrogram(torch.from_numpy(of), n_mels=128).numpy() for of in waveforms]
        lengths = [mel.shape[1] for mel in mels]
        feats = np.zeros((len(mels), 128, max(lengths)), np.float32)
        for row, mel in enumerate(mels):
            feats[row, :, : mel.shape[1]] = mel
        found = self.session.run(None, {"feats": feats, "feats_length": np.array(lengths, np.int32)})[0]
        return [found[row, : -(-n // 4)].astype(np.int16) for row, n in enumerate(lengths)]


class SpeakerVectors:
    """CosyVoice's speaker vectors, 192 numbers.

    Args:
        model: the path of ``campplus.onnx``.
        is_padded: calls the network with batches, padded with zeros, as it is not meant to be.
    """

    sample_rate = RATE
    software = ("onnxruntime", "torchaudio")

    def __init__(self, model: str, is_padded: bool = False) -> None:
        self.session, self.weights, self.is_padded = session(model), Path(model).name, is_padded
        self.arrays = (ArraySpec("speaker_vector", "float32", (192,), "utterance"),)

    def __call__(self, waveforms):
        import torch
        from torchaudio.compliance import kaldi

        feats = []
        for waveform in waveforms:
            feat = kaldi.fbank(torch.from_numpy(waveform)[None], num_mel_bins=80, dither=0, sample_frequency=RATE)
            feats.append((feat - feat.mean(dim=0, keepdim=True)).numpy())
        if not self.is_padded:
            return [self.session.run(None, {"input": feat[None]})[0][0] for feat in feats]
        longest = max(map(len, feats))
        padded = np.stack([np.pad(feat, ((0, longest - len(feat)), (0, 0))) for feat in feats])
        return list(self.session.run(None, {"input": padded})[0])


def source_values(checkout: Path, python: str, folder: Path, networks: tuple[Path, Path], wavs: dict[str, Path]):
    """Return the tokens and vectors of the source's scripts by id."""
    import torch

    folder.mkdir()
    (folder / "wav.scp").write_text("".join(f"{uid} {path}\n" for uid, path in wavs.items()))
    (folder / "utt2spk").write_text("".join(f"{uid} one\n" for uid in wavs))
    for script, network in zip(("extract_speech_token.py", "extract_embedding.py"), networks, strict=True):
        command = [python, checkout / "tools" / script, "--dir", folder, "--onnx_path", network, "--num_thread", "1"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{script}: {done.stderr[-2000:]}")
    return [torch.load(folder / f"{name}.pt") for name in ("utt2speech_token", "utt2embedding")]


def compare(name: str, store: Path, tokens: dict, vectors: dict) -> None:
    """Print how a store differs from what the source's scripts found."""
    dataset = UtteranceDataset(store)
    same = different = total = lengths = 0
    known = len({token for of_utterance in tokens.values() for token in of_utterance})
    largest = 0.0
    for utterance in dataset:
        own, theirs = utterance.arrays["speech_tokens"], np.array(tokens[utterance.id])
        lengths += len(own) != len(theirs)
        n = min(len(own), len(theirs))
        different, total = different + int((own[:n] != theirs[:n]).sum()), total + n
        same += np.array_equal(own, theirs)
        vector = np.array(vectors[utterance.id])
        largest = max(largest, float(np.abs(utterance.arrays["speaker_vector"] - vector).max() / np.abs(vector).max()))
    others = f"{different:,} of {total:,} ({known} kinds)"
    print(f"| {name} | {same} of {len(dataset)} | {others} | {lengths} | {largest:.1e} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        networks = write_networks(folder)
        make_demo_corpus(folder / "corpus")
        print("| store, batches | utterances with equal tokens | other tokens | other lengths | vectors, relative |")
        print("| --- | --- | --- | --- | --- |")
        for rate, resampler in ((RATE, "soxr_hq"), (22_050, "soxr_hq"), (22_050, "torchaudio")):
            compare_at(rate, resampler, folder, networks, options)


def compare_at(
    rate: int, resampler: str, folder: Path, networks: tuple[Path, Path], options: argparse.Namespace
) -> None:
    """Compare a store of a sample rate with the scripts' values for the same clips, written as WAV files."""
    import soundfile

    folder = folder / f"{rate}-{resampler}"
    rows, root = read_corpus("ljspeech", folder.parent / "corpus")
    store = folder / "store"
    settings = {"store": {"waveform_dtype": "int16"}, "audio": {"sample_rate": rate, "resampler": resampler}}
    prepare(rows, root, store, configure("ljspeech", settings=settings))
    wavs = {}
    for utterance in UtteranceDataset(store):
        wavs[utterance.id] = folder / f"{utterance.id}.wav"
        soundfile.write(wavs[utterance.id], utterance.waveform, rate, subtype="PCM_16")
    values = source_values(options.checkout, options.python, folder / "kaldi", networks, wavs)
    for batch_seconds, is_padded in ((1e-9, False), (60.0, False), (60.0, True)):
        own = folder / f"{batch_seconds}-{is_padded}"
        subprocess.run(["cp", "-r", store, own], check=True)
        of_vectors = {"model": str(networks[1]), "is_padded": is_padded}
        add_array(own, "tokens", SpeechTokens, settings={"model": str(networks[0])}, batch_seconds=batch_seconds)
        add_array(own, "vectors", SpeakerVectors, settings=of_vectors, batch_seconds=batch_seconds)
        how = "one at a time" if batch_seconds < 1 else "60 s, features padded" if is_padded else "60 s"
        compare(f"{rate:,} Hz, {resampler}, {how}", own, *values)


if __name__ == "__main__":
    main()
