"""Mutate what a run is given besides lists and recordings: ``python tests/fuzz_settings.py SEED COUNT [NAME …]``.

Alignments (TextGrid, CTM, durations), settings (TOML, YAML, vocoders, voices), tables of symbols, columns to be added,
lhotse's supervisions with recordings, texts beside recordings, splits. See `fuzz_lists` for what is an error.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from corpora import speech_like, write_ljspeech
from fuzz_lists import ROWS, Use, fuzz, plan, reader_of, table, with_values
from fuzzing import mutated
from textgrids import long_form, short_form

from tts_prep.additions.column_table import read_column_table
from tts_prep.corpora.manifests.reader import read_manifest
from tts_prep.errors import TtsPrepError
from tts_prep.imports.alignment import ROUNDINGS, AlignmentConfig, AlignmentFolder
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.configuration.settings import configure
from tts_prep.preprocess.corpora.corpus import read_corpus
from tts_prep.preprocess.plan.shard_settings import extractor_of
from tts_prep.preprocess.text.symbols import choose_symbols
from tts_prep.preprocess.text.vocab import Vocab
from tts_prep.recipes.speechain.configuration import read_config

PHONES = (("", 0.0, 0.1), ("HH", 0.1, 0.25), ("AH0", 0.25, 0.3), ("sp", 0.3, 0.5))
IDS = [row["id"] for row in ROWS]
WORDS = (
    *("-1", "0", "1e308", "-1e308", "nan", "inf", "-inf", "9" * 5000, "1:30:00", "0x" + "f" * 4000, "1_000", "é", "٣"),
    *('"', "'", "[", "]", "{", "}", "[" * 3000, "{a:" * 3000, '"' * 3, "&a", "*a", "!!python/object:os.system", "!ref"),
    *(
        "<a>",
        "<train>",
        "none",
        "true",
        "1e400",
        "2020-01-01",
        "\\ud800",
        "\u2028",
        "\x1b[2J",
        "x" * 5000,
        "\ufeff",
        "#",
    ),
)


def read_alignment(path: Path) -> int:
    """Read the alignment of an utterance, and use it as a run does."""
    of_folder = path.suffix != ".ctm"
    folder = AlignmentFolder.open(path.parent if of_folder else path)
    folder.sha256("a", "anna")
    alignment = folder.read("a", "anna", None)
    for rounding in ROUNDINGS:
        config = AlignmentConfig(rounding=rounding, phonemes="alignment")
        for use in (
            lambda config=config: alignment.durations(config, 22050, 256, 44),
            lambda config=config: alignment.symbols(config),
            lambda config=config: alignment.span(config, 22050, 256, 11025),
        ):
            # An utterance with another alignment is a failed row.
            with contextlib.suppress(TtsPrepError):
                use()
    return 1


def read_settings(path: Path) -> int:
    return mel_of(configure("ljspeech", file=path).mel)


def read_vocoder(path: Path) -> int:
    return mel_of(configure("ljspeech", vocoder=path).mel)


def mel_of(mel: MelConfig) -> int:
    extractor_of(mel).silence()
    return 1


def read_table_of_symbols(path: Path) -> int:
    symbols = choose_symbols(str(path))
    assert not isinstance(symbols, str)
    vocab = Vocab.from_table(symbols)
    vocab.encode(vocab.symbols[:1])
    # As they are stored.
    json.dumps(Configuration(text=TextConfig(symbols=symbols)).as_dict(), ensure_ascii=False).encode()
    return 1


def read_columns(path: Path) -> int:
    found = read_column_table(path, IDS)
    assert all(values.shape == (len(IDS),) for values in found.values.values())
    json.dumps({name: list(texts) for name, texts in found.categories.items()}, ensure_ascii=False).encode()
    return 1


def read_supervisions(path: Path) -> int:
    return plan(read_manifest(path.parent, ["recordings.jsonl", "supervisions.jsonl"]), path.parent)


def read_speechain(path: Path) -> int:
    return len(read_config(path))


def read_splits(path: Path) -> int:
    items, root = read_corpus("ljspeech", path.parent, splits={"valid": path})
    return plan(items, root)


def lhotse_files() -> dict[str, bytes]:
    """Return the recordings and the supervisions of lhotse."""
    recordings: list[dict[str, Any]] = [
        {
            "id": f"r{i}",
            "sources": [{"type": "file", "channels": [0, 1][: i + 1], "source": f"{i}.wav"}],
            "sampling_rate": 22050,
            "num_samples": 44100,
            "duration": 2.0,
            "channel_ids": [0],
        }
        for i in range(2)
    ]
    supervisions: list[dict[str, Any]] = [
        {
            "id": f"s{i}",
            "recording_id": f"r{i % 2}",
            "start": 0.5 * i,
            "duration": 0.5,
            "channel": i % 2,
            "text": f"Text {i}.",
            "speaker": "anna",
            "custom": {"mos": 3.5 if i else None},
        }
        for i in range(4)
    ]
    values = {"recordings": recordings, "supervisions": supervisions}
    return {name: b"".join(json.dumps(row).encode() + b"\n" for row in rows) for name, rows in values.items()}


def alignments(folder: Path) -> list[tuple[Path, bytes, Use]]:
    tiers = {"words": [(0.0, 0.5, "ha")], "phones": [(start, end, label) for label, start, end in PHONES]}
    npy = io.BytesIO()
    np.save(npy, np.array([10, 20, 14]))
    texts = {
        "long/a.TextGrid": long_form(tiers, 0.5).encode(),
        "short/a.TextGrid": short_form(tiers, 0.5).encode(),
        "wide/anna/a.TextGrid": long_form(tiers, 0.5).encode("utf-16"),
        "baker/a.interval": long_form({"a": tiers["phones"]}, 0.5).encode(),
        "all.ctm": "".join(f"a 1 {start} {end - start:g} {label or 'sil'}\n" for label, start, end in PHONES).encode(),
        "numpy/a.npy": npy.getvalue(),
        "frames/a.dur": b"[10, 20, 14]\n",
        "seconds/a.txt": b"0.1 0.15 0.05 0.2\n",
    }
    return [(folder / "alignments" / name, data, read_alignment) for name, data in texts.items()]


def settings(folder: Path) -> list[tuple[Path, bytes, Use]]:
    toml = (
        'preset = "hifigan"\n[audio]\nn_mels = 40\nfmin = 20.5\nfmax = 7000.0\npeak = "none"\n[audio.compression]\n'
        'base = "10"\n[cleaning]\ntrim_db = 40.0\n[text]\nfrontend = "characters"\nsymbols = "auto"\nunknown = "drop"\n'
        '[store]\nshard_utterances = 10\nmel_dtype = "float16"\n'
    )
    vocoder = {"sampling_rate": 22050, "n_fft": 1024, "win_size": 1024, "hop_size": 256, "num_mels": 80, "fmin": 0}
    vocoder |= {"upsample_rates": [8], "resblock_kernel_sizes": [3]}
    yaml = (
        "root: &a data\nparts: [one, two]\ntrain:\n  type: block\n  conf:\n    dataset_type: text\n    dataset_conf:\n"
        "      main_data: {feat: !ref <root>/feat, text: !ref <parts[0]>}\n    batch_len: 900\n    shuffle: true\n"
        "valid:\n  type: abs\n  conf: {batch_size: 4, seed: 1:30, data: *a}\n"
    )
    return [
        (folder / "settings.toml", toml.encode(), read_settings),
        (
            folder / "vocoder.json",
            json.dumps({**vocoder, "fmax": None}).encode(),
            read_vocoder,
        ),
        (folder / "speechain.yaml", yaml.encode(), read_speechain),
    ]


def symbols(folder: Path) -> list[tuple[Path, bytes, Use]]:
    names = ["<pad>", "<s>", " ", "a", "é", "ː", "1"]
    piper = {"audio": {"sample_rate": 22050}, "phoneme_id_map": {symbol: [i] for i, symbol in enumerate(names)}}
    kokoro = {"istftnet": {}, "vocab": {symbol: 2 * i for i, symbol in enumerate(names)}}
    files = {
        "symbols.txt": "\n".join(names).encode(),
        "tokens.txt": "".join(f"{symbol} {i}\n" for i, symbol in enumerate(names)).encode(),
        "phone_id_map.txt": "".join(f"{symbol}\t{i}\n" for i, symbol in enumerate(names)).encode(),
        "piper.json": json.dumps(piper).encode(),
        "config.json": json.dumps(kokoro).encode(),
    }
    return [(folder / "symbols" / name, data, read_table_of_symbols) for name, data in files.items()]


def columns(folder: Path) -> list[tuple[Path, bytes, Use]]:
    rows = [
        {"id": uid, "wer": i / 7 if i else None, "grade": "ab"[i % 2], "note": f"é, {i}"} for i, uid in enumerate(IDS)
    ]
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    fields = [list(rows[0]), *([str(value or "") for value in row.values()] for row in rows)]
    files = {"c.jsonl": lines, "c.jsonl.gz": gzip.compress(lines)}
    for suffix, separator in {"csv": ",", "tsv": "\t", "txt": "|"}.items():
        quoted = ('"{}"' if separator == "," else "{}").format
        files[f"c.{suffix}"] = "".join(separator.join(map(quoted, row)) + "\n" for row in fields).encode()
    files |= {"c.parquet": table("paths"), "c.arrow": table("file")}
    return [(folder / "columns" / name, data, read_columns) for name, data in files.items()]


def files_of(folder: Path) -> list[tuple[Path, bytes, Use]]:
    found = [*alignments(folder), *settings(folder), *symbols(folder), *columns(folder)]
    found += [
        (folder / "lhotse" / f"{name}.jsonl", data, read_supervisions) for name, data in lhotse_files().items()
    ] * 2
    (folder / "beside").mkdir()
    for name in ("a", "b", "c"):
        soundfile.write(folder / f"beside/{name}.wav", speech_like(0.1, 1), 22050)
    texts = {
        "a.lab": b"A text.\n",
        "b.txt": b"b\tAnother text.\n0.0 1.0\n",
        "c.json": b'{"text": "One.", "speaker": 1}',
    }
    found += [(folder / "beside" / name, data, reader_of("folder")) for name, data in texts.items()]
    write_ljspeech(folder / "split")
    found.append((folder / "split/valid.txt", b"S-0001\nS-0003|text\n", read_splits))
    for path, _, _ in found:
        path.parent.mkdir(parents=True, exist_ok=True)
    return [row for row in found if not NAMES or row[0].name in NAMES]


def with_words(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a text with other words, and with lines moved, repeated or left out."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    lines = data.decode(encoding, errors="replace").split("\n")
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(len(lines)))
        kind = int(rng.integers(8))
        words = lines[place].split(" ")
        word = int(rng.integers(len(words)))
        other = WORDS[int(rng.integers(len(WORDS)))]
        if kind < 4:
            words[word] = other
            lines[place] = " ".join(words)
        elif kind == 4:
            lines[place] = "".join(other if c.isdigit() and rng.random() < 0.3 else c for c in lines[place])[:100_000]
        elif kind == 5:
            lines[place:place] = [lines[int(rng.integers(len(lines)))]] * int(rng.choice([1, 2, 3000]))
        elif kind == 6 and len(lines) > 1:
            del lines[place]
        else:
            lines[place] += other
    return "\n".join(lines).encode(encoding, errors="surrogatepass")


def changed(path: Path, data: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """Return a file with changes that its format understands, or with any."""
    if path.suffix in (".jsonl", ".json") and rng.random() < 0.6:
        return with_values(data, rng)
    if path.suffix == ".gz" and rng.random() < 0.7:
        return gzip.compress(mutated(gzip.decompress(data), others, rng), 1)
    if path.suffix not in (".npy", ".parquet", ".arrow", ".gz") and rng.random() < 0.7:
        return with_words(data, rng)
    return mutated(data, others, rng)


NAMES = sys.argv[3:] if __name__ == "__main__" else []
if __name__ == "__main__":
    print(json.dumps(fuzz(int(sys.argv[1]), int(sys.argv[2]), files_of, changed)))
