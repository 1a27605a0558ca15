"""English names of languages, as in lhotse's manifests, and the codes of the frontends."""

from __future__ import annotations

from typing import Final

from tts_prep.preprocess.text.tables import word_table

_CODES: Final = word_table(
    """
    afrikaans=af albanian=sq amharic=am arabic=ar armenian=hy assamese=as azerbaijani=az basque=eu belarusian=be
    bengali=bn bosnian=bs bulgarian=bg cantonese=yue catalan=ca chinese=zh croatian=hr czech=cs danish=da dutch=nl
    english=en estonian=et finnish=fi french=fr georgian=ka german=de greek=el gujarati=gu hebrew=he hindi=hi
    hungarian=hu icelandic=is indonesian=id irish=ga italian=it japanese=ja kannada=kn kazakh=kk korean=ko latvian=lv
    lithuanian=lt macedonian=mk malay=ms malayalam=ml maltese=mt mandarin=zh marathi=mr nepali=ne norwegian=no
    persian=fa polish=pl portuguese=pt punjabi=pa romanian=ro russian=ru serbian=sr slovak=sk slovenian=sl spanish=es
    swahili=sw swedish=sv tamil=ta telugu=te thai=th turkish=tr ukrainian=uk urdu=ur uzbek=uz vietnamese=vi welsh=cy
    """
)


def language_code(language: str) -> str:
    """Return the code of an English name of a language, and other values unchanged."""
    return _CODES.get(language.strip().lower(), language)
