"""Corpora in the layouts of their releases, for tests and for `conformance/corpora.py`."""

from __future__ import annotations

import json
from pathlib import Path

from corpora import record, write_text


def write_mls(root: Path, splits: tuple[str, ...] = ("dev",), second: str = ".opus") -> None:
    """Write https://www.openslr.org/94: README of mls_german.tar.gz."""
    for split in splits:
        speaker, book = ("1756", "2426") if split == "dev" else ("1757", split)
        chapter, name = root / f"mls_german/{split}/audio/{speaker}/{book}", f"{speaker}_{book}_00000"
        record(chapter / f"{name}0.flac", sample_rate=16000)
        record(chapter / f"{name}1{second}", sample_rate=16000)
        lines = f"{name}0\tes war einmal\n{name}1\tein alter mann\n"
        write_text(root / f"mls_german/{split}/transcripts.txt", lines)
    write_text(root / "mls_german/metainfo.txt", " SPEAKER | GENDER \n 1756 | M \n 1757 | F \n")


def write_fleurs(root: Path) -> None:
    """Write https://huggingface.co/datasets/google/fleurs: data/de_de/dev.tsv and audio/dev.tar.gz."""
    for name in ("10000", "10001"):
        record(root / f"de_de/audio/dev/{name}.wav", sample_rate=16000)
    rows = (
        ("1520", "10000.wav", "Am 5. Mai.", "am 5. mai", "a m | 5 . | m a i |", "4800", "FEMALE"),
        ("1520", "10001.wav", "Am 5. Mai.", "am 5. mai", "a m | 5 . | m a i |", "4800", "MALE"),
    )
    write_text(root / "de_de/dev.tsv", "".join("\t".join(row) + "\n" for row in rows))
    write_text(root / "de_de/train.tsv", "\t".join(("1", "lost.wav", *rows[0][2:])) + "\n")


def write_hifitts(root: Path) -> None:
    """Write https://www.openslr.org/109: README of hi_fi_tts_v0.tar.gz."""
    for speaker, quality, book in (("92", "clean", "100_a"), ("6097", "other", "7_b")):
        audio = f"audio/{speaker}_{quality}/{book}/{book}_0001.flac"
        record(root / audio, sample_rate=44100)
        row = {
            "audio_filepath": audio,
            "text": "mister five",
            "duration": 0.3,
            "text_no_preprocessing": "Mr. 5.",
            "text_normalized": "Mister five.",
        }
        write_text(root / f"{speaker}_manifest_{quality}_dev.json", json.dumps(row) + "\n")


