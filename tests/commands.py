"""Running commands in this process."""

from __future__ import annotations

import pytest

from tts_prep.cli.main import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command in this process; return exit status, stdout, stderr."""
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(exit_.value.code or 0), out, err
