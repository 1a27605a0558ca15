"""Codec tokens by EnCodec and speaker vectors by an x-vector network, for every utterance of a store.

    tts-prep add store --corpus CORPUS --feature speech_models:EncodecTokens:model=facebook/encodec_24khz
    tts-prep add store --corpus CORPUS --feature speech_models:SpeakerVectors:model=microsoft/wavlm-base-plus-sv

Without `model`, the networks are small and have random weights: this shows what is called, and how fast. With CUDA, add
`--devices cuda:0`. Needs torch and transformers.
"""

import math

import numpy as np
import torch
from transformers import EncodecConfig, EncodecModel, UniSpeechSatConfig, UniSpeechSatForXVector, WavLMForXVector

from tts_prep.preprocess import ArraySpec


class EncodecTokens:
    """Tokens of EnCodec at 24 kHz, [n, codebooks], 75 per second.

    Args:
        model: the name or folder of a model of transformers; empty makes a small one with random weights.
        bandwidth: kbit/s, of which the number of codebooks follows: 1.5 gives two.
        seed: the seed of random weights.
    """

    sample_rate = 24_000
    batch_seconds = 120.0
    software = ("transformers", "torch")

    def __init__(self, model: str = "", bandwidth: float = 1.5, seed: int = 0, device: str = "cpu") -> None:
        self.weights = model or f"random, seed {seed}"
        self.device, self.bandwidth = device, bandwidth
        # The line for real weights is the first one.
        self.model = EncodecModel.from_pretrained(model) if model else _random_encodec(seed)
        self.model.eval().to(device)
        config = self.model.config
        self.hop = math.prod(config.upsampling_ratios)
        codebooks = self.model.quantizer.get_num_quantizers_for_bandwidth(bandwidth)
        self.arrays = (ArraySpec("tokens", "int16", (codebooks,), "own", rate=config.sampling_rate / self.hop),)

    def __call__(self, waveforms):
        # Whole frames, so that an encoder that looks at the past alone gives the same tokens beside longer waveforms.
        frames = [-(-len(waveform) // self.hop) for waveform in waveforms]
        values = torch.zeros(len(waveforms), 1, max(frames) * self.hop)
        for row, waveform in enumerate(waveforms):
            values[row, 0, : len(waveform)] = torch.from_numpy(waveform)
        with torch.inference_mode():
            codes = self.model.encode(values.to(self.device), bandwidth=self.bandwidth).audio_codes
        # [chunks, B, codebooks, T]; the 24 kHz model has one chunk.
        tokens = codes[0].transpose(1, 2).cpu().numpy().astype(np.int16)
        return [tokens[row, :length] for row, length in enumerate(frames)]


class SpeakerVectors:
    """An x-vector of each utterance, of unit length.

    Args:
        model: the name or folder of a WavLM of transformers; empty makes a small network with random weights.
        seed: the seed of random weights.
    """

    sample_rate = 16_000
    batch_seconds = 120.0
    software = ("transformers", "torch")

    def __init__(self, model: str = "", seed: int = 0, device: str = "cpu") -> None:
        self.weights, self.device = model or f"random, seed {seed}", device
        self.model = WavLMForXVector.from_pretrained(model) if model else _random_x_vector(seed)
        self.model.eval().to(device)
        self.arrays = (ArraySpec("speaker_vector", "float32", (self.model.config.xvector_output_dim,), "utterance"),)

    def __call__(self, waveforms):
        lengths = [len(waveform) for waveform in waveforms]
        values = torch.zeros(len(lengths), max(lengths))
        mask = torch.zeros(values.shape, dtype=torch.long)
        for row, waveform in enumerate(waveforms):
            # What the feature extractor of these models does.
            normal = (waveform - waveform.mean()) / np.sqrt(waveform.var() + 1e-7)
            values[row, : len(waveform)] = torch.from_numpy(normal)
            mask[row, : len(waveform)] = 1
        with torch.inference_mode():
            hidden = self._hidden(values.to(self.device), mask.to(self.device))
            found = torch.cat([self._pooled(hidden[row : row + 1, : self._frames(n)]) for row, n in enumerate(lengths)])
        return list(torch.nn.functional.normalize(found.float(), dim=1).cpu().numpy())

    def _hidden(self, values, mask):
        """Return what the network has of each frame, [B, T, D]."""
        config = self.model.config
        found = self.model.base_model(values, attention_mask=mask, output_hidden_states=config.use_weighted_layer_sum)
        if not config.use_weighted_layer_sum:
            return found.last_hidden_state
        weights = torch.softmax(self.model.layer_weights, dim=-1)
        return (torch.stack(found.hidden_states, dim=1) * weights.view(-1, 1, 1)).sum(dim=1)

    def _frames(self, n):
        for kernel, stride in zip(self.model.config.conv_kernel, self.model.config.conv_stride, strict=True):
            n = (n - kernel) // stride + 1
        return n

    def _pooled(self, hidden):
        """Return the vector of one utterance, [1, D].

        Not of a batch: transformers counts the frames after its dilated layers as if they were not dilated, so that the
        last frames of shorter utterances are those of padding.
        """
        hidden = self.model.projector(hidden)
        for layer in self.model.tdnn:
            hidden = layer(hidden)
        return self.model.feature_extractor(torch.cat([hidden.mean(dim=1), hidden.std(dim=1)], dim=-1))


def _random_encodec(seed):
    torch.manual_seed(seed)
    model = EncodecModel(EncodecConfig(num_filters=8, hidden_size=32, codebook_dim=32, codebook_size=256))
    # A new model has codebooks of zeros. These are frames of noise, and what is left of them.
    with torch.inference_mode():
        left = model.encoder(0.3 * torch.randn(1, 1, 24_000 * 8))[0].T
        for layer in model.quantizer.layers:
            codebook = left[torch.randperm(len(left))[:256]]
            layer.codebook.embed.copy_(codebook)
            left = left - codebook[torch.cdist(left, codebook).argmin(dim=1)]
    return model


def _random_x_vector(seed):
    torch.manual_seed(seed)
    config = UniSpeechSatConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        conv_dim=(16,) * 7,
        # A norm over all frames of a batch would see its padding.
        feat_extract_norm="layer",
        num_conv_pos_embedding_groups=2,
        num_conv_pos_embeddings=16,
        tdnn_dim=(32, 32, 32, 32, 64),
        xvector_output_dim=24,
    )
    return UniSpeechSatForXVector(config)
