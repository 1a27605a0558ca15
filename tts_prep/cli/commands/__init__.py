"""The subcommands of ``tts-prep``, one module each."""
