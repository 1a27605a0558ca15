"""``python -m tts_prep``, and the command ``tts-prep``."""

import os
import sys


def main() -> None:
    """Run the command line."""
    # It has processes for what takes long. Threads that numpy's library starts on import only cost.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # Not above: worker processes import the script that was started, and need none of this.
        from tts_prep.cli.main import main
    except KeyboardInterrupt:
        print("tts-prep: error: interrupted", file=sys.stderr)
        sys.exit(130)
    main()


if __name__ == "__main__":
    main()
