"""Read the text files of other systems line by line."""

from __future__ import annotations

from pathlib import Path

from tts_prep.errors import ConfigurationError


def read_lines(path: str | Path, what: str) -> list[str]:
    """Return the lines of a UTF-8 file without their ends and without a byte order mark.

    Lines end as those of Python's text files do (LF, CRLF or CR), and not at other line separators of Unicode, which
    texts may contain.

    Args:
        path: the path of the file.
        what: what the file has, for the error message.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read as {what} ({error})") from error
    return text.removesuffix("\n").split("\n") if text else []
