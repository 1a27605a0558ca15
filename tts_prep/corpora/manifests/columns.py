"""The roles of the columns of a manifest, guessed from their names or set by the user."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Final

from tts_prep.errors import ConfigurationError

KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    # NeMo, Emilia, Common Voice, Hugging Face, F5-TTS, audiofolder.
    "audio": ("audio_filepath", "audio", "audio_file", "path", "wav", "wav_path", "audio_path", "file_name", "file"),
    "normalized_text": ("normalized_text", "text_normalized", "normalized_transcription"),
    "text": ("text", "sentence", "transcript", "transcription", "raw_text", "raw_transcription"),
    "id": ("id", "utt_id", "uniq_id", "utterance_id", "segment_id", "key", "__key__"),
    # NeMo has codes as `speaker` beside names.
    "speaker": ("speaker_name", "speaker", "speaker_id", "client_id", "spk", "spk_id", "reader"),
    "language": ("language", "lang", "locale"),
    "start": ("offset", "start", "start_time", "begin"),
    "end": ("end", "end_time"),
    "duration": ("duration",),
}
"""Role → names of its column in the manifests of common corpora and systems, most frequent first."""

_NEEDED = ("audio", "text")


def guess_columns(names: Collection[str]) -> dict[str, str]:
    """Guess the roles of columns from their names: role → column."""
    lower = {name.lower(): name for name in reversed(list(names))}
    guesses = {role: next((lower[name] for name in known if name in lower), "") for role, known in KNOWN.items()}
    return {role: name for role, name in guesses.items() if name}


def parse_columns(text: str) -> dict[str, str]:
    """Parse ``"audio=path,text=sentence"`` to role → column.

    Raises:
        ConfigurationError: a role is unknown or repeated, or an item has another form.
    """
    columns: dict[str, str] = {}
    for item in text.split(","):
        role, equals, name = (piece.strip() for piece in item.partition("="))
        if not (role and equals and name):
            raise ConfigurationError(
                f"columns: expected ROLE=COLUMN,…, such as audio=path,text=sentence, found {item!r}"
            )
        if role not in KNOWN:
            close = difflib.get_close_matches(role, KNOWN, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise ConfigurationError(f"columns: expected one of {', '.join(KNOWN)}, found {role!r}{hint}")
        if role in columns:
            raise ConfigurationError(f"columns: {role!r} is repeated in {text!r}")
        columns[role] = name
    return columns


_NOT_A_NAME: Final = re.compile(r"\.(wav|flac|mp3|opus|ogg)$|\s.*\s", re.IGNORECASE)


def _no_header(names: Collection[str]) -> str:
    """Return what to do where the names of columns are those of a file, or a sentence."""
    if any(_NOT_A_NAME.search(name) for name in names):
        return "; is the first line a recording? 'tts-prep filelist' and 'ljspeech' read lists without a header"
    return ""


def choose_columns(
    where: str, names: Collection[str], wanted: str | None, *, holds_audio: bool, texts: bool = True
) -> dict[str, str]:
    """Return role → column for a manifest.

    Args:
        where: the manifest, for error messages.
        names: the columns of the manifest.
        wanted: roles set by the user, in the format of `parse_columns`; the other roles are guessed.
        holds_audio: whether the rows locate their recordings themselves. Otherwise a column for the audio is required.
        texts: whether a column for the text is required.

    Raises:
        ConfigurationError: a named column does not exist, or there is no column for the audio or the text.
    """
    given = parse_columns(wanted) if wanted else {}
    for role, name in given.items():
        if name not in names:
            raise ConfigurationError(f"{where}: no column {name!r} for {role}; its columns are {', '.join(names)}")
    taken = set(given.values())
    guessed = {role: name for role, name in guess_columns(names).items() if name not in taken}
    columns = {**guessed, **given}
    if "text" not in columns and "normalized_text" in columns:
        columns["text"] = columns["normalized_text"]
    for role in _NEEDED:
        if role not in columns and not (holds_audio if role == "audio" else not texts):
            raise ConfigurationError(
                f"{where}: none of the columns {', '.join(names) or '(none)'} holds the {role}; "
                f"name it with --columns {role}=COLUMN"
                + (", or give --frontend none" if role == "text" else "")
                + _no_header(names)
            )
    return columns
