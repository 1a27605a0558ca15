"""Codes of SNAC at 24 kHz for every utterance of a store, as Orpheus reads them.

    tts-prep add store --corpus CORPUS --feature snac_models:SnacCodes:model=hubertsiuzdak/snac_24khz

Without `model`, the network is small and has random weights: this shows what is called. With CUDA, add
`--devices cuda:0`. Needs torch and snac.
"""

import numpy as np
import torch
from snac import SNAC

from tts_prep.preprocess import ArraySpec

ORDER = ((0, 1, 0), (1, 2, 0), (2, 4, 0), (2, 4, 1), (1, 2, 1), (2, 4, 2), (2, 4, 3))
"""The layer, its codes in a frame of the coarsest one, and the number of the code, for each code of a frame."""


class SnacCodes:
    """Codes of SNAC, [n, 7], of the layers 1, 2, 3, 3, 2, 3, 3.

    Args:
        model: the name or folder of a model; empty makes a small one with random weights.
        seed: the seed of random weights.
    """

    sample_rate = 24_000
    software = ("snac", "torch")

    def __init__(self, model: str = "", seed: int = 0, device: str = "cpu") -> None:
        self.weights, self.device = model or f"random, seed {seed}", device
        self.model = (SNAC.from_pretrained(model) if model else _random_snac(seed)).eval().to(device)
        self.arrays = (ArraySpec("audio_codes", "int16", (7,), "own", rate=float(24_000 / self.model.hop_length / 4)),)

    def __call__(self, waveforms):
        return [self.codes_of(waveform) for waveform in waveforms]

    def codes_of(self, waveform):
        """Return the codes, [n, 7] int16, of a waveform, [n_samples] float32: beside a longer one they are others."""
        with torch.inference_mode():
            layers = self.model.encode(torch.from_numpy(waveform)[None, None].to(self.device))
        codes = [layers[layer][0, first::step].cpu().numpy() for layer, step, first in ORDER]
        return np.stack(codes, axis=1).astype(np.int16)


def _random_snac(seed):
    torch.manual_seed(seed)
    sizes = {"encoder_dim": 4, "encoder_rates": [2, 4, 8, 8], "decoder_dim": 32, "decoder_rates": [8, 8, 4, 2]}
    model = SNAC(**sizes, sampling_rate=24_000, attn_window_size=None, vq_strides=[4, 2, 1])
    # Random biases would be larger than what is left of a waveform, and all codes equal.
    for name, values in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.zeros_(values)
    return model
