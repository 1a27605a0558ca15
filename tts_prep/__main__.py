"""``python -m tts_prep``, and the command ``tts-prep``."""


def main() -> None:
    """Run the command line."""
    # Not above: worker processes import the script that was started, and need none of this.
    from tts_prep.cli.main import main

    main()


if __name__ == "__main__":
    main()
