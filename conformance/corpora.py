"""Compare the rows of corpora with those of other readers, on small corpora in the layouts of the releases.

    python conformance/corpora.py --lhotse DIR --coqui DIR --espnet DIR [--python PYTHON]

Each DIR is a checkout: of lhotse, of Coqui TTS (idiap/coqui-ai-TTS), and of ESPnet, of which only
egs2/jvs/tts1/local/data_prep.sh is needed. PYTHON is that of an environment in which lhotse can be imported. Their code
is run in a process of its own. Compared are the text, the speaker, the recording and the segment of every row; where a
reader has something else on purpose, it is converted first, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import large_corpora

from tts_prep.preprocess import read_corpus
from tts_prep.preprocess.source_utterance import SourceUtterance

Row = tuple[str, str, str, float, float | None]
"""Text, speaker, recording relative to the corpus, start, and end."""

LHOTSE = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
root = Path(sys.argv[2])
def rows(sets):
    found = []
    for part in sets:
        recordings = {r.id: r for r in part["recordings"]}
        for s in part["supervisions"]:
            r = recordings[s.recording_id]
            whole = abs(s.duration - r.duration) < 1e-3 and s.start == 0
            end = None if whole else round(s.start + s.duration, 6)
            found.append([s.text, s.speaker, os.path.relpath(r.sources[0].source, root), s.start, end, s.custom or {}])
    return found
"""
COQUI = """
import ast, json, logging, os, re, sys
from glob import glob
tree = ast.parse(open(sys.argv[1] + "/TTS/tts/datasets/formatters.py", encoding="utf-8").read())
tree.body = [node for node in tree.body if getattr(node, "name", None) == sys.argv[3]]
scope = {"os": os, "re": re, "glob": glob, "logger": logging.getLogger(), "Any": None, "Path": None}
exec(compile(tree, "formatters.py", "exec"), scope)
def rows(items):
    return [[i["text"], i["speaker_name"], os.path.relpath(i["audio_file"], sys.argv[2]), 0.0, None, {}] for i in items]
"""


@dataclass(frozen=True)
class Comparison:
    """A corpus and another reader.

    Attributes:
        corpus: the name of our corpus.
        write: writes a small one.
        peer: the name of the other reader.
        code: prints its rows as JSON.
        theirs: converts one of its rows; None if it has no such row.
        ours: converts one of our rows; None for a row that the other reader leaves out.
        note: what is converted.
    """

    corpus: str
    write: Callable[[Path], None]
    peer: str
    code: str
    theirs: Callable[[list[Any]], Row | None] = lambda row: (row[0], row[1], row[2], row[3], row[4])
    ours: Callable[[Row], Row | None] = lambda row: row
    note: str = ""


def _with_text(row: list[Any], text: str) -> Row:
    return (text, row[1], row[2], row[3], row[4])


def _without_speaker(row: list[Any], text: str = "") -> Row:
    return (text or row[0], "0", row[2], row[3], row[4])


def _punctuated(row: list[Any]) -> Row | None:
    """Return a row of GigaSpeech with marks instead of tags, in lower case; None if it has no speech."""
    marks = {" <COMMA>": ",", " <PERIOD>": ".", " <QUESTIONMARK>": "?", " <EXCLAMATIONPOINT>": "!"}
    text = row[0]
    for tag, mark in marks.items():
        text = text.replace(tag, mark)
    return None if re.fullmatch(r"<\w+>", text) else _without_speaker(row, text.lower())


def _lhotse(code: str) -> str:
    return f"{LHOTSE}{code}"


_HIFITTS = """
from lhotse.recipes.hifitts import ID2SPEAKER, prepare_hifitts
ids = {name: number for number, name in ID2SPEAKER.items()}
found = rows(prepare_hifitts(root).values())
print(json.dumps([[r[5]["text_punct"], ids[r[1]], *r[2:]] for r in found]))
"""
_GIGASPEECH = """
from lhotse.recipes.gigaspeech import parse_utterance
audios = json.load(open(root / "GigaSpeech.json"))["audios"]
pairs = [parse_utterance({"sample_rate": 16000, "channels": 1, "duration": 3.0, **audio}, root) for audio in audios]
print(json.dumps(rows({"recordings": [r], "supervisions": s} for r, s in pairs)))
"""

