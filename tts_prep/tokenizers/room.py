"""What this room brings."""

from typing import Final

from tts_prep.doors import Room, Row

ROOM: Final = Room(
    "Ids of texts by the tokenizers of language models.",
    {
        "frontends": (
            Row(
                "tokenizer",
                "tts_prep.tokenizers.frontend:TokenizerFrontend",
                "tokenizer:FILE: a language model's tokenizer.json, or a model of sentencepiece",
            ),
        ),
        "symbols": (
            Row("tokenizer", "tts_prep.tokenizers.file:TokenizerTable.from_dict"),
            Row("tokenizer file", "tts_prep.tokenizers.file:TokenizerTable.read"),
        ),
    },
    libraries={"tokenizers": "tokenizers", "sentencepiece": "tokenizers"},
)
