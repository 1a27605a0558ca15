"""Output of the library's log on stderr, above the progress bar."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tts_prep.errors import one_line


class _Lines(logging.Handler):
    """Write each record as one printable line."""

    def emit(self, record: logging.LogRecord) -> None:
        line = one_line(record.getMessage())
        if sys.stderr.isatty():
            # tqdm redraws the progress bar below the line.
            from tqdm import tqdm

            tqdm.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr)


@contextmanager
def printing_log(verbosity: int) -> Iterator[None]:
    """Print the records of the logger ``tts_prep``.

    Args:
        verbosity: 1 for steps and failed rows, 2 for shards too.
    """
    logger = logging.getLogger("tts_prep")
    handler, before = _Lines(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbosity > 1 else logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
