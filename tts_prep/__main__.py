"""``python -m tts_prep``, and the command ``tts-prep``."""

import os
import sys


def main() -> None:
    """Run the command line."""
    # Long work runs in processes, so the threads that numpy's BLAS library starts on import are wasted.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # Imported here, because worker processes import this module too and do not need the command line.
        from tts_prep.cli.main import main
    except KeyboardInterrupt:
        print("tts-prep: error: interrupted", file=sys.stderr)
        sys.exit(130)
    main()


if __name__ == "__main__":
    main()