COMPARISONS = (
    Comparison(
        "librispeech",
        large_corpora.write_librispeech,
        "lhotse",
        _lhotse(
            "from lhotse.recipes.librispeech import prepare_librispeech\n"
            "print(json.dumps(rows(prepare_librispeech(root, dataset_parts=['dev-clean']).values())))"
        ),
        theirs=lambda row: _with_text(row, row[0].lower()),
        note="texts in lower case here",
    ),
    Comparison(
        "arctic",
        large_corpora.write_arctic,
        "lhotse",
        _lhotse(
            "from lhotse.recipes.cmu_arctic import prepare_cmu_arctic\n"
            "print(json.dumps(rows([prepare_cmu_arctic(root)])))"
        ),
    ),
    Comparison(
        "mls",
        lambda root: large_corpora.write_mls(root, ("train", "dev", "test"), ".flac"),
        "lhotse",
        _lhotse(
            "from lhotse.recipes.mls import prepare_mls\n"
            "print(json.dumps(rows(prepare_mls(root, opus=False)['german'].values())))"
        ),
    ),
    Comparison(
        "mls",
        large_corpora.write_mls,
        "Coqui TTS",
        COQUI + "print(json.dumps(rows(scope['mls'](sys.argv[2], 'mls_german/dev/transcripts.txt'))))",
        theirs=lambda row: (row[0], row[1].removeprefix("MLS_"), row[2].removesuffix(".wav"), row[3], row[4]),
        ours=lambda row: (row[0], row[1], row[2].rpartition(".")[0], row[3], row[4]),
        note="speakers with MLS_ there; recordings converted to WAV",
    ),
    Comparison(
        "fleurs",
        large_corpora.write_fleurs_of_lhotse,
        "lhotse",
        _lhotse(
            "from lhotse.recipes.fleurs import prepare_fleurs\n"
            "import contextlib\n"
            "with contextlib.redirect_stdout(sys.stderr):\n"
            "    found = prepare_fleurs(root, root / 'out', ['de_de'])\n"
            "print(json.dumps(rows(found['de_de'].values())))"
        ),
        theirs=lambda row: _without_speaker(row, row[5]["raw_text"]),
        note="the text with capitals and punctuation here; a speaker per reading there, of which one may have several",
    ),
    Comparison("hifitts", large_corpora.write_hifitts, "lhotse", _lhotse(_HIFITTS), note="names of speakers there"),
    Comparison(
        "gigaspeech",
        large_corpora.write_gigaspeech,
        "lhotse",
        _lhotse(_GIGASPEECH),
        theirs=_punctuated,
        note="tags become punctuation and capitals lower case here; segments without speech left out",
    ),
    Comparison(
        "folder",
        large_corpora.write_wenetspeech4tts,
        "lhotse",
        _lhotse(
            "from lhotse.recipes.wenetspeech4tts import prepare_wenetspeech4tts\n"
            "print(json.dumps(rows(prepare_wenetspeech4tts(root, 'Premium').values())))"
        ),
        theirs=_without_speaker,
        note="WenetSpeech4TTS",
    ),
    Comparison(
        "mailabs",
        large_corpora.write_mailabs,
        "Coqui TTS",
        COQUI + "print(json.dumps(rows(scope['mailabs'](sys.argv[2]))))",
        theirs=lambda row: _with_text(row, row[0].replace("2.", "zweiten")),
        ours=lambda row: None if row[1] == "mix" else row,
        note="the original text there, the normalized one here; books of several speakers are left out there",
    ),
    Comparison(
        "jvs",
        large_corpora.write_jvs,
        "ESPnet",
        "",
        note="parallel100 and nonpara30 only there",
    ),
)


def espnet_rows(script: Path, root: Path, folder: Path) -> list[list[Any]]:
    """Return the rows of ESPnet's data_prep.sh, with the two scripts of Kaldi that it calls replaced by nothing."""
    (folder / "utils").mkdir()
    for name in ("utt2spk_to_spk2utt.pl", "fix_data_dir.sh"):
        (folder / "utils" / name).write_text("#!/bin/sh\nexit 0\n")
        (folder / "utils" / name).chmod(0o755)
    found = []
    for speaker in ("jvs001", "jvs002"):
        subprocess.run(
            ["bash", script, root, speaker, folder / speaker], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
        for style in ("nonpara30", "parallel100"):
            data = Path(f"{folder / speaker}_{style}")
            tables = {
                name: dict(line.split(" ", 1) for line in (data / name).read_text("utf-8").splitlines())
                for name in ("wav.scp", "text", "utt2spk")
            }
            for identifier, path in tables["wav.scp"].items():
                audio = Path(path).relative_to(root).as_posix()
                found.append([tables["text"][identifier], tables["utt2spk"][identifier], audio, 0.0, None, {}])
    return found


def our_rows(name: str, root: Path) -> list[Row]:
    """Return our rows."""
    found = read_corpus(name, root, options={"speakers": "none"} if name == "folder" else None)[0]
    rows = [row for row in found if isinstance(row, SourceUtterance)]
    return [(row.text, row.speaker, row.audio, row.start, row.end) for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("lhotse", "coqui", "espnet"):
        parser.add_argument(f"--{name}", type=Path, metavar="DIR")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    checkouts = {"lhotse": options.lhotse, "Coqui TTS": options.coqui, "ESPnet": options.espnet}
    wrong = 0
    print("| corpus | other reader | rows | different | remark |\n| --- | --- | --- | --- | --- |")
    for one in COMPARISONS:
        checkout = checkouts[one.peer]
        if checkout is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "corpus")
            one.write(root)
            ours = [row for row in map(one.ours, our_rows(one.corpus, root)) if row]
            if one.peer == "ESPnet":
                script = checkout / "egs2/jvs/tts1/local/data_prep.sh"
                found = espnet_rows(script.absolute(), root, Path(folder))
            else:
                command = [options.python, "-c", one.code, checkout.absolute(), root, one.corpus]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise SystemExit(f"{one.corpus}, {one.peer}: {done.stderr[-800:]}")
                found = json.loads(done.stdout)
            theirs = [row for row in map(one.theirs, found) if row]
        different = len(set(ours) ^ set(theirs)) + abs(len(ours) - len(theirs))
        wrong += different
        print(f"| `{one.corpus}` | {one.peer} | {len(ours)} | {different} | {one.note} |")
        if different:
            print(*sorted(set(ours) ^ set(theirs), key=str), sep="\n", file=sys.stderr)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
