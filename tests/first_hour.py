"""Common mistakes with their messages and solutions, from which docs/first-hour.md is generated.

    python tests/first_hour.py > docs/first-hour.md

A mistake is a line of one of the functions below.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import soundfile
from bad_inputs import World, _plain, world
from corpora import record, speech_like, write_libritts
from stores import edit_manifest

import tts_prep.loader
from tts_prep.cli import output
from tts_prep.cli.main import main
from tts_prep.errors import TtsPrepError
from tts_prep.loader import DataLoader, UtteranceDataset
from tts_prep.preprocess.configuration.settings import configure
from tts_prep.preprocess.corpora.corpus import read_corpus
from tts_prep.preprocess.run import prepare


@dataclass(frozen=True)
class Mistake:
    """A mistake.

    Attributes:
        title: the heading.
        use: the input: a command without ``tts-prep``, or an expression of Python after ``>>> ``, in which ``dataset``,
            ``train`` and ``batch`` are those of STORE.
        advice: an explanation and a solution, in addition to the message.
        breaking: prepares the environment.
    """

    title: str
    use: str
    advice: str
    breaking: Callable[[World], object] = field(default=lambda _: None)


MAKE = "ljspeech CORPUS NEW --jobs 1"
PROMPT = ">>> "


def mistakes() -> dict[str, tuple[Mistake, ...]]:
    """Return the mistakes by section."""
    return {
        "Location of the corpus": _places(),
        "Contents of the corpus": _contents(),
        "Lists and manifests": _lists(),
        "Mel settings": _settings(),
        "Languages and texts": _languages(),
        "Runs": _runs(),
        "Stores": _stores(),
        "Training code": _training(),
    }


def _places() -> tuple[Mistake, ...]:
    return (
        Mistake(
            "The archive is not unpacked",
            "ljspeech LJSpeech-1.1.tar.bz2 NEW",
            "`tar xf LJSpeech-1.1.tar.bz2`, then use the folder. Only `tts-prep manifest` reads archives: the tar "
            "files of WebDataset and Emilia.",
            _archive,
        ),
        Mistake(
            "A file instead of the folder", "ljspeech CORPUS/metadata.csv NEW", "CORPUS is the root of the corpus."
        ),
        Mistake("The parent folder", "ljspeech DOWNLOADS NEW", "", _one_down),
        Mistake("A subfolder", "ljspeech CORPUS/wavs NEW", ""),
        Mistake(
            "The command of another corpus",
            "vctk CORPUS NEW",
            "[corpora.md](corpora.md) lists the folders and files that each command expects.",
        ),
        Mistake("Corpus and store swapped", "ljspeech NEW CORPUS", "The corpus is not changed."),
        Mistake("No command", "CORPUS NEW", ""),
        Mistake("A command that does not exist", "prepare CORPUS NEW", ""),
        Mistake(
            "The store in the corpus",
            "ljspeech CORPUS CORPUS/store --jobs 1",
            "A note; the store is built. Readers that search folders may later read it as part of the corpus, so use a "
            "path outside.",
        ),
        Mistake("A subset as the corpus", "libritts LIBRITTS/train-clean-100 NEW", "", _libritts),
        Mistake("A subset that does not exist", "libritts LIBRITTS NEW --subset train-clean-360", "", _libritts),
    )


def _contents() -> tuple[Mistake, ...]:
    return (
        Mistake(
            "A recording is missing",
            MAKE,
            "Of four rows, 1 % is zero. Restore the file, remove the row, or use `--max-failures 1` to skip the row, "
            "which is recorded in `failures.jsonl`. The same command resumes.",
            lambda w: (w.corpus / "wavs/S-0001.wav").unlink(),
        ),
        Mistake(
            "Recordings of another format",
            MAKE,
            "`ljspeech` reads `wavs/<id>.wav`, or `.flac`. For MP3, Opus and others, write a list of file names for "
            "`tts-prep filelist` or `manifest`.",
            _ogg,
        ),
        Mistake("Ids with a suffix", MAKE, "Remove `.wav` from the first field.", _suffixes),
        Mistake("Commas instead of bars", MAKE, "", lambda w: _separator(w, ",")),
        Mistake("A header", MAKE, "", _header),
        Mistake(
            "Truncated recordings",
            MAKE,
            "Usually an interrupted copy: copy the recording again.",
            lambda w: (w.corpus / "wavs/S-0001.wav").write_bytes((w.corpus / "wavs/S-0001.wav").read_bytes()[:5000]),
        ),
        Mistake("A row without a text", MAKE, "", lambda w: w.row("S-0000b||")),
    )


def _lists() -> tuple[Mistake, ...]:
    return (
        Mistake(
            "Paths relative to another folder",
            "filelist LIST NEW --jobs 1",
            "Use `--root CORPUS/wavs`; by default, paths are relative to the folder of the list.",
            lambda w: w.write("LIST", "clips/S-0000.wav|One two.\nclips/S-0001.wav|Three four.\n"),
        ),
        Mistake("A folder instead of a list", "filelist CORPUS/wavs NEW", ""),
        Mistake(
            "Paths of another machine",
            "filelist LIST NEW --jobs 1",
            "Make them relative to the folder of the recordings (`sed 's|/home/me/data/||' LIST`), and use it as "
            "`--root`. The prefix `DUMMY1/` of VITS's lists is ignored.",
            lambda w: w.write("LIST", "/home/me/data/a.wav|One two.\n/home/me/data/b.wav|Three four.\n"),
        ),
        Mistake(
            "A list with commas",
            "filelist LIST NEW",
            "",
            lambda w: w.write("LIST", "S-0000.wav,One two.\nS-0001.wav,Three four.\n"),
        ),
        Mistake(
            "A manifest without a header",
            "manifest LIST.csv NEW",
            "",
            lambda w: w.write("LIST.csv", "S-0000.wav,One two three.\nS-0001.wav,Three four.\n"),
        ),
        Mistake(
            "Columns with other names",
            "manifest LIST.csv NEW",
            "`--columns text=words`. Known names are in [corpora.md](corpora.md#manifests).",
            lambda w: w.write("LIST.csv", "file,words\nS-0000.wav,One two.\n"),
        ),
    )


def _settings() -> tuple[Mistake, ...]:
    return (
        Mistake(
            "The list of presets as a configuration file",
            f"{MAKE} --config presets.txt",
            "`tts-prep presets` prints a list, `tts-prep presets hifigan` a configuration file.",
            lambda w: w.write("presets.txt", "parakeet   22050 Hz  1024/1024/256\n"),
        ),
        Mistake(
            "A setting without its table",
            f"{MAKE} --config settings.toml",
            "",
            lambda w: w.write("settings.toml", "n_mels = 80\n"),
        ),
        Mistake("Another spelling of a preset", f"{MAKE} --preset HiFiGAN", ""),
        Mistake(
            "Two presets",
            f"{MAKE} --preset vocos --config hifigan.toml",
            "A file from `tts-prep presets hifigan` contains the name of its preset.",
            lambda w: w.write("hifigan.toml", 'preset = "hifigan"\n'),
        ),
        Mistake(
            "A checkpoint as the vocoder's configuration",
            f"{MAKE} --vocoder-config generator.pth",
            "`config.json` is next to the checkpoint.",
            lambda w: w.write("generator.pth", b"PK\x03\x04\x9d"),
        ),
        Mistake("Kilohertz", f"{MAKE} --sample-rate 22.05k", "`--sample-rate 22050`."),
        Mistake(
            "Recordings with a lower sample rate than the preset",
            f"{MAKE} --preset vocos",
            "A note; the store is built. Unlike the training data of the vocoder, its mels have no energy above half "
            "the sample rate of the recordings; a preset of that rate is more suitable.",
        ),
        Mistake(
            "More mel bins than the transform has frequencies for",
            f"{MAKE} --n-fft 256 --win-length 256",
            "A note; the store is built. The default of 80 bins needs `--n-fft 512` at 22,050 Hz.",
        ),
        Mistake("A short name of a feature", f"{MAKE} --feature f0", ""),
        Mistake("An option of a feature without its name", f"{MAKE} --feature pitch=80", "`--feature pitch:floor=80`."),
        Mistake("Another spelling of a table", f"{MAKE} --symbols StyleTTS2", "`tts-prep symbols` lists the tables."),
    )


def _languages() -> tuple[Mistake, ...]:
    return (
        Mistake("The name of a language", f"{MAKE} --language german", "`--language de`."),
        Mistake("The name of English", f"{MAKE} --language English", "`--language en-us` is the default."),
        Mistake("A country instead of a language", f"{MAKE} --language usa", ""),
        Mistake(
            "German texts as English",
            MAKE,
            "Use `--language de`.",
            lambda w: _texts(w, "Das ist nicht der Weg, und wir gehen auch nicht mit."),
        ),
        Mistake("Chinese texts as English", MAKE, "`--language zh`.", lambda w: _texts(w, "今天天气很好。")),
        Mistake("English texts as Chinese", f"{MAKE} --language zh", "Omit `--language`."),
        Mistake(
            "Phonemes as texts",
            MAKE,
            "A note; espeak-ng reads the symbols as letters. `--frontend phonemes` uses the symbols unchanged.",
            lambda w: _texts(w, "kˈɔːl miː ˈɪʃmeɪəl."),
        ),
        Mistake(
            "Texts as phonemes",
            f"{MAKE} --frontend phonemes",
            "A note; the letters are used as symbols. Omit `--frontend`.",
            lambda w: _texts(w, "Good morning."),
        ),
        Mistake("A frontend of another system", f"{MAKE} --frontend g2p_en", "`arpabet` has the same symbols."),
    )


def _runs() -> tuple[Mistake, ...]:
    return (
        Mistake("A mistyped option", f"{MAKE} --overwite", ""),
        Mistake("An option before the command", "--preset hifigan ljspeech CORPUS NEW", ""),
        Mistake("A part that does not exist", f"{MAKE} --part 3/2", "Parts are counted from 1."),
        Mistake(
            "A list of ids without the name of the split", f"{MAKE} --split valid.txt", "`--split valid=valid.txt`."
        ),
        Mistake(
            "Other settings than the store's",
            "ljspeech CORPUS STORE --jobs 1 --preset hifigan",
            "A store has one configuration. Use another path for a second store.",
            _made,
        ),
        Mistake(
            "A newer library than that of the store",
            "ljspeech CORPUS STORE --jobs 1",
            "Another version may compute other values, so a store is built with one version. Run the command in the "
            "message to resume, or use `--overwrite` to start again with the new version.",
            _upgraded,
        ),
        Mistake("A repair without the corpus", "verify STORE --repair", "`tts-prep verify STORE --repair CORPUS`."),
        Mistake(
            "A repair without the reader",
            "verify STORE --repair CORPUS",
            "A store of a custom reader contains only its name.",
            _own_reader,
        ),
    )


def _stores() -> tuple[Mistake, ...]:
    return (
        Mistake("The corpus instead of the store", "info CORPUS", ""),
        Mistake("A mistyped store", "info SOTRE", ""),
        Mistake("The manifest instead of the store", "info STORE/manifest.json", ""),
        Mistake("An unfinished store", "info STORE", "", lambda w: (w.store / "manifest.json").unlink()),
        Mistake("The page instead of a second store", "report STORE report.html", ""),
        Mistake("The demo in a store", "demo STORE", ""),
        Mistake("A report in a folder that does not exist", "report STORE -o reports/store.html", ""),
        Mistake(
            "Batches smaller than the longest utterance",
            "plan STORE --max-frames 5",
            "Use `dataset.filter` to exclude it.",
        ),
        Mistake("An export that needs waveforms", "export STORE OUT --to nemo", ""),
        Mistake("Pitch without recordings", "add STORE --feature pitch", "", _made),
    )


def _training() -> tuple[Mistake, ...]:
    return (
        Mistake(
            "More validation utterances than exist",
            '>>> UtteranceDataset("STORE").split(100)',
            "A share, such as `split(0.05)`, works for every size.",
        ),
        Mistake(
            "`and` between columns",
            '>>> UtteranceDataset("STORE").filter(lambda m: m.seconds > 1 and m.seconds < 9)',
            "`(m.seconds > 1) & (m.seconds < 9)`.",
        ),
        Mistake(
            "A column with another name",
            '>>> UtteranceDataset("STORE").sort("duration")',
            "`seconds` is the duration of a recording, `n_frames` of its mel.",
        ),
        Mistake(
            "A path instead of the dataset",
            '>>> DataLoader("STORE")',
            "",
        ),
        Mistake(
            "The dataset instead of its lengths",
            '>>> LengthBucketBatchSampler(UtteranceDataset("STORE"), max_frames=9)',
            "",
        ),
        Mistake(
            "The sampler of another dataset",
            ">>> DataLoader(train, batch_sampler=LengthBucketBatchSampler(dataset.n_frames, batch_size=2))",
            "Use `train.n_frames`: positions are those of the loaded dataset.",
        ),
        Mistake(
            "A field with another name",
            ">>> batch.mels",
            "A batch has `mel`, `phonemes`, `waveform` and their `…_lengths`.",
        ),
        Mistake(
            "Another name for tensors",
            '>>> DataLoader(dataset, output="pt")',
            "",
        ),
    )


def _archive(world: World) -> None:
    with tarfile.open(world.root / "LJSpeech-1.1.tar.bz2", "w:bz2") as archive:
        archive.add(world.corpus, "LJSpeech-1.1")


def _one_down(world: World) -> None:
    (world.root / "DOWNLOADS").mkdir()
    world.corpus.rename(world.root / "DOWNLOADS/LJSpeech-1.1")


def _libritts(world: World) -> None:
    write_libritts(world.root / "LIBRITTS")
    record(world.root / "LIBRITTS/train-clean-100/100/1/100_1_000001.wav")


def _ogg(world: World) -> None:
    for path in (world.corpus / "wavs").glob("*.wav"):
        soundfile.write(path.with_suffix(".ogg"), *soundfile.read(path))
        path.unlink()


def _suffixes(world: World) -> None:
    path = world.corpus / "metadata.csv"
    lines = path.read_text("utf-8").splitlines()
    path.write_text("".join(line.replace("|", ".wav|", 1) + "\n" for line in lines), "utf-8")


def _separator(world: World, separator: str) -> None:
    path = world.corpus / "metadata.csv"
    path.write_text(path.read_text("utf-8").replace("|", separator), "utf-8")


def _header(world: World) -> None:
    path = world.corpus / "metadata.csv"
    path.write_text("id|text|normalized_text\n" + path.read_text("utf-8"), "utf-8")


def _texts(world: World, text: str) -> None:
    for path in (world.corpus / "wavs").iterdir():
        path.unlink()
    rows = []
    for number in range(2):
        soundfile.write(world.corpus / f"wavs/{number}.wav", speech_like(0.3, number), 22050)
        rows.append(f"{number}|{text}|{text}\n")
    (world.corpus / "metadata.csv").write_text("".join(rows), "utf-8")


def _made(world: World, name: str = "ljspeech") -> None:
    shutil.rmtree(world.store)
    items, root = read_corpus("ljspeech", world.corpus)
    prepare(items, root, world.store, configure(name))


def _upgraded(world: World) -> None:
    _made(world)
    edit_manifest(world.store, lambda m: (m["software"].update(soxr="0.4.0"), m.update(plan="0" * 64)))


def _own_reader(world: World) -> None:
    _made(world, "mine")
    (world.store / "shards/00000.h5").unlink()


def said(mistake: Mistake, folder: Path) -> str:
    """Return the error message, or the notes and remarks of a run, with paths as in the mistakes."""
    with world(folder) as place:
        mistake.breaking(place)
        if mistake.use.startswith(PROMPT):
            dataset = UtteranceDataset("STORE")
            names = {"dataset": dataset, "train": dataset.split(2)[1], "batch": next(iter(DataLoader(dataset)))}
            try:
                eval(mistake.use.removeprefix(PROMPT), {**vars(tts_prep.loader), **names})
            except (TtsPrepError, AttributeError) as error:
                return f"{type(error).__name__}: {_plain(str(error), folder)}"
            return ""
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.suppress(SystemExit),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main(mistake.use.split())
        if err.getvalue():
            # Replace the installed version.
            message = re.sub(r"and [\d.]+ now", "and … now", _plain(err.getvalue(), folder))
            return f"tts-prep: error: {message}"
        remarks = (line for line in out.getvalue().splitlines() if line.startswith("note: ") or " × 2" in line)
        return "\n".join(_plain(line, folder) for line in remarks)


def rows() -> Iterator[tuple[str, Mistake, str]]:
    """Yield section, mistake and message."""
    with tempfile.TemporaryDirectory() as folder:
        for chapter, found in mistakes().items():
            for number, mistake in enumerate(found):
                path = Path(folder) / f"{chapter}-{number}".replace(" ", "-")
                yield chapter, mistake, said(mistake, path)
                shutil.rmtree(path)


def page(found: Iterable[tuple[str, Mistake, str]]) -> str:
    """Return docs/first-hour.md."""
    lines = [
        "# Common mistakes",
        "",
        "This page lists common mistakes with their messages and solutions. The messages are generated by",
        "`tests/first_hour.py`, and a test compares them. [errors.md](errors.md) lists further error messages.",
        "",
        "The exit status is 1 for a failure and 2 for wrong usage; notes do not end a run.",
    ]
    last = ""
    for chapter, mistake, message in found:
        if chapter != last:
            lines += ["", f"## {chapter}"]
            last = chapter
        use = mistake.use if mistake.use.startswith(PROMPT) else f"$ tts-prep {mistake.use}"
        lines += ["", f"### {mistake.title}", "", "```text", use, *message.splitlines(), "```"]
        if mistake.advice:
            lines += ["", mistake.advice]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    # No lines of progress, however slow the machine is.
    output._PLAIN_INTERVAL = math.inf
    print(page(rows()), end="")
