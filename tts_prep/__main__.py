"""``python -m tts_prep``: the same as the command ``tts-prep``."""

from tts_prep.cli.main import main

if __name__ == "__main__":
    main()
