"""The commands that make a store of a corpus: one row of a table for each reader."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from tts_prep.cli.options import FOLDER, corpus_options


@dataclass(frozen=True)
class CorpusCommand:
    """A command that makes a store by one reader.

    Attributes:
        name: of the command and the reader.
        help: what the command's help says.
        options: of the reader alone; what they are given becomes a part of the store's configuration.
        root: help of ``--root``, for readers that take a folder for audio paths.
        source: what the corpus is called in the help.
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

            # An option that was not given does not stand in the configuration.
            given = {name: value for name in own if (value := options.pop(name))}
            # The order of a repeated one makes no difference.
            reader_options = {name: sorted(value) if own[name].multiple else value for name, value in given.items()}
            prepare_and_report(self.name, corpus, store, options, root=root, reader_options=reader_options)

        command = click.command(self.name, help=inspect.cleandoc(self.help))(corpus_options(run))
        root = [click.Option(["--root"], type=FOLDER, metavar="DIR", help=self.root)] if self.root else []
        arguments = [
            click.Argument(["corpus"], type=FOLDER, metavar=self.source),
            click.Argument(["store"], type=FOLDER),
        ]
        command.params[:0] = [*arguments, *root, *self.options]
        return command


_SPOKEN: Final = click.Option(
    ["--text"],
    type=click.Choice(["pinyin", "characters"]),
    help="Speak the corpus's pinyin or its characters; the other one becomes a column.  [default: pinyin]",
)


def _subset(example: str) -> click.Option:
    return click.Option(
        ["--subset", "subsets"],
        multiple=True,
        metavar="NAME",
        help=f"Take this subset only, such as {example}; may be given several times.  [default: all]",
    )


COMMANDS: Final = {
    command.name: command.make()
    for command in (
        CorpusCommand(
            "ljspeech",
            r"""Make STORE of the LJ Speech corpus, or a folder of its shape, at CORPUS.

            CORPUS holds metadata.csv (id|text|normalized text) and wavs/<id>.wav. A run that was interrupted goes on
            when the same command is given again.

            \b
            Example:
              tts-prep ljspeech LJSpeech-1.1 store --jobs 8
            """,
        ),
        CorpusCommand(
            "vctk",
            r"""Make STORE of the VCTK corpus at CORPUS.

            CORPUS holds wav48_silence_trimmed or wav48, txt and speaker-info.txt. Age, gender, accent and region of the
            speakers become columns.

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
                    help="Which microphone's recording.",
                ),
            ),
        ),
        CorpusCommand(
            "libritts",
            r"""Make STORE of the LibriTTS or LibriTTS-R corpus at CORPUS.

            CORPUS holds the subsets, such as train-clean-100, and speakers.tsv. The subset becomes the column split;
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

            CORPUS holds ProsodyLabeling/000001-010000.txt and Wave/<id>.wav. The pinyin of the corpus is spoken, with
            its prosody marks #1 to #4, which --symbols mandarin-prosody keeps.

            \b
            Example:
              tts-prep baker BZNSYP store --symbols mandarin-prosody
            """,
            options=(_SPOKEN,),
        ),
        CorpusCommand(
            "aishell3",
            r"""Make STORE of the AISHELL-3 corpus of Mandarin at CORPUS.

            CORPUS holds train and test, each with content.txt and wav/<speaker>/<id>.wav, and spk-info.txt. The subset
            becomes the column split; age group, gender and accent of the speakers are columns too.

            \b
            Example:
              tts-prep aishell3 data_aishell3 store --subset train
            """,
            options=(_subset("train"), _SPOKEN),
        ),
        CorpusCommand(
            "jsut",
            r"""Make STORE of the JSUT corpus of Japanese at CORPUS.

            CORPUS holds basic5000 and other subsets, each with transcript_utf8.txt and wav/<id>.wav.

            \b
            Example:
              tts-prep jsut jsut_ver1.1 store --subset basic5000
            """,
            options=(_subset("basic5000"),),
        ),
        CorpusCommand(
            "kss",
            r"""Make STORE of the Korean Single Speaker corpus at CORPUS.

            CORPUS holds transcript.v.1.4.txt and the folders 1 to 4. The text with numbers written out is spoken; the
            translation becomes a column.

            \b
            Example:
              tts-prep kss kss store
            """,
        ),
        CorpusCommand(
            "css10",
            r"""Make STORE of a language of CSS10, or of several, at CORPUS.

            CORPUS holds transcript.txt and the folders of its books, or folders such as de and fr with these. The
            language is told by the books. Each language is spoken by its default frontend.

            \b
            Example:
              tts-prep css10 CSS10 store --subset de --subset fr
            """,
            options=(_subset("de"),),
        ),
        CorpusCommand(
            "recordings",
            r"""Make STORE of the recordings in the folder CORPUS, without texts, as vocoders are trained on.

            All recordings in CORPUS and the folders below are taken; the folder becomes a column. There are no
            phonemes. Other commands do without texts and phonemes by --frontend none.

            \b
            Example:
              tts-prep recordings audio store --preset hifigan --waveform int16
            """,
        ),
        CorpusCommand(
            "filelist",
            r"""Make STORE of the recordings that FILE lists, one a line, fields separated by '|'.

            Lists of NVIDIA's, VITS's and StyleTTS2's repositories are taken as they are. With --columns, fields may be
            path, text, speaker, id, language, any name for a column of the store, and - for what is not used.

            \b
            Example:
              tts-prep filelist train_list.txt store --root wavs --frontend phonemes
            """,
            options=(
                click.Option(
                    ["--columns"],
                    metavar="A|B|…",
                    help="What the fields are.  [default: path|text, with a speaker as its place tells]",
                ),
            ),
            root="What paths are relative to.  [default: the folder of FILE]",
            source="FILE",
        ),
        CorpusCommand(
            "kaldi",
            r"""Make STORE of the Kaldi data folder CORPUS.

            CORPUS holds wav.scp and text, and where there are any segments, utt2spk, spk2gender, utt2lang and other
            utt2NAME, which become columns; or the idx2wav, idx2text, idx2spk, idx2gen of SpeeChain. Commands in wav.scp
            are not run.

            \b
            Example:
              tts-prep kaldi data/train store --root .
            """,
            root="What paths in wav.scp are relative to.  [default: CORPUS]",
        ),
    )
}


def registered_command(name: str) -> click.Command:
    """Return the command of a reader that another package registers; the package is loaded when it is run."""
    return CorpusCommand(name, f"Make STORE of CORPUS, with the reader '{name}' of another package.").make()
