"""What GPT-SoVITS takes of a text beside its phones: word2ph, and BERT's features.

    tts-prep add store --feature gpt_sovits_models:WordToPhones
    tts-prep add store --feature gpt_sovits_models:BertFeatures:model=chinese-roberta-wwm-ext-large

`WordToPhones` runs in the folder `GPT_SoVITS` of its repository, whose `text/cleaner.py` it calls. The texts of the
store are normalized as by its `1-get-text.py`: each character has a number of phones. `BertFeatures` needs torch
and transformers.
"""

import importlib

import numpy as np

from tts_prep.preprocess import ArraySpec


class WordToPhones:
    """The number of phones of each character of a text, [n_characters].

    Args:
        cleaner: the module with `clean_text(text, language, version)`, which returns phones, word2ph and a text.
        language: the language of the texts, in its terms.
        version: that of the symbols.
    """

    batch_seconds = 600.0
    weights = "none"

    def __init__(self, cleaner: str = "text.cleaner", language: str = "zh", version: str = "v2") -> None:
        self.how, self.clean = (language, version), importlib.import_module(cleaner).clean_text
        self.arrays = (ArraySpec("word2ph", "int16", (), "own"),)

    def __call__(self, texts):
        return [np.array(self.clean(text, *self.how)[1], np.int16) for text in texts]


class BertFeatures:
    """The features of the character that each phone belongs to, [n_phones, 1024], as in `3-bert`.

    Args:
        model: the name or folder of a BERT of transformers.
    """

    batch_seconds = 600.0
    software = ("transformers", "torch")

    def __init__(self, model: str, device: str = "cpu") -> None:
        self.weights, self.device = model, device
        self.arrays = (ArraySpec("bert", "float32", (1024,), "own"),)
        self.load(model)

    def load(self, model):
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.model = AutoModelForMaskedLM.from_pretrained(model).eval().to(self.device)

    def features(self, text):
        """Return the third last layer without the tokens around the text, [n_characters, 1024]."""
        import torch

        inputs = self.tokenizer(text, return_tensors="pt").to(self.device)
        with torch.no_grad():
            layers = self.model(**inputs, output_hidden_states=True).hidden_states
        return layers[-3][0, 1:-1].cpu().numpy()

    def __call__(self, texts, word2ph):
        # An utterance whose text and word2ph differ in length fails alone, and says so.
        return [np.repeat(self.features(text), counts, axis=0) for text, counts in zip(texts, word2ph, strict=True)]