def write_gigaspeech(root: Path) -> None:
    """Write https://github.com/SpeechColab/GigaSpeech#data-format-guidelines."""
    record(root / "audio/podcast/P0000/POD0.opus", 3.0, sample_rate=16000)
    times = ((0.0, 1.0), (1.0, 2.0), (2.0, 3.0))
    texts = ("HELLO <COMMA> YOU <QUESTIONMARK>", "<MUSIC>", "NOT IN THE SMALL ONE <PERIOD>")
    segments = [
        {
            "sid": f"POD0_S{i}",
            "speaker": "N/A",
            "begin_time": begin,
            "end_time": end,
            "subsets": ["{XL}", "{XS}"][: 2 - i // 2],
            "text_tn": text,
        }
        for i, ((begin, end), text) in enumerate(zip(times, texts, strict=True))
    ]
    audio = {
        "title": "N/A",
        "path": "audio/podcast/P0000/POD0.opus",
        "aid": "POD0",
        "source": "podcast",
        "category": "News",
    }
    document = {"dataset": "GigaSpeech", "language": "EN", "audios": [{**audio, "segments": segments}]}
    write_text(root / "GigaSpeech.json", json.dumps(document, indent=2))


def write_esd(root: Path) -> None:
    """Write https://github.com/HLTSingapore/Emotional-Speech-Data."""
    record(root / "0001/Angry/evaluation/0001_000351.wav", sample_rate=16000)
    record(root / "0011/Neutral/0011_000001.wav", sample_rate=16000)
    write_text(root / "0001/0001.txt", "0001_000351\t打远一看。\t生气\n")
    write_text(root / "0011/0011.txt", "0011_000001\tThe nine the eggs, I keep.\tNeutral\n")


def write_openslr(root: Path) -> None:
    """Write https://www.openslr.org/41 has wavs/, https://www.openslr.org/61 has recordings beside the list."""
    record(root / "jv_id_female/wavs/jvf_00027_00000000001.wav")
    write_text(root / "jv_id_female/line_index.tsv", "jvf_00027_00000000001\tSugeng enjing\n")
    record(root / "es_ar_male/arm_00295_00000000002.wav")
    write_text(root / "line_index_male.tsv", "arm_00295_00000000002\t Buenos días.\n")


def write_jvs(root: Path) -> None:
    """Write https://sites.google.com/site/shinnosuketakamichi/research-topics/jvs_corpus."""
    for speaker in ("jvs001", "jvs002"):
        for style in ("nonpara30", "parallel100"):
            name = f"{'BASIC5000' if style == 'nonpara30' else 'VOICEACTRESS100'}_001"
            record(root / f"{speaker}/{style}/wav24kHz16bit/{name}.wav", sample_rate=24000)
            write_text(root / f"{speaker}/{style}/lab/mon/{name}.lab", "0.0 0.1 sil\n0.1 0.3 a\n")
            write_text(root / f"{speaker}/{style}/transcripts_utf8.txt", f"{name}:また、東寺のように。\n")


def write_mailabs(root: Path) -> None:
    """Write https://github.com/i-celeste-aurora/m-ailabs-dataset: two speakers, and a book of several."""
    for path, name in (
        ("female/ramona/kleine_welt", "kleine_welt_01"),
        ("male/karlsson/grune_haus", "grune_haus_01"),
        ("mix/kammer", "kammer_01"),
    ):
        folder = root / "de_DE/by_book" / path
        record(folder / f"wavs/{name}.wav", sample_rate=16000)
        write_text(folder / "metadata.csv", f"{name}|Am 2. Mai.|Am zweiten Mai.\n")


def write_wenetspeech4tts(root: Path) -> None:
    """Write https://huggingface.co/datasets/Wenetspeech4TTS/WenetSpeech4TTS."""
    name = "X0000000000_1_S00110-S00112"
    part = "Premium/WenetSpeech4TTS_Premium_0"
    record(root / part / f"wavs/{name}.wav", sample_rate=16000)
    write_text(root / part / f"txts/{name}.txt", f"{name}\t今天天气好。\n0.1 0.2\n")
    write_text(root / "filelists/Basic_filelist.lst", f"{name} ../{part}/wavs/{name}.wav\n")
    for subset in ("Basic", "Premium", "Standard"):
        write_text(root / f"DNSMOS_P808Scores/{subset}_DNSMOS.lst", f"{name} 3.9\n")


def write_librispeech(root: Path) -> None:
    """Write https://www.openslr.org/12."""
    chapter = root / "dev-clean/1272/128104"
    lines = ""
    for number in range(2):
        record(chapter / f"1272-128104-000{number}.flac", sample_rate=16000)
        lines += f"1272-128104-000{number} MISTER QUILTER IS THE APOSTLE\n"
    write_text(chapter / "1272-128104.trans.txt", lines)


def write_arctic(root: Path) -> None:
    """Write http://festvox.org/cmu_arctic."""
    for speaker in ("bdl", "slt"):
        record(root / f"cmu_us_{speaker}_arctic/wav/arctic_a0001.wav", sample_rate=16000)
        line = '( arctic_a0001 "Author of the danger trail, Philip Steels, etc." )\n'
        write_text(root / f"cmu_us_{speaker}_arctic/etc/txt.done.data", line)


def write_fleurs_of_lhotse(root: Path) -> None:
    """Write what lhotse downloads of FLEURS: lists in metadata/."""
    row = ("1520", "10000.wav", "Am 5. Mai.", "am 5. mai", "a m | 5 . | m a i |", "4800", "FEMALE")
    for split in ("train", "dev", "test"):
        record(root / f"de_de/{split}/{split}0.wav", sample_rate=16000)
        write_text(root / f"metadata/de_de/{split}.tsv", "\t".join((row[0], f"{split}0.wav", *row[2:])) + "\n")
