"""Running commands in this process."""

from __future__ import annotations

from collections.abc import Sequence

import click
import pytest

from tts_prep.cli.main import cli, main
from tts_prep.preprocess import Configuration, configure

LIGHT = ("--mel", "none", "--waveform", "int16", "--frontend", "characters", "--unknown", "drop")
"""Options of stores whose workers load neither the mel kernel nor espeak-ng: a command with two takes a fifth less."""


def light(shard_utterances: int) -> Configuration:
    """Return the configuration of `LIGHT`, for a corpus in the layout of LJ Speech."""
    settings = {
        "audio": {"n_mels": "none"},
        "text": {"frontend": "characters", "unknown": "drop"},
        "store": {"waveform_dtype": "int16", "shard_utterances": shard_utterances},
    }
    return configure("ljspeech", settings=settings)


def without_workers(arguments: Sequence[object]) -> list[str]:
    """Return the arguments of a command, with ``--jobs 1`` if it has that option and they do not say how many."""
    given = [str(argument) for argument in arguments]
    command = cli.get_command(click.Context(cli), given[0]) if given else None
    jobs = next((option for option in command.params if option.name == "jobs"), None) if command else None
    if jobs and not {*jobs.opts} & {argument.partition("=")[0] for argument in given}:
        given[1:1] = ["--jobs", "1"]
    return given


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command in this process; return exit status, stdout, stderr.

    Unless the arguments say otherwise, there are no worker processes: each takes a second to start, and what they
    change is tested by those who ask for them.
    """
    with pytest.raises(SystemExit) as exit_:
        main(without_workers(arguments))
    out, err = capsys.readouterr()
    return int(exit_.value.code or 0), out, err
