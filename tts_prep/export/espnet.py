"""ESPnet data folders: sorted files of ``id value`` lines, and a folder of recordings."""

from __future__ import annotations

from collections import defaultdict

from tts_prep.export.folder import ExportFolder
from tts_prep.export.rows import export_rows, require_waveforms, unique_names, wav_bytes
from tts_prep.loader import UtteranceDataset


def export_espnet(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``wav.scp``, ``text``, ``utt2spk``, ``spk2utt`` and ``wavs/``.

    ``phn_text`` has the phonemes, ``utt2num_samples`` the lengths of recordings. Kaldi's tools require that lines
    sorted by utterance are sorted by speaker too, in bytes. Therefore utterance ids start with the name of the speaker
    and ``-``: with ``_``, those of a speaker 103 would follow those of 1034. In the names of speakers, characters other
    than letters, digits, ``_`` and ``.`` become ``_``: with ``-``, those of anna would follow those of anna-2.

    Raises:
        ConfigurationError: the store has no waveforms.
    """
    require_waveforms(dataset, "ESPnet")
    names = (speaker.replace("-", "_") for speaker in dataset.speakers)
    speaker_names = dict(zip(dataset.speakers, unique_names(names), strict=True))
    tables: dict[str, dict[str, str]] = defaultdict(dict)
    speakers: dict[str, list[str]] = defaultdict(list)
    for row in export_rows(dataset):
        utterance = row.utterance
        assert utterance.waveform is not None
        path = folder.write(f"wavs/{row.name}.wav", wav_bytes(utterance.waveform, dataset.sample_rate))
        speaker = speaker_names[utterance.speaker]
        name = row.name if row.name.startswith(f"{speaker}-") else f"{speaker}-{row.name}"
        # Of "1" and "anna-1" of the speaker anna, both would be "anna-1".
        while name in tables["utt2spk"]:
            name = f"{speaker}-{name}"
        speakers[speaker].append(name)
        tables["wav.scp"][name] = str(path)
        # Kaldi's scripts reject lines without text. A store without texts has no such file.
        for file, text in (("text", utterance.text), ("phn_text", utterance.phoneme_text)):
            if text.strip():
                tables[file][name] = " ".join(text.split())
        tables["utt2spk"][name] = speaker
        tables["utt2num_samples"][name] = str(len(utterance.waveform))
    tables["spk2utt"] = {speaker: " ".join(sorted(names, key=str.encode)) for speaker, names in speakers.items()}
    for file, values in tables.items():
        lines = sorted((f"{name} {value}\n" for name, value in values.items()), key=str.encode)
        folder.write(file, "".join(lines))
