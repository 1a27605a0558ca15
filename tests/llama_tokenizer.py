"""A tokenizer with the ids of Llama 3's, which has bytes alone as tokens."""

from __future__ import annotations

import json
from pathlib import Path

BEGIN, END = 128_000, 128_009


def ids_of(text: str) -> list[int]:
    """Return the ids of an ASCII text."""
    return [BEGIN, *map(ord, text)]


def write_tokenizer(path: Path, *, whole: bool = False) -> Path:
    """Write a ``tokenizer.json`` of ids below 128,256: ASCII characters have their codes, and texts a token before.

    Args:
        whole: every id has a token, as in Llama's, whose packing takes a second.
    """
    vocab = {chr(code): code for code in range(33, 127)} | {"Ġ": 32}
    taken = {*vocab.values(), BEGIN}
    last = 128_255
    vocab |= {
        f"<|{number}|>": number for number in range(0 if whole else last, last + 1) if number not in {*taken, END}
    }
    begin = "<|begin_of_text|>"
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": begin, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {begin: {"id": begin, "ids": [BEGIN], "tokens": [begin]}},
    }
    content = {
        "version": "1.0",
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "post_processor": template,
        "model": {"type": "BPE", "vocab": vocab | {begin: BEGIN, "<|eot_id|>": END}, "merges": []},
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
