"""Invalid inputs of all commands and public functions. docs/errors.md documents the results.

    python tests/bad_inputs.py > docs/errors.md

A case is a line of `cases`; another command or function adds its own there.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import soundfile
from advice_scan import advices
from corpora import TEXTS, speech_like, write_ljspeech
from stores import make_rows, write_store

from tts_prep.cli import output
from tts_prep.cli.main import main
from tts_prep.errors import TtsPrepError
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.configuration.settings import configure
from tts_prep.preprocess.corpora.corpus import read_corpus
from tts_prep.preprocess.run import prepare


@dataclass(frozen=True)
class World:
    """The environment of a case: a corpus and a store that it may change."""

    root: Path

    @property
    def corpus(self) -> Path:
        return self.root / "CORPUS"

    @property
    def store(self) -> Path:
        return self.root / "STORE"

    def write(self, name: str, data: bytes | str) -> None:
        (self.root / name).write_bytes(data.encode() if isinstance(data, str) else data)

    def row(self, row: bytes | str) -> None:
        with (self.corpus / "metadata.csv").open("ab") as file:
            file.write((row.encode() if isinstance(row, str) else row) + b"\n")

    def manifest(self, change: Callable[[dict[str, object]], object]) -> None:
        value = json.loads((self.store / "manifest.json").read_text())
        change(value)
        self.write("STORE/manifest.json", json.dumps(value))


@dataclass(frozen=True)
class Case:
    """An invalid input.

    Attributes:
        given: what is bad.
        use: a command, its words separated by spaces, or a function of the library.
        breaking: what makes it so.
    """

    given: str
    use: str | Callable[[World], object]
    breaking: Callable[[World], object] = field(default=lambda _: None)

    @property
    def name(self) -> str:
        return f"`tts-prep {self.use}`" if isinstance(self.use, str) else "library"


MAKE = "ljspeech CORPUS NEW --jobs 1"
ROW = f"{MAKE} --max-failures 0"


def cases() -> Iterator[Case]:
    yield from _usage()
    yield from _options()
    yield from _corpora()
    yield from _rows()
    yield from _settings()
    yield from _stores()
    yield from _repairs()
    yield from _additions()
    yield from _views()
    yield from _reviews()
    yield from _lists()
    yield from _library()


def _usage() -> Iterator[Case]:
    for name in ("ljspeech", "info", "verify", "reindex", "demo", "add", "check", "report", "plot", "export", "finish"):
        yield Case("no arguments", name)
        yield Case("an unknown option", f"{name} x y --colour red" if name == "ljspeech" else f"{name} x --colour red")
    yield Case("no such command", "lsjpeech x")
    yield Case("one argument too few", "ljspeech CORPUS")
    yield Case("one argument too many", "info STORE STORE")
    yield Case("a preset that does not exist", "presets loud")


def _options() -> Iterator[Case]:
    for option, *values in (
        ("--jobs", "0", "-1", "two", "1.5"),
        ("--preset", "x"),
        ("--sample-rate", "0", "high"),
        ("--n-fft", "0", "x"),
        ("--hop-length", "0"),
        ("--win-length", "99999"),
        ("--n-mels", "0"),
        ("--fmin", "-1", "9000", "x", "nan"),
        ("--fmax", "0", "99999", "inf"),
        ("--channel", "left"),
        ("--trim-db", "0", "-3", "nan", "40 --trim-vad 0.5"),
        ("--trim-vad", "2"),
        ("--trim-margin", "-1", "0.2"),
        ("--highpass", "0", "nan"),
        ("--loudness", "5", "-23"),
        ("--limiter", "3"),
        ("--peak", "0", "loud"),
        ("--frontend", "x", "espeak,de"),
        ("--language", "xx", "german"),
        ("--symbols", "styletts"),
        ("--dtype", "int8"),
        ("--waveform", "mp3"),
        ("--shard-utterances", "0"),
        ("--limit", "0"),
        ("--max-failures", "x", "-1", "101%", "1.5"),
    ):
        for value in values:
            yield Case(f"{option} {value}", f"{MAKE} {option} {value}")
    yield Case("ends of a table that has none", f"{MAKE} --ends")


def _corpora() -> Iterator[Case]:
    def metadata(data: bytes) -> Callable[[World], object]:
        return lambda world: world.write("CORPUS/metadata.csv", data)

    yield Case("no such corpus", "ljspeech NOWHERE NEW")
    yield Case("a corpus that is a file", "ljspeech CORPUS/metadata.csv NEW")
    yield Case("no metadata.csv", MAKE, lambda w: (w.corpus / "metadata.csv").unlink())
    yield Case("an empty metadata.csv", MAKE, metadata(b""))
    yield Case("nothing but a byte order mark", MAKE, metadata(b"\xef\xbb\xbf"))
    yield Case("nothing but empty lines", MAKE, metadata(b"\r\n\n  \n"))
    yield Case("UTF-16", ROW, metadata("S-0001|a|b\n".encode("utf-16")))
    yield Case("a metadata.csv that is a folder", MAKE, _folder_for_metadata)
    yield Case("no wavs", MAKE, lambda w: shutil.rmtree(w.corpus / "wavs"))
    yield Case("a store path that is a file", "ljspeech CORPUS CORPUS/metadata.csv")
    yield Case("a store path below a file", "ljspeech CORPUS CORPUS/metadata.csv/x")
    yield Case("a store path with other files", "ljspeech CORPUS CORPUS")
    yield Case("a store of other settings", "ljspeech CORPUS STORE")


def _folder_for_metadata(world: World) -> None:
    (world.corpus / "metadata.csv").unlink()
    (world.corpus / "metadata.csv").mkdir()


def _rows() -> Iterator[Case]:
    for given, row in (
        ("a row with one field", b"lonely"),
        ("a row with four fields", b"a|b|c|d"),
        ("a row without an id", b"|b|c"),
        ("a row in Latin-1", b"caf\xe9|x|y"),
        ("a repeated row", b"S-0003|a|b"),
        ("a row without a recording", b"nobody|a|Text."),
        ("an id with NUL", b"a\0b|a|Text."),
        ("an id with a newline character of Unicode", "a\u2028b|a|Text.".encode()),
        ("an id that is too long for a file", b"x" * 300 + b"|a|Text."),
        ("a text with NUL", b"new|a|Before\0after."),
        ("a text of nothing but punctuation", b"new|a|?!..."),
        ("an empty text", b"new| | "),
    ):
        yield Case(given, ROW, _bad_row(row))
    for given, data in (
        ("an empty recording", b""),
        ("a recording that is text", b"no audio at all"),
        ("a recording with nothing but a header", b"RIFF\x04\0\0\0WAVE"),
        ("a recording with half a header", b"RIFF\x04\0"),
        ("a file that is not an MP3", b"ID3\x04\0\0\0\0\0\0" + b"\xff\xfb" * 9),
    ):
        yield Case(given, ROW, _bad_recording(data))
    yield Case("a truncated recording", ROW, lambda w: _cut(w.corpus / "wavs" / "S-0001.wav"))
    for given, samples in (
        ("a recording without samples", np.zeros(0)),
        ("digital silence", np.zeros(9000)),
        ("a recording of 20 ms", speech_like(0.02, 1)),
        ("a recording with NaN", np.array([0.1, np.nan] * 5000)),
        ("a recording with infinity", np.array([0.1, np.inf] * 5000)),
    ):
        yield Case(given, ROW, _bad_samples(samples))
    yield Case("a recording at integer scale", ROW, _bad_samples(32768 * speech_like(0.3, 1)))
    yield Case("a recording that is a folder", ROW, _recording_is_folder)
    yield Case("a recording that is a named pipe", ROW, lambda w: _named_pipe(w.corpus / "wavs/S-0001.wav"))
    yield Case("two recordings in one file", ROW, lambda w: _twice(w.corpus / "wavs/S-0001.wav"))
    yield Case("a list that is a named pipe", MAKE, lambda w: _named_pipe(w.corpus / "metadata.csv"))


def _bad_row(row: bytes) -> Callable[[World], None]:
    def breaking(world: World) -> None:
        soundfile.write(world.corpus / "wavs" / "new.wav", speech_like(0.3, 1), 22050)
        world.row(row)

    return breaking


def _bad_recording(data: bytes) -> Callable[[World], None]:
    return lambda world: world.write("CORPUS/wavs/S-0001.wav", data)


def _bad_samples(samples: np.ndarray) -> Callable[[World], None]:
    return lambda world: soundfile.write(world.corpus / "wavs" / "S-0001.wav", samples, 22050, "FLOAT")


def _recording_is_folder(world: World) -> None:
    (world.corpus / "wavs" / "S-0001.wav").unlink()
    (world.corpus / "wavs" / "S-0001.wav").mkdir()


def _named_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _twice(path: Path) -> None:
    path.write_bytes(2 * path.read_bytes())


def _cut(path: Path) -> None:
    os.truncate(path, 5000)


def _settings() -> Iterator[Case]:
    for given, text in (
        ("a settings file that is not TOML", b"audio = = 1"),
        ("a settings file in Latin-1", b"# caf\xe9"),
        ("a table that does not exist", b"[adio]"),
        ("a setting that does not exist", b"[audio]\nn_mel = 1"),
        ("a setting of another type", b'[audio]\nn_mels = "80"'),
        ("a truth value for a number", b"[audio]\nn_mels = true"),
        ("a number for a table", b"audio = 1"),
        ("a setting that is out of range", b"[store]\nshard_utterances = 0"),
        ("a preset of another type", b"preset = 7"),
    ):
        yield Case(given, f"{MAKE} --config FILE", _file(text))
    for given, text in (
        ("a vocoder configuration that is not JSON", b"{"),
        ("a vocoder configuration that is a list", b"[]"),
        ("a vocoder configuration without its numbers", b'{"n_fft": 1024}'),
    ):
        yield Case(given, f"{MAKE} --vocoder-config FILE", _file(text))
    yield Case("no such settings file", f"{MAKE} --config NOWHERE")
    yield Case("no such vocoder configuration", f"{MAKE} --vocoder-config NOWHERE")
    yield Case("a preset and a vocoder", f"{MAKE} --preset hifigan --vocoder-config FILE", _file(b"{}"))


def _file(data: bytes) -> Callable[[World], None]:
    return lambda world: world.write("FILE", data)


def _stores() -> Iterator[Case]:
    for command in ("info STORE", "verify STORE", "reindex STORE"):
        yield Case("no such store", command, lambda w: shutil.rmtree(w.store))
        yield Case("a store that is a file", command, _store_is_file)
        yield Case("an empty folder", command, _empty_folder)
    for command in ("info STORE", "verify STORE"):
        yield Case("a store without a manifest", command, lambda w: (w.store / "manifest.json").unlink())
        yield Case("an empty manifest", command, lambda w: w.write("STORE/manifest.json", ""))
        yield Case("a manifest that is a list", command, lambda w: w.write("STORE/manifest.json", "[]"))
        yield Case("a manifest in Latin-1", command, lambda w: w.write("STORE/manifest.json", b'"\xe9"'))
        yield Case("a newer major version", command, lambda w: w.manifest(lambda m: m.update(version="2.0")))
        yield Case("an invalid version", command, lambda w: w.manifest(lambda m: m.update(version="new")))
        yield Case("a manifest without shards", command, lambda w: w.manifest(lambda m: m.pop("shards")))
        yield Case("a path out of the store", command, _path_out)
        yield Case("a manifest of the wrong types", command, lambda w: w.manifest(lambda m: m.update(totals=[])))
    yield Case("a shard is missing", "verify STORE", lambda w: (w.store / "shards/00001.h5").unlink())
    yield Case("a shard is missing", "reindex STORE", lambda w: (w.store / "shards/00001.h5").unlink())
    yield Case("a truncated shard", "reindex STORE", lambda w: _cut(w.store / "shards/00001.h5"))
    yield Case("an unfinished store", "reindex STORE", _begun)


def _store_is_file(world: World) -> None:
    shutil.rmtree(world.store)
    world.write("STORE", "x")


def _empty_folder(world: World) -> None:
    shutil.rmtree(world.store)
    world.store.mkdir()


def _path_out(world: World) -> None:
    world.manifest(lambda m: m["shards"][0].update(file="../../etc/passwd"))  # type: ignore[index]


def _begun(world: World) -> None:
    (world.store / "manifest.json").unlink()
    (world.store / "plan.json").unlink()
    (world.store / ".lock").touch()


def _repairs() -> Iterator[Case]:
    repair = "verify STORE --repair CORPUS"
    whole = f"{repair} --split valid=IDS --ood-texts TEXTS"
    yield Case("a store of another program", repair, lambda w: (w.store / "index.h5").unlink())
    for option in ("--root CORPUS", "--split valid=IDS", "--ood-texts TEXTS"):
        yield Case("nothing to repair with", f"verify STORE {option}")
    yield Case("a list of ids without a name", f"{repair} --split IDS")
    yield Case("no list of ids, where the store was made with one", repair, _broken_texts)
    yield Case("no such list of ids", f"{repair} --split valid=NOWHERE", _broken_texts)
    yield Case("another list of ids", f"{repair} --split valid=TEXTS", _broken_texts)
    yield Case("no file of texts, where ood.h5 is broken", f"{repair} --split valid=IDS", _broken_texts)
    yield Case("no such file of texts", f"{repair} --split valid=IDS --ood-texts NOWHERE", _broken_texts)
    yield Case("another file of texts", f"{repair} --split valid=IDS --ood-texts IDS", _broken_texts)
    yield Case("texts for a store that has none", f"{repair} --ood-texts TEXTS", _broken_shard)
    yield Case("a root for a reader without one", f"{whole} --root CORPUS", _broken_texts)
    yield Case("no such corpus", whole.replace("CORPUS", "NOWHERE"), _broken_texts)
    yield Case("a corpus that has changed", whole, _changed_corpus)


def _broken_texts(world: World) -> None:
    world.write("IDS", "S-0001\n")
    world.write("TEXTS", "A text.\n")
    _make(world, configure("ljspeech", settings={"text": {"ood_texts": "TEXTS"}}, splits={"valid": Path("IDS")}))
    (world.store / "ood.h5").unlink()


def _broken_shard(world: World) -> None:
    world.write("TEXTS", "A text.\n")
    _make(world, configure("ljspeech"))
    (world.store / "shards/00000.h5").unlink()


def _changed_corpus(world: World) -> None:
    _broken_texts(world)
    world.row("S-0004|A row.")


def _make(world: World, config: Configuration) -> None:
    shutil.rmtree(world.store)
    items, root = read_corpus("ljspeech", world.corpus, splits={"valid": Path("IDS")} if config.splits else {})
    prepare(items, root, world.store, config)


def _additions() -> Iterator[Case]:
    yield Case("nothing to add", "add STORE")
    yield Case("no such store", "add NOWHERE --measures")
    for given, option in (
        ("a feature that does not exist", "--corpus CORPUS --feature loudness"),
        ("an algorithm that does not exist", "--corpus CORPUS --feature pitch:algorithm=x"),
        ("a setting that does not exist", "--corpus CORPUS --feature pitch:colour=red"),
        ("a setting that is not a number", "--corpus CORPUS --feature pitch:floor=low"),
        ("a feature without the corpus", "--feature energy"),
        ("no such corpus", "--corpus NOWHERE --feature energy"),
        ("no such alignments", "--alignments NOWHERE"),
        ("alignments of other ids", "--alignments CORPUS"),
        ("an array without a file", "--array vector"),
        ("no such file of an array", "--array vector@utterance=NOWHERE.npz"),
        ("a folder without arrays", "--array vector@utterance=CORPUS"),
        ("an array with the name of another", "--array mel@utterance=FILE.npz"),
        ("an array that lacks utterances", "--array vector@utterance=FILE.npz"),
        ("an axis that does not exist", "--array vector@word=CORPUS"),
        ("an array in a file of another kind", "--array vector@utterance=CORPUS/metadata.csv"),
        ("a column that depends on something else", "--columns FILE.csv --depends-on mel"),
    ):
        yield Case(given, f"add STORE {option} --jobs 1", _whole)


def _whole(world: World) -> None:
    _make(world, configure("ljspeech"))
    np.savez(world.root / "FILE.npz", **{"S-0000": np.zeros(4, np.float32)})


def _views() -> Iterator[Case]:
    for name in ("check NOWHERE", "report NOWHERE", "plot NOWHERE x", "export NOWHERE OUT --to nemo", "finish NOWHERE"):
        yield Case("no such store", name)
    for threshold in ("clipped", "clipped=many", "colour=3", "clipped=nan"):
        yield Case(f"--threshold {threshold}", f"check STORE --threshold {threshold}")
    yield Case("a file in a folder that does not exist", "check STORE --csv NOWHERE/FILE")
    for option in ("--gallery 201", "--gallery -1", "--seed -1", "--max-sound x", "--output NOWHERE/FILE"):
        yield Case(option, f"report STORE {option}")
    yield Case("a link", "report STORE --output LINK", lambda w: (w.root / "LINK").symlink_to("FILE"))
    yield Case("no such second store", "report STORE NOWHERE")
    yield Case("no such utterance", "plot STORE nobody")
    yield Case("a picture of another kind", "plot STORE LJ000-é --output FILE.gif")
    yield Case("too few pixels", "plot STORE LJ000-é --dpi 5")
    yield Case("no layout", "export STORE OUT")
    yield Case("a layout that does not exist", "export STORE OUT --to zip")
    yield Case("a folder with other files", "export STORE CORPUS --to nemo")
    yield Case("a layout with recordings, of a store without", "export STORE OUT --to nemo")
    yield Case("a folder below a file", "export STORE CORPUS/metadata.csv/OUT --to lhotse")
    yield Case("a symbol table that does not exist", "symbols styletts")


def _reviews() -> Iterator[Case]:
    for option in ("--suspects -1", "--suspects many", "--suspects 10001"):
        yield Case(option, f"report STORE {option}")
    for address in ("here", "http://example.com:80/a/", "http://localhost:8000/"):
        yield Case("an address that is not a review's", f"report STORE --review {address}")
    yield Case("no such store", "review NOWHERE")
    yield Case("a folder that is not a store", "review CORPUS")
    yield Case("a port that does not exist", "review STORE --port 65536")
    yield Case("decisions in a folder that does not exist", "review STORE --decisions NOWHERE/FILE")
    yield Case("no such corpus", "review STORE --corpus NOWHERE", _whole)
    head = "id,keep,text,speaker,note\n"
    files = (
        ("an empty file of decisions", b""),
        ("a table of other columns", b"audio,text\na.wav,A text.\n"),
        ("decisions in Latin-1", f"{head}a,yes,caf\xe9,,\n".encode("latin-1")),
        ("a row of three cells", f"{head}a,yes,\n".encode()),
        ("an id twice", f"{head}a,yes,,,\na,no,,,\n".encode()),
        ("a decision that does not exist", f"{head}a,perhaps,,,\n".encode()),
    )
    for given, data in files:
        breaking = _two_files_of_decisions(data)
        yield Case(given, "merge-decisions FILE.csv OTHER.csv", breaking)
        yield Case(given, "review STORE --decisions FILE.csv", breaking)
    yield Case("no such file", "merge-decisions FILE.csv OTHER.csv")
    yield Case("a single file", "merge-decisions FILE.csv", _two_files_of_decisions(head.encode()))
    yield Case("a file twice", "merge-decisions FILE.csv FILE.csv", _two_files_of_decisions(head.encode()))
    yield Case(
        "an output in a folder that does not exist",
        "merge-decisions FILE.csv OTHER.csv --output NOWHERE/FILE",
        _two_files_of_decisions(head.encode()),
    )


def _two_files_of_decisions(data: bytes) -> Callable[[World], None]:
    def breaking(world: World) -> None:
        world.write("FILE.csv", data)
        world.write("OTHER.csv", "id,keep,text,speaker,note\nb,no,,,\n")

    return breaking


def _lists() -> Iterator[Case]:
    make = "manifest FILE.jsonl NEW --jobs 1"
    for given, data in (
        ("an empty list", b""),
        ("lines that are not JSON", b"S-0001|a|b\n"),
        ("lines that are lists", b"[1, 2]\n"),
        ("lines without recordings", b'{"text": "A text."}\n'),
        ("a list in Latin-1", b'{"text": "caf\xe9"}\n'),
    ):
        yield Case(given, make, lambda w, data=data: w.write("FILE.jsonl", data))  # type: ignore[misc]
    yield Case("no such list", make)
    yield Case("a list of another kind", "manifest CORPUS/wavs/S-0001.wav NEW --jobs 1")
    yield Case("a role that does not exist", "manifest FILE.csv NEW --columns colour=a", _table)
    yield Case("a column that does not exist", "manifest FILE.csv NEW --columns text=b", _table)
    yield Case("no such folder", "recordings NOWHERE NEW --jobs 1")
    yield Case("a folder without recordings", "recordings STORE NEW --jobs 1")


def _table(world: World) -> None:
    world.write("FILE.csv", "audio,text\nCORPUS/wavs/S-0001.wav,A text.\n")


def _library() -> Iterator[Case]:
    from tts_prep.loader import LengthBucketBatchSampler, UtteranceDataset
    from tts_prep.preprocess.audio.presets import get_preset
    from tts_prep.preprocess.make.shard_run import FailureLimit
    from tts_prep.preprocess.text.frontends.frontend import get_frontend
    from tts_prep.preprocess.text.vocab import Vocab

    yield Case("`UtteranceDataset`: no such folder", lambda w: UtteranceDataset(w.root / "NOWHERE"))
    yield Case(
        "`UtteranceDataset(verify=True)`: a manifest without its checksum",
        lambda w: UtteranceDataset(w.store, verify=True),
        lambda w: w.manifest(lambda m: m.pop("checksum")),
    )
    yield Case("`split`: more than exist", lambda w: UtteranceDataset(w.store).split(99))
    yield Case("`filter`: not a mask", lambda w: UtteranceDataset(w.store).filter(lambda m: m.n_frames))
    yield Case("`column`: no such column", lambda w: UtteranceDataset(w.store).column("colour"))
    yield Case("`sort`: no such column", lambda w: UtteranceDataset(w.store).sort("colour"))
    yield Case("`views`: no such array", lambda w: UtteranceDataset(w.store).views("video"))
    yield Case("`LengthBucketBatchSampler`: longer than a batch", lambda _: LengthBucketBatchSampler([9], max_frames=5))
    yield Case("`LengthBucketBatchSampler`: no budget", lambda _: LengthBucketBatchSampler([9], max_frames=0))
    yield Case("`get_preset`: no such preset", lambda _: get_preset("loud"))
    yield Case("`get_frontend`: no such frontend", lambda _: get_frontend("loud"))
    yield Case("`Vocab`: padding that is not a symbol", lambda _: Vocab("abc", "_"))
    yield Case("`Vocab.encode`: unknown symbols", lambda _: Vocab("_abc", "_").encode("abx"))
    yield Case("`FailureLimit.parse`: not a number", lambda _: FailureLimit.parse("many"))


@contextlib.contextmanager
def world(folder: Path) -> Iterator[World]:
    """Create a corpus and a store in a folder, and change to it."""
    place = World(folder)
    if not (folder.parent / "template").exists():
        write_ljspeech(folder.parent / "template" / "CORPUS", TEXTS[:4])
        write_store(folder.parent / "template" / "STORE", make_rows([7, 3, 9, 4, 5]), n_shards=2)
    shutil.copytree(folder.parent / "template", folder)
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield place
    finally:
        os.chdir(before)


def outcome(case: Case, folder: Path) -> tuple[str, str]:
    """Return the exit status, or the class of the error, and the message with paths shown as in the cases."""
    with world(folder) as place:
        case.breaking(place)
        if isinstance(case.use, str):
            out, err = io.StringIO(), io.StringIO()
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    main(case.use.split())
            except SystemExit as exit_:
                status = str(exit_.code)
            message = err.getvalue() or out.getvalue()
            assert err.getvalue().count("\n") <= 1, message
        else:
            try:
                case.use(place)
            except TtsPrepError as error:
                status, message = type(error).__name__, str(error)
    return status, _plain(message, folder)


def _plain(message: str, folder: Path) -> str:
    """Remove parts of a message that depend on paths, the machine or the versions of libraries."""
    text = " ".join(message.split()).replace(f"{folder}/", "").replace(str(folder), ".")
    text = re.sub(r"not TOML: [^;]*", "not TOML: …", re.sub(r"not JSON \([^;]*\)", "not JSON (…)", text))
    text = re.sub(r"x{20,}", "x…x", text)
    text = re.sub(r"software\.\S+ is not set .* now;", "software.… now;", text)
    text = re.sub(r"lists the \d+ that", "lists the … that", text)
    text = re.sub(r"\.? ?\(?Did you mean [^;]*;", ";", text)
    text = re.sub(r"cannot be read as HDF5 \(.*?\);", "cannot be read as HDF5 (…);", text)
    return re.sub(r"[0-9a-f]{12}…", "…", text).removeprefix("tts-prep: error: ")


def table() -> list[tuple[str, str, str, str]]:
    """Return a row for every case: call, input, status, message."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases()):
            rows.append((case.name, case.given, *outcome(case, Path(folder) / str(number))))
            shutil.rmtree(Path(folder) / str(number))
    return rows


def page(rows: list[tuple[str, str, str, str]]) -> str:
    """Return docs/errors.md."""
    lines = [
        "# Error messages",
        "",
        "Generated by `python tests/bad_inputs.py > docs/errors.md`; `tests/cli/test_bad_inputs.py` checks it. Status",
        "is 1 for a failure, 2 for wrong usage, and the class of the exception for library calls. On the command line,",
        "`tts-prep: error: ` precedes the message.",
        "",
        f"What the {len(advices())} messages of the package advise that name a command, an option or a package is",
        "typed by `tests/cli/test_advice.py`, where they are printed.",
        "",
        "| call | input | status | message |",
        "| --- | --- | --- | --- |",
    ]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines += [f"| {use} | {given} | {status} | {message} |" for use, given, status, message in escaped]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    # No lines of progress, however slow the machine is.
    output._PLAIN_INTERVAL = math.inf
    print(page(table()), end="")
