"""Small corpora in the true layouts of Baker, AISHELL-3, JSUT, KSS and CSS10, oddities included."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from corpora import record, write_text

# Two of the lines are as the corpus has them for its two sentences with Latin letters.
BAKER = """\
000001\t卡尔普#2陪外孙#1玩滑梯#4。
\tka2 er2 pu3 pei2 wai4 sun1 wan2 hua2 ti1
000002\t他#1遛弯儿#2都得#2躲远点#4！
\tta1 liu4 wanr1 dou1 dei3 duo2 yuan2 dian3
000003\t“嗯，Ｂ型血#1儿童#4”。
\tng1 bi4 xing2 xie3 er2 tong2
002365\t这图#2难不成#2是#1Ｐ过的#4？
\tzhe4 tu2 nan2 bu4 cheng2 shi4 P IY1 guo4 de5
"""

# As Praat writes it in its short form. The tier is named after the file.
INTERVAL = """\
File type = "ooTextFile"
Object class = "TextGrid"

0
0.3
<exists>
1
"IntervalTier"
"{name}.lab"
0
0.3
4
0
0.05
"sil"
0.05
0.15
"k"
0.15
0.25
"a2"
0.25
0.3
"sil"
"""


def write_baker(root: Path, lines: str = BAKER) -> Path:
    """Write the list with the line ends of Windows, as it is delivered, recordings and the alignment of one of them."""
    write_text(root / "ProsodyLabeling/000001-010000.txt", lines.replace("\n", "\r\n"))
    for name in ("000001", "000002", "000003", "002365"):
        record(root / f"Wave/{name}.wav", sample_rate=48000)
    write_text(root / "PhoneLabeling/000001.interval", INTERVAL.format(name="000001"))
    return root


def write_aishell3(root: Path) -> Path:
    """Write both subsets; one recording is missing, and one speaker is not in the table."""
    write_text(
        root / "train/content.txt", "SSB00050001.wav\t广 guang3 州 zhou1 女 nv3\nSSB00050002.wav\t点儿 dianr3 好 hao3\n"
    )
    write_text(root / "test/content.txt", "SSB00730001.wav\t尊 zun1 重 zhong4\nSSB00730002.wav\t没 mei2\n")
    for path in ("train/wav/SSB0005/SSB00050001", "train/wav/SSB0005/SSB00050002", "test/wav/SSB0073/SSB00730001"):
        record(root / f"{path}.wav", sample_rate=44100)
    table = "# voice-file name; age group; gender; accent\n# In years, A:< 14, B:14 - 25, C:26 - 40, D:> 41.\n\n"
    write_text(root / "spk-info.txt", f"{table}SSB0005\tB\tfemale\tnorth")
    write_text(root / "ReadMe.txt", "")
    return root


def write_jsut(root: Path) -> Path:
    """Write two subsets; one text holds a colon, and the ids of one subset have hyphens."""
    write_text(
        root / "basic5000/transcript_utf8.txt",
        "BASIC5000_0001:水を買わなくてはならないのです。\nBASIC5000_0002:比は1:2です。\n",
    )
    write_text(root / "utparaphrase512/transcript_utf8.txt", "UT-PARAPHRASE-sent254-phrase2:はい。\n")
    write_text(root / "ChangeLog.txt", "")
    for path in ("basic5000/wav/BASIC5000_0001", "basic5000/wav/BASIC5000_0002"):
        record(root / f"{path}.wav", sample_rate=48000)
    record(root / "utparaphrase512/wav/UT-PARAPHRASE-sent254-phrase2.wav", sample_rate=48000)
    return root


def write_kss(root: Path, folder: str = "") -> Path:
    """Write versions 1.3 and 1.4; the fourth field is jamo, the recordings may lie one folder below."""
    rows = (("1/1_0000.wav", "그는 왔다.", "그는 왔다.", "He came."), ("4/4_5656.wav", "6월이다.", "유월이다.", ""))
    lines = [
        f"{path}|{raw}|{spoken}|{unicodedata.normalize('NFD', spoken)}|0.3|{english}\n"
        for path, raw, spoken, english in rows
    ]
    write_text(root / "transcript.v.1.4.txt", "".join(lines))
    write_text(root / "transcript.v.1.3.txt", "old\n")
    for path, *_ in rows:
        record(root / folder / path, sample_rate=44100)
    return root


def write_css10(root: Path) -> Path:
    """Write German and Chinese, each with one book; the third field of Chinese is pinyin with marks for tones."""
    name = "meisterfloh/meisterfloh_0000.wav"
    write_text(root / "de/transcript.txt", f"{name}|Es war am 3. Mai.|Es war am dritten Mai.|0.3\n")
    record(root / "de" / name)
    name = "call_to_arms/call_to_arms_0004.wav"
    write_text(root / "zh/transcript.txt", f"{name}|几乎是每天，|jī hū shì měi tiān ，|0.3\n")
    record(root / "zh" / name)
    return root
