"""The answers of a tokenizer's library, in a process of its own: files can crash it, and texts can keep it busy."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tts_prep.errors import ConfigurationError

_PADS = ("<pad>", "[PAD]", "<|pad|>", "<|endoftext|>", "<|end_of_text|>")
"""What tokens of padding are called, in files that name none."""


def answer(path: Path, what: str, *values: Any) -> Any:
    """Answer a request about a file.

    ``"table"`` gives the tokens in the order of ids (None for ids without one), and the id of padding. ``"encode",
    text`` gives ids, ``"pieces", text`` their tokens, and ``"decode", ids`` a text.

    Raises:
        ConfigurationError: the library cannot read the file, or the text.
    """
    try:
        return _opened(path)[what](*values)
    except MemoryError:
        raise
    except BaseException as error:  # the library's own panics are no exceptions
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise ConfigurationError(f"its library cannot read {'it' if what == 'table' else 'this'} ({reason})") from error


@lru_cache(maxsize=1)
def _opened(path: Path) -> Mapping[str, Callable[..., Any]]:
    if path.suffix == ".json":
        from tokenizers import Tokenizer

        made = Tokenizer.from_file(str(path))
        padding, ids = made.padding, made.get_vocab(with_added_tokens=True)
        made.no_padding()
        named = {number: token for token, number in ids.items()}
        tokens = [named.get(number) for number in range(1 + max(named, default=-1))]
        pad = padding["pad_id"] if padding else next((ids[name] for name in _PADS if name in ids), 0)
        encode, pieces = (lambda text: made.encode(text).ids), (lambda text: made.encode(text).tokens)
        return {"table": lambda: [tokens, pad], "encode": encode, "pieces": pieces, "decode": made.decode}
    from sentencepiece import SentencePieceProcessor

    model = SentencePieceProcessor(model_file=str(path))
    tokens = [model.id_to_piece(number) for number in range(model.get_piece_size())]
    pad = max(0, model.pad_id())
    pieces = lambda text: [tokens[number] for number in model.encode(text)]  # noqa: E731
    return {"table": lambda: [tokens, pad], "encode": model.encode, "pieces": pieces, "decode": model.decode}
