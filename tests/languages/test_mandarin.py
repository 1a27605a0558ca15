"""The frontend ``mandarin``: polyphones, tone sandhi, erhua, numbers, pinyin as input."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.languages.chinese.normalization import cardinal, normalize_chinese
from tts_prep.languages.chinese.pinyin import initial_and_final, ipa, is_pinyin
from tts_prep.lexicon.words import Words
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.text.frontends.frontend import default_frontend
from tts_prep.preprocess.text.symbols import get_table

# Not imported for that, which takes a second in every test worker.
pytestmark = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("opencc", "pypinyin", "rjieba"))), reason="needs the libraries of Mandarin"
)

DATA = Path(__file__).parents[3] / "shared" / "data"

# Readings by Xiandai Hanyu Cidian; tones as they are spoken, by the rules that Chao gives for 不, 一 and third tones.
READINGS = {
    "不对": "bu2 dui4",
    "不好": "bu4 hao3",
    "不来": "bu4 lai2",
    "不是": "bu2 shi4",
    "去不去": "qu4 bu5 qu4",
    "我不。": "wo3 bu4 .",
    "一个": "yi2 ge4",
    "一样": "yi2 yang4",
    "一天": "yi4 tian1",
    "一年": "yi4 nian2",
    "一起": "yi4 qi3",
    "第一": "di4 yi1",
    "统一的": "tong3 yi1 de5",
    "十一月一日": "shi2 yi1 yue4 yi1 ri4",
    "看一看": "kan4 yi5 kan4",
    "你好": "ni2 hao3",
    "我很好": "wo2 hen2 hao3",
    "展览馆": "zhan2 lan2 guan3",
    "管理组": "guan2 li2 zu3",
    "你可以走": "ni3 ke2 yi2 zou3",
    "我上学": "wo3 shang4 xue2",
    "早上上课": "zao3 shang5 shang4 ke4",
    "小老虎": "xiao3 lao2 hu3",
    "我，好": "wo3 , hao3",
    "银行": "yin2 hang2",
    "行走": "xing2 zou3",
    "重要": "zhong4 yao4",
    "重庆": "chong2 qing4",
    "长大": "zhang3 da4",
    "长城": "chang2 cheng2",
    "了解": "liao2 jie3",
    "走了": "zou3 le5",
    "得到": "de2 dao4",
    "跑得快": "pao3 de5 kuai4",
    "还有": "hai2 you3",
    "还给他": "huan2 gei3 ta1",
    "音乐": "yin1 yue4",
    "快乐": "kuai4 le4",
    "首都": "shou3 du1",
    "都是": "dou1 shi4",
    "慢慢地走": "man4 man4 de5 zou3",
    "绿色": "lv4 se4",
    "什么": "shen2 me5",
    "一点儿": "yi4 dianr3",
    "玩儿": "wanr2",
    "女儿": "nv3 er2",
    "儿子": "er2 zi5",
    "嗯": "en2",
}


@pytest.fixture(scope="module")
def pinyin():
    return get_frontend("mandarin-pinyin")


@pytest.fixture(scope="module")
def phones():
    return get_frontend("mandarin")


# The same dictionary; words in traditional characters, of which one has several readings.
TRADITIONAL = {
    "銀行": "yin2 hang2",
    "重慶": "chong2 qing4",
    "還錢": "huan2 qian2",
    "還是": "hai2 shi4",
    "長大": "zhang3 da4",
    "長城": "chang2 cheng2",
    "音樂": "yin1 yue4",
    "快樂": "kuai4 le4",
    "行為": "xing2 wei2",
    "因為": "yin1 wei4",
    "調查": "diao4 cha2",
    "調整": "tiao2 zheng3",
    "會計": "kuai4 ji4",
    "開會": "kai1 hui4",
    "覺得": "jue2 de5",
    "睡覺": "shui4 jiao4",
    "發展": "fa1 zhan3",
    "乾淨": "gan1 jing4",
    "處理": "chu2 li3",
    "到處": "dao4 chu4",
    "傳記": "zhuan4 ji4",
    "傳統": "chuan2 tong3",
    "彈琴": "tan2 qin2",
    "子彈": "zi3 dan4",
    "降價": "jiang4 jia4",
    "參加": "can1 jia1",
    "人參": "ren2 shen1",
    "種樹": "zhong4 shu4",
    "種類": "zhong3 lei4",
    "差別": "cha1 bie2",
}
# The syllables with neutral tone of the list of the Putonghua Proficiency Test.
NEUTRAL = {
    "妈妈": "ma1 ma5",
    "谢谢": "xie4 xie5",
    "朋友": "peng2 you5",
    "东西": "dong1 xi5",
    "葡萄酒": "pu2 tao2 jiu3",
    "先生": "xian1 sheng5",
    "姐姐": "jie3 jie5",
    "漂亮": "piao4 liang5",
    "胡萝卜": "hu2 luo2 bo5",
    "媽媽": "ma1 ma5",
}
# Letters as speakers of Mandarin name them.
LETTERS = {
    "A股": "ei1 gu3",
    "卡拉OK": "ka3 la1 ou1 kei1",
    "5G手机": "wu3 ji4 shou3 ji1",
    "比分3:1": "bi3 fen1 san1 bi3 yi1",
}


@pytest.mark.parametrize(("text", "pinyin"), [*TRADITIONAL.items(), *NEUTRAL.items(), *LETTERS.items()])
def test_traditional_characters_neutral_tones_and_letters(text: str, pinyin: str) -> None:
    frontend = get_frontend("mandarin-pinyin")
    assert frontend.phoneticize(frontend.normalize(text)) == pinyin


def test_a_range_of_times_is_read_as_one() -> None:
    assert normalize_chinese("9:00-10:30开门") == "九点整至十点三十分开门"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("24/7营业", "二十四七营业"),
        ("24/7/365", "二十四七三六五"),
        ("7*24小时", "七乘二十四小时"),
        ("3*4=12", "三乘以四等于十二"),
    ],
)
def test_hours_around_the_clock_and_products_are_read(written: str, said: str) -> None:
    assert normalize_chinese(written) == said


@pytest.mark.parametrize("text", READINGS)
def test_characters_are_read_as_the_dictionary_and_the_rules_of_sandhi_say(pinyin, text: str) -> None:
    assert pinyin.phoneticize(pinyin.normalize(text)) == READINGS[text]


def test_the_three_styles_of_one_text(phones, pinyin) -> None:
    text = "中国人，你好！"
    assert phones.phoneticize(text) == "zh ong1 g uo2 r en2 , n i2 h ao3 !"
    assert pinyin.phoneticize(text) == "zhong1 guo2 ren2 , ni2 hao3 !"
    style = get_frontend("mandarin-ipa")
    assert style.phoneticize(text) == "ʈʂʊŋ→kwo↗ ɻən↗, ni↗xaʊ↓!" or style.phoneticize(text) == "ʈʂʊŋ→kwo↗ɻən↗, ni↗xaʊ↓!"
    for frontend in (phones, pinyin, style):
        made = frontend.phoneticize(text)
        assert frontend.decode(frontend.numericalize(made)) == made


@pytest.mark.parametrize("word", ["baaa1", "zhr1", "ueng1", "xinnn4"])
def test_what_only_looks_like_pinyin_is_refused(word: str) -> None:
    assert not is_pinyin(word)
    with pytest.raises(TextError, match=f"expected pinyin .* found '{word}'"):
        ipa(word)
    with pytest.raises(TextError, match=f"pinyin with tones .* found '{word}'"):
        get_frontend("mandarin-ipa").phoneticize(f"ni3 hao3 {word}")


def test_a_text_that_is_pinyin_keeps_its_tones(phones) -> None:
    text = "ni3 hao3 #1 lü4 se4 sp nv3 er2 wanr2"
    assert phones.phoneticize(phones.normalize(text)) == "n i3 h ao3 l v4 s e4 sp n v3 er2 w uan2 rr"


def test_prosody_marks_of_baker_are_kept_where_the_table_has_them_and_change_no_tone(phones) -> None:
    text = "卡尔普#2陪外孙#1玩滑梯#4。"
    plain = "k a3 er2 p u3 p ei2 w uai4 s uen1 w uan2 h ua2 t i1 ."
    assert phones.phoneticize(phones.normalize(text)).replace("k a2", "k a3") == plain
    kept = get_frontend("mandarin", symbols="mandarin-prosody")
    made = kept.phoneticize(kept.normalize(text))
    assert [symbol for symbol in made.split() if symbol[0] == "#"] == ["#2", "#1", "#4"]
    assert [symbol for symbol in made.split() if symbol[0] != "#"] == phones.phoneticize(phones.normalize(text)).split()


def test_the_table_of_paddlespeech_has_its_own_spelling_and_full_width_marks() -> None:
    frontend = get_frontend("mandarin", symbols="paddlespeech-zh")
    # By PaddleSpeech's generate_lexicon: no initials y and w, erhua in the final, io and ueng.
    expected = {
        "ka2 er2 pu3 #2 wai4 sun1 wan2": "k a2 er2 p u3 uai4 s uen1 uan2",
        "yuan2 yi1 you3 wu3": "van2 i1 iou3 u3",
        "dianr3 huor3 wanr1": "d ianr3 h uor3 uanr1",
        "yo1, weng1.": "io1 ， ueng1 。",
    }
    assert {text: frontend.phoneticize(text) for text in expected} == expected
    # The id of the comma in the published models is 263.
    assert frontend.numericalize("，").tolist() == [263]


def test_the_table_of_fastspeech2_has_the_phones_with_its_prefix() -> None:
    frontend = get_frontend("mandarin", symbols="fastspeech2")
    made = frontend.phoneticize("你好……世界")
    assert made == "@n @i2 @h @ao3 . . @sh @iii4 @j @ie4"
    assert frontend.numericalize(made).size == 10


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("2024年5月3日", "二零二四年五月三日"),
        ("2024-05-03", "二零二四年五月三日"),
        ("1998-2003年", "一九九八至二零零三年"),
        ("12:30，2:05，10:00", "十二点三十分,两点零五分,十点整"),
        ("３．５%和50‰", "百分之三点五和千分之五十"),
        ("¥1,234.5，$3.5万", "一千二百三十四点五元,三点五万美元"),
        ("-3℃~5℃", "负三摄氏度至五摄氏度"),
        ("5kg，100km/h，120m²", "五千克,一百公里每小时,一百二十平方米"),
        ("1/2", "二分之一"),
        ("客服24/7在线", "客服二十四七在线"),
        ("124/7", "七分之一百二十四"),
        ("2个人，2月2日，第2名", "两个人,二月二日,第二名"),
        ("电话13812345678", "电话幺三八幺二三四五六七八"),
        ("3+5=8", "三加五等于八"),
        ("20~30岁", "二十至三十岁"),
    ],
)
def test_numbers_dates_money_and_units_become_characters(written: str, spoken: str) -> None:
    assert normalize_chinese(written) == spoken


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("0", "零"),
        ("10", "十"),
        ("110", "一百一十"),
        ("102", "一百零二"),
        ("1001", "一千零一"),
        ("10300", "一万零三百"),
        ("110000", "十一万"),
        ("1010000", "一百零一万"),
        ("100000001", "一亿零一"),
        ("20002000", "二千万二千"),
    ],
)
def test_whole_numbers_have_a_zero_for_each_gap(number: str, words: str) -> None:
    assert cardinal(number) == words


def test_erhua_and_glides_are_spelled_as_in_aishell3() -> None:
    cases = {
        "zhong1": "zh ong1",
        "zhi1": "zh iii1",
        "zi5": "z ii5",
        "yuan2": "y van2",
        "you3": "y iou3",
        "wen4": "w uen4",
        "jiu3": "j iou3",
        "ju1": "j v1",
        "lüe4": "l ve4",
        "er4": "er4",
        "dianr3": "d ian3 rr",
        "a1": "a1",
    }
    assert {syllable: " ".join(initial_and_final(syllable)) for syllable in cases} == cases
    with pytest.raises(TextError, match="expected pinyin with a tone from 1 to 5, such as 'zhong1', found 'hello'"):
        initial_and_final("hello")


def test_every_syllable_of_the_table_has_phones_and_ipa() -> None:
    phones = set(get_table("mandarin").symbols)
    characters = set(get_table("espeak").symbols)
    syllables = [
        symbol for symbol in get_table("mandarin-pinyin").symbols if symbol[-1] in "12345" and symbol[0] != "#"
    ]
    assert len(syllables) == 4135
    for syllable in syllables:
        assert phones.issuperset(initial_and_final(syllable)), syllable
        assert characters.issuperset(ipa(syllable)), syllable


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")
def test_phones_of_real_pinyin_are_those_of_the_corpus_but_for_pauses(phones) -> None:
    for line in (DATA / "mandarin-mini" / "list.txt").read_text(encoding="utf-8").splitlines():
        _, pinyin, given, _ = line.split("|")
        assert phones.phoneticize(phones.normalize(pinyin)).split() == [
            phone for phone in given.split() if phone != "sp"
        ]
    lexicon: dict[str, list[str]] = {}
    for line in (DATA / "pinyin-lexicon.txt").read_text(encoding="utf-8").splitlines():
        syllable, *expected = line.split()
        # As FastSpeech2 reads it, the first of two lines counts: er1 is er1, not e1 rr.
        lexicon.setdefault(syllable, expected)
    assert {syllable: initial_and_final(syllable) for syllable in lexicon} == lexicon


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is empty"),
        ("，。！", "nothing to speak"),
        ("wo3 ai apple", "expected pinyin with tones of 1 to 5, found 'ai'; write it in characters"),
        ("我爱apple6", "expected pinyin with tones of 1 to 5, found 'apple6'"),
        ("５个", "a digit"),
        ("你好☃", "not in the vocabulary: '☃'"),
        ("\0", "nothing to speak|not in the vocabulary"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_that_text(phones, text: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        phones.numericalize(phones.phoneticize(text))


def test_another_language_is_refused_and_a_missing_package_says_what_to_install(monkeypatch) -> None:
    with pytest.raises(
        ConfigurationError, match="supports Mandarin only, found 'yue', which is Cantonese: the frontend espeak"
    ):
        get_frontend("mandarin", language="yue")
    with pytest.raises(TextError, match="supports Mandarin only, the text is in 'en-us'"):
        get_frontend("mandarin").phoneticize("你好", "en-us")
    monkeypatch.setitem(sys.modules, "pypinyin", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'tts-prep\[zh\]'"):
        get_frontend("mandarin")


# Letters as LETTERS; other words as espeak-ng says them in English (pˈaɪθɑːn), each sound in the nearest syllable.
LATIN = {
    "我用Python写代码": "wo3 yong4 pai4 sen1 xie3 dai4 ma3",
    "苹果apple": "ping2 guo3 a4 pu1 er5",
    "用iPhone": "yong4 ai4 fou4 en5",
    "ChatGPT的": "cha4 te5 ji4 pi4 ti4 de5",
    "html页": "ei2 chi1 ti4 ai2 mu5 ai2 lu5 ye4",
    "x轴": "ai2 ke5 si5 zhou2",
    "I don't知道": "ai4 dou4 en5 te5 zhi1 dao4",
    "PM2.5超标": "pi4 ai2 mu5 er4 dian2 wu3 chao1 biao1",
    "C++": "xi1 jia1 jia1",
    "住302室": "zhu4 san1 ling2 er4 shi4",
    "长100m": "chang2 yi4 bai2 mi3",
    "打110报警": "da3 yao1 yao1 ling2 bao4 jing3",
    "手机138 1234 5678": "shou3 ji1 yao1 san1 ba1 yao1 er4 san1 si4 wu3 liu4 qi1 ba1",
    "+86 13812345678": "jia1 ba1 liu4 yao1 san1 ba1 yao1 er4 san1 si4 wu3 liu4 qi1 ba1",
}


@pytest.mark.parametrize(("text", "pinyin"), LATIN.items())
def test_latin_words_and_numbers_of_telephones_and_rooms_are_spoken(text: str, pinyin: str) -> None:
    frontend = get_frontend("mandarin-pinyin")
    assert frontend.phoneticize(frontend.normalize(text)) == pinyin


def test_no_row_fails_for_latin_words_and_each_english_one_is_counted() -> None:
    written = """
    Python app iPhone ChatGPT WiFi html McDonald's Google email download Twitter YouTube TikTok JavaScript Facebook
    rhythm strengths Obama Tom judge measure thanks world three singing beautiful café bye VIP Excel OK CEO NBA t MV
    Photoshop DNA KTV cosplay Android zoom queue yogurt Washington Schwarzenegger naïve Xbox MacBook GitHub PPT vlog
    """
    words = written.split()
    frames = ["我用{}写代码", "这个{}很好用。", "他说：“{}！”", "{}是什么？", "把{} {}发给我", "《{}》", "你的{}呢"]
    texts = [frame.format(a, b) for frame in frames for a in words for b in words[:4]][:1000]
    assert len(texts) == 1000
    frontends = [
        get_frontend("mandarin"),
        get_frontend("mandarin", symbols="fastspeech2"),
        get_frontend("mandarin-ipa"),
    ]
    frontends += [get_frontend("mandarin", symbols="paddlespeech-zh"), get_frontend("mandarin-pinyin")]
    for number, text in enumerate(texts):
        frontend = frontends[number % len(frontends)]
        assert len(frontend.numericalize(frontend.phoneticize(frontend.normalize(text))))
    text = "我用Python和CEO写"
    frontend = frontends[0]
    assert [*frontend.remarks(text, frontend.phoneticize(text))] == [("parts_spoken_in_another_language", "en: Python")]


@pytest.mark.parametrize("style", ["mandarin", "mandarin-pinyin", "mandarin-ipa"])
def test_a_word_of_the_dictionary_is_found_between_characters(style: str) -> None:
    frontend = get_frontend(style)
    phones = frontend.phoneticize("派森")
    said, remarks = Words(frontend, [("chatgpt", phones, None)]).phoneticize("我用ChatGPT写代码", "zh")
    assert remarks == ()
    assert said.replace(" ", "") == frontend.phoneticize("我用派森写代码").replace(" ", "")


def test_cantonese_is_espeaks() -> None:
    assert [default_frontend(code) for code in ("zh-HK", "zh-MO", "zh-yue", "yue", "zh-TW")] == ["espeak"] * 4 + [
        "mandarin"
    ]
    read = [get_frontend("espeak", language=code).phoneticize("香港") for code in ("zh-HK", "zh-MO", "zh-yue", "yue")]
    assert len(set(read)) == 1
    with pytest.raises(TextError, match="'zh-HK', which is Cantonese: the frontend espeak reads it"):
        get_frontend("mandarin").phoneticize("香港", "zh-HK")


def test_results_do_not_depend_on_what_came_before(phones) -> None:
    alone = phones.phoneticize("重庆的银行行长")
    for text in ("行长得很好", "长大了重要", "一一一", "不不不", "#1#2"):
        try:
            phones.phoneticize(text)
        except TextError:
            continue
    assert phones.phoneticize("重庆的银行行长") == alone
    assert phones.software().keys() == {"opencc", "pypinyin", "rjieba", "phonemizer", "espeak-ng"}
