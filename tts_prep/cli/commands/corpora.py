"""The commands that make a store of a corpus: a table with one row per reader."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from tts_prep.cli.grouped_help import GroupedCommand
from tts_prep.cli.options import PATH, corpus_options


@dataclass(frozen=True)
class CorpusCommand:
    """A command that makes a store with one corpus reader.

    Attributes:
        name: the name of the command and the reader.
        help: the help of the command.
        options: the options of the reader, whose values become part of the store's configuration.
        root: the help of ``--root``, for readers that have this option.
        source: the name of the corpus argument in the help.
    """

    name: str
    help: str
    options: tuple[click.Option, ...] = ()
    root: str | None = None
    source: str = "CORPUS"

    def make(self) -> click.Command:
        """Return the command."""
        own = {option.name: option for option in self.options if option.name}

        def run(corpus: Path, store: Path, root: Path | None = None, **options: Any) -> None:
            from tts_prep.cli.preparing import prepare_and_report

            # Options that were not given are not recorded in the configuration.
            given = {name: value for name in own if (value := options.pop(name))}
            # The order of repeated options is irrelevant.
            reader_options = {name: sorted(value) if own[name].multiple else value for name, value in given.items()}
            prepare_and_report(self.name, corpus, store, options, root=root, reader_options=reader_options)

        make = click.command(self.name, cls=GroupedCommand, help=inspect.cleandoc(self.help))
        command = make(corpus_options(run))
        root = [click.Option(["--root"], type=PATH, metavar="DIR", help=self.root)] if self.root else []
        arguments = [
            click.Argument(["corpus"], type=PATH, metavar=self.source),
            click.Argument(["store"], type=PATH),
        ]
        command.params[:0] = [*arguments, *root, *self.options]
        return command


_SPOKEN: Final = click.Option(
    ["--text"],
    type=click.Choice(["pinyin", "characters"]),
    help="Use the corpus's pinyin or its characters as text; the other becomes a column.  [default: pinyin]",
)


def _subset(example: str) -> click.Option:
    return click.Option(
        ["--subset", "subsets"],
        multiple=True,
        metavar="NAME",
        help=f"Use only this subset, such as {example}; may be repeated.  [default: all]",
    )


COMMANDS: Final = {
    command.name: command.make()
    for command in (
        CorpusCommand(
            "ljspeech",
            r"""Make STORE of the LJ Speech corpus, or of a folder with the same layout, at CORPUS.

            CORPUS contains metadata.csv (id|text|normalized text) and wavs/<id>.wav. Run the same command again to
            resume an interrupted run.

            \b
            Example:
              tts-prep ljspeech LJSpeech-1.1 store --jobs 8
            """,
        ),
        CorpusCommand(
            "vctk",
            r"""Make STORE of the VCTK corpus at CORPUS.

            CORPUS contains wav48_silence_trimmed or wav48, txt and speaker-info.txt. Age, gender, accent and region of
            the speakers become columns.

            \b
            Example:
              tts-prep vctk VCTK-Corpus-0.92 store --language en-gb
            """,
            options=(
                click.Option(
                    ["--mic"],
                    type=click.Choice(["mic1", "mic2"]),
                    default="mic1",
                    show_default=True,
                    help="The microphone whose recordings to use.",
                ),
            ),
        ),
        CorpusCommand(
            "libritts",
            r"""Make STORE of the LibriTTS or LibriTTS-R corpus at CORPUS.

            CORPUS contains the subsets, such as train-clean-100, and speakers.tsv. The subset becomes the column split;
            chapter and gender are columns too.

            \b
            Example:
              tts-prep libritts LibriTTS_R store --subset train-clean-100 --subset dev-clean
            """,
            options=(_subset("dev-clean"),),
        ),
        CorpusCommand(
            "baker",
            r"""Make STORE of the Baker corpus of Mandarin (BZNSYP, CSMSC) at CORPUS.

            CORPUS contains ProsodyLabeling/000001-010000.txt and Wave/<id>.wav. The phonemes are computed from its
            pinyin. Its prosody marks #1 to #4 are kept with --symbols mandarin-prosody.

            \b
            Example:
              tts-prep baker BZNSYP store --symbols mandarin-prosody
            """,
            options=(_SPOKEN,),
        ),
        CorpusCommand(
            "aishell3",
            r"""Make STORE of the AISHELL-3 corpus of Mandarin at CORPUS.

            CORPUS contains train and test, each with content.txt and wav/<speaker>/<id>.wav, and spk-info.txt. The
            subset becomes the column split; age group, gender and accent of the speakers are columns too.

            \b
            Example:
              tts-prep aishell3 data_aishell3 store --subset train
            """,
            options=(_subset("train"), _SPOKEN),
        ),
        CorpusCommand(
            "jsut",
            r"""Make STORE of the JSUT corpus of Japanese at CORPUS.

            CORPUS contains basic5000 and other subsets, each with transcript_utf8.txt and wav/<id>.wav.

            \b
            Example:
              tts-prep jsut jsut_ver1.1 store --subset basic5000
            """,
            options=(_subset("basic5000"),),
        ),
        CorpusCommand(
            "kss",
            r"""Make STORE of the Korean Single Speaker corpus at CORPUS.

            CORPUS contains transcript.v.1.4.txt and the folders 1 to 4. Phonemes are computed from the text
            with expanded numbers; the translation becomes a column.

            \b
            Example:
              tts-prep kss kss store
            """,
        ),
        CorpusCommand(
            "css10",
            r"""Make STORE of one or several languages of CSS10 at CORPUS.

            CORPUS contains transcript.txt and the folders of its books, or folders such as de and fr with these. The
            language is recognized by the books. Each language uses its default frontend.

            \b
            Example:
              tts-prep css10 CSS10 store --subset de --subset fr
            """,
            options=(_subset("de"),),
        ),
        CorpusCommand(
            "recordings",
            r"""Make STORE of the recordings in the folder CORPUS, without texts, to train a vocoder.

            All recordings in CORPUS and its subfolders are used; the folder becomes a column. There are no
            phonemes. For a corpus with texts, use its command with --frontend none.

            \b
            Example:
              tts-prep recordings audio store --preset hifigan --waveform int16
            """,
        ),
        CorpusCommand(
            "filelist",
            r"""Make STORE of the recordings listed in FILE, one per line, with fields separated by '|'.

            Lists of NVIDIA's, VITS's and StyleTTS2's repositories work unchanged. Fields in --columns are path, text,
            speaker, id, language, any name of a column of the store, or - for a field that is not used.

            \b
            Example:
              tts-prep filelist train_list.txt store --root wavs --frontend phonemes
            """,
            options=(
                click.Option(
                    ["--columns"],
                    metavar="A|B|…",
                    help="The names of the fields.  [default: path, text and speaker, in the order that is detected]",
                ),
            ),
            root="The folder of relative paths.  [default: the folder of FILE]",
            source="FILE",
        ),
        CorpusCommand(
            "kaldi",
            r"""Make STORE of the Kaldi data folder CORPUS.

            CORPUS contains wav.scp and text, and optionally segments, utt2spk, spk2gender, utt2lang and other utt2NAME
            files, which become columns; or SpeeChain's idx2wav, idx2text, idx2spk and idx2gen. Commands in wav.scp are
            not run.

            \b
            Example:
              tts-prep kaldi data/train store --root .
            """,
            root="The folder of relative paths in wav.scp.  [default: CORPUS]",
        ),
    )
}


def registered_command(name: str) -> click.Command:
    """Return the command of another package's reader. The package is imported when the command runs."""
    return CorpusCommand(name, f"Make STORE of CORPUS, with the reader '{name}' of another package.").make()
