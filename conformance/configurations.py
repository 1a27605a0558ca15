"""Read the configuration files of public systems, and say as which system's each is read, or why it is refused.

    python conformance/configurations.py DIR

DIR has a checkout of each repository of `SOURCES` at its commit, in a folder of its name. Every JSON and YAML file that
names a hop or a filter bank is read. The mels of the presets, which most of these files are, are compared with their
sources' code by conformance/presets.py.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

from tts_prep.errors import TtsPrepError
from tts_prep.vocoders.systems import read_vocoder_config

SOURCES = {
    "jik876/hifi-gan": ("4769534", {"HiFi-GAN"}),
    "NVIDIA/BigVGAN": ("7d2b454", {"BigVGAN"}),
    "jaywalnut310/vits": ("2e561ba", {"VITS"}),
    "myshell-ai/MeloTTS": ("2091453", {"MeloTTS"}),
    "RVC-Boss/GPT-SoVITS": ("48b1a01", {"GPT-SoVITS"}),
    "coqui-ai/TTS": ("dbf1a08", {"Coqui TTS"}),
    "idiap/coqui-ai-TTS": ("7cde79e", {"Coqui TTS"}),
    "open-mmlab/Amphion": ("d3de90f", {"Amphion"}),
    "gemelo-ai/vocos": ("c859e3b", {"Vocos"}),
    "NVIDIA/NeMo": ("8cfedd7", {"NeMo"}),
    "maum-ai/univnet": ("9bb2b54", {"UnivNet"}),
    "r9y9/wavenet_vocoder": ("a35fff7", {"r9y9's WaveNet"}),
    "openvpi/SingingVocoders": ("4d0889c", {"openvpi's SingingVocoders"}),
    "yl4579/StyleTTS2": ("5cedc71", {"StyleTTS2"}),
    "SWivid/F5-TTS": ("2ae2c9b", {"F5-TTS"}),
    "shivammehta25/Matcha-TTS": ("108906c", {"Matcha-TTS"}),
    "kan-bayashi/ParallelWaveGAN": ("8674037", {"ParallelWaveGAN"}),
    "fishaudio/fish-speech": ("3dd1f85", {"Fish Speech"}),
    "FunAudioLLM/CosyVoice": ("ace7c47", {"CosyVoice"}),
}
"""The repositories, their commits, and the systems whose files they have."""

HAS_MEL = re.compile(
    r"hop_size|hop_length|n_window_stride|mel_hop|n_mels|num_mels|nfilt|win_length|n_fft|sample_rate|sampling_rate|mel_mean"
)
REFUSED_BY_NAME = re.compile(r"a file of ([^:]+):")


def main() -> None:
    root = Path(sys.argv[1])
    wrong, counts = [], Counter()
    print("| repository | files | equal to a preset | other mels | refused by name | not recognized |")
    print("| --- | --- | --- | --- | --- | --- |")
    for source, (commit, systems) in SOURCES.items():
        found: Counter[str] = Counter()
        files = [path for kind in ("json", "yaml", "yml") for path in (root / source.split("/")[1]).rglob(f"*.{kind}")]
        for path in sorted(files):
            if not HAS_MEL.search(path.read_text(encoding="utf-8", errors="replace")):
                continue
            try:
                settings = read_vocoder_config(path)
            except TtsPrepError as error:
                named = REFUSED_BY_NAME.search(str(error))
                system = named[1] if named else None
                found["refused" if named else "unknown"] += 1
            else:
                system = settings.system
                found["preset" if settings.preset else "other"] += 1
            if system is not None and system not in systems:
                wrong.append(f"{path}: read as a file of {system}")
        cells = (
            f"{source} {commit}",
            found.total(),
            *(found[name] for name in ("preset", "other", "refused", "unknown")),
        )
        print(f"| {' | '.join(map(str, cells))} |")
        counts += found
    print(f"{counts.total()} files, {len(wrong)} read as those of another system", *wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
