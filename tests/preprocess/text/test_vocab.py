from __future__ import annotations

import pytest

from tts_prep.errors import ConfigurationError, TextError
from tts_prep.preprocess import Vocab


def test_specials_are_ids_0_to_3_and_symbols_follow() -> None:
    vocab = Vocab.with_specials("ab")
    assert vocab.symbols == ("<pad>", "<unk>", "<s>", "</s>", "a", "b")
    assert [vocab.lookup(symbol) for symbol in ("<pad>", "<unk>", "<s>", "</s>", "a", "z")] == [0, 1, 2, 3, 4, None]
    assert vocab.reverse(5) == "b"
    assert vocab.specials == {"<pad>", "<unk>", "<s>", "</s>"}


def test_a_table_names_its_specials_or_pads_with_its_first_symbol() -> None:
    assert Vocab.from_table(["a", "<unk>", "<pad>"]).as_dict() == {
        "symbols": ["a", "<unk>", "<pad>"],
        "pad": 2,
        "unk": 1,
    }
    assert Vocab.from_table(["_", "a"]).as_dict() == {"symbols": ["_", "a"], "pad": 0}
    with pytest.raises(ConfigurationError, match="at least one symbol"):
        Vocab.from_table([])


def test_what_the_manifest_holds_gives_the_vocabulary_back() -> None:
    for vocab in (Vocab.with_specials("ab"), Vocab("$ab", "$")):
        again = Vocab.from_dict(vocab.as_dict())
        assert again.symbols == vocab.symbols
        assert (again.pad, again.specials) == (vocab.pad, vocab.specials)
        assert (again.unk_symbol, again.start_symbol) == (vocab.unk_symbol, vocab.start_symbol)


def test_an_unknown_symbol_is_an_error_or_unk_or_dropped_as_asked() -> None:
    vocab = Vocab.with_specials("ab")
    with pytest.raises(TextError, match="1 symbol not in the vocabulary: 'x'"):
        vocab.encode("axb")
    assert vocab.encode("axb", "unk").tolist() == [4, 1, 5]
    assert vocab.encode("axb", "drop").tolist() == [4, 5]
    assert vocab.unknown("axbxy") == ["x", "x", "y"]


def test_a_special_symbol_has_to_be_in_the_table() -> None:
    with pytest.raises(ConfigurationError, match="the unknown symbol '\\?' is not among the 2 symbols"):
        Vocab("ab", "a", unk="?")
