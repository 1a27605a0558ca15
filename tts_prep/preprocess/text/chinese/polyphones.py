"""Characters with several readings that the words around them decide, where a dictionary of words has another one.

The readings are those of 现代汉语词典, 7th edition.
"""

from __future__ import annotations

import re
from typing import Final

_SURNAMES: Final = {
    "曾": "zeng1",
    "单": "shan4",
    "解": "xie4",
    "仇": "qiu2",
    "朴": "piao2",
    "任": "ren2",
    "查": "zha1",
    "盖": "ge3",
    "华": "hua4",
    "区": "ou1",
    "葛": "ge3",
    "秘": "bi4",
}
_RULES: Final = tuple(
    (re.compile(pattern), pinyin)
    for pattern, pinyin in (
        # 很长, 这么长, but 长大, 长得
        ("(?:很|太|最|更|真|这么|那么|非常)(长)(?![大得高出成])", "chang2"),
        # 有空, but 有空气
        ("(?:没有?|有|抽)(空)(?![气调间军中白缺位难虚运格])", "kong4"),
        # 数了三遍, 数一数, but 数学
        ("(?<![无少多次人分岁])(数)(?=了[一二两三四五六七八九十几半]|一数|着)", "shu3"),
        # 用尽, but 尽快
        ("(?:用|耗|费|受|历|竭)(尽)", "jin4"),
    )
)
_ANY: Final = re.compile("[长空数尽姓]")
_SURNAME: Final = re.compile(f"姓([{''.join(_SURNAMES)}])")
_PERSON: Final = re.compile("[我你他她它们您咱人]$")


def readings(characters: str) -> dict[int, str]:
    """Return position → pinyin for the characters of a text without marks that have another reading here."""
    if not _ANY.search(characters):
        return {}
    found = {match.start(1): _SURNAMES[match[1]] for match in _SURNAME.finditer(characters)}
    for rule, pinyin in _RULES:
        found.update({match.start(1): pinyin for match in rule.finditer(characters)})
    return found


def single_de(before: str, following: str) -> str:
    """Return the reading of 得 as a word of its own: 他得了奖 has, 你得走 must, 走得快 is a particle."""
    if _PERSON.search(before):
        return "de2" if following[:1] in ("了", "到", "过") else "dei3"
    return "de5"
