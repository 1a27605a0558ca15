"""What this room brings."""

from tts_prep.doors import Room, Row

ROOM = Room(
    {
        "frontends": (
            Row(
                "tokenizer",
                "tts_prep.tokenizers.frontend:TokenizerFrontend",
                "tokenizer:FILE: a language model's tokenizer.json, or a model of sentencepiece",
            ),
        ),
        "symbols": (
            Row("tokenizer", "tts_prep.tokenizers.frontend:TokenizerTable.from_dict"),
            Row("tokenizer file", "tts_prep.tokenizers.frontend:TokenizerTable.read"),
        ),
    },
    libraries={"tokenizers": "tokenizers", "sentencepiece": "tokenizers"},
)
