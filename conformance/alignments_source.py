"""Run five systems' own code on TextGrids, and write the phones and durations that it gives as JSON.

conformance/alignments.py calls this file with another Python, since PaddleSpeech needs praatio before 6 and a
librosa before 0.10. It reads a list of cases from standard input, and imports nothing of tts-prep.

What runs of each source, in a folder named after its repository:

- ming024/FastSpeech2: ``Preprocessor.get_alignment``
- SpeechBrain: ``get_alignment`` and ``get_last_phoneme_info`` of its recipe for LJ Speech
- PaddleSpeech: ``readtg``, ``merge_silence``, ``process_sentence`` with its cut of silences and its correction of sums;
  the mel, pitch and energy that it asks for are zeros of the right length
- ESPnet: ``get_phoneme_durations`` of pyscripts/utils/mfa_format.py, on MFA's JSON with the intervals of the TextGrid
- SpeeChain: ``cal_duration_by_tg``, ``SpeechTextDataset`` with its cut of silences, and the decoder's
  ``proc_duration``; the share of the mel, one expression in the decoder's ``forward``, is written here
"""

from __future__ import annotations

import argparse
import contextlib
import decimal
import importlib.util
import json
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from definitions import definitions


def module(path: Path) -> Any:
    """Return the module of a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def samples_of(case: dict[str, Any]) -> np.ndarray:
    """Return a waveform whose samples are their positions: what is left of it says where it was cut."""
    return (np.arange(case["n_samples"]) / 2**24).astype(np.float32)


def kept_of(waveform: np.ndarray) -> list[int]:
    """Return the first sample of a cut waveform, and the one after its last."""
    places = np.round(waveform[[0, -1]].astype(np.float64) * 2**24).astype(int).tolist()
    return [places[0], places[1] + 1]


class FastSpeech2:
    """ming024/FastSpeech2."""

    def __init__(self, root: Path) -> None:
        import yaml

        sys.path.insert(0, str(root))
        from preprocessor.preprocessor import Preprocessor

        config = yaml.safe_load((root / "config/LJSpeech/preprocess.yaml").read_text())
        self.preprocessor = Preprocessor(config)

    def __call__(self, case: dict[str, Any], _: Path) -> dict[str, Any]:
        import tgt

        self.preprocessor.sampling_rate, self.preprocessor.hop_length = case["rate"], case["hop"]
        tier = tgt.io.read_textgrid(case["path"]).get_tier_by_name("phones")
        phones, frames, start, end = self.preprocessor.get_alignment(tier)
        return {"phones": phones, "frames": frames, "kept": [int(case["rate"] * start), int(case["rate"] * end)]}


class SpeechBrain:
    """SpeechBrain."""

    def __init__(self, root: Path) -> None:
        path = root / "recipes/LJSpeech/ljspeech_prepare.py"
        self.code = definitions(path, "get_alignment", "get_last_phoneme_info", np=np)

    def __call__(self, case: dict[str, Any], _: Path) -> dict[str, Any]:
        import tgt

        rate = case["rate"]
        grid = tgt.io.read_textgrid(case["path"], include_empty_intervals=True)
        words, tier = (grid.get_tier_by_name(name) for name in ("words", "phones"))
        flags = self.code.get_last_phoneme_info(words, tier)
        phones, frames, start, end, _flags = self.code.get_alignment(tier, rate, case["hop"], flags)
        return {"phones": phones, "frames": frames, "kept": [int(rate * start), int(rate * end)]}


class PaddleSpeech:
    """PaddleSpeech, with or without its cut of silences."""

    def __init__(self, root: Path, cut: bool) -> None:
        import librosa

        self.cut = cut
        self.durations = module(root / "utils/gen_duration_from_textgrid.py")
        self.utils = module(root / "paddlespeech/t2s/datasets/preprocess_utils.py")
        self.preprocess = definitions(
            root / "paddlespeech/t2s/exps/fastspeech2/preprocess.py",
            "process_sentence",
            librosa=librosa,
            np=np,
            Path=Path,
            compare_duration_and_mel_length=self.utils.compare_duration_and_mel_length,
        )

    def __call__(self, case: dict[str, Any], folder: Path) -> dict[str, Any]:
        import soundfile

        rate, hop = case["rate"], case["hop"]
        line = self.durations.readtg(case["path"], sample_rate=rate, n_shift=hop)
        list_file = folder / "durations.txt"
        list_file.write_text(f"case|speaker|{line}\n", encoding="utf-8")
        sentences, _ = self.utils.get_phn_dur(list_file)
        self.utils.merge_silence(sentences)
        wav = folder / "case.wav"
        soundfile.write(wav, samples_of(case), rate, "FLOAT")
        kept: list[list[int]] = []

        def mel(waveform: np.ndarray) -> np.ndarray:
            kept.append(kept_of(waveform))
            return np.zeros((1 + len(waveform) // hop, 1), np.float32)

        record = self.preprocess.process_sentence(
            types.SimpleNamespace(fs=rate, n_shift=hop),
            *(wav, sentences, folder),
            mel_extractor=types.SimpleNamespace(get_log_mel_fbank=mel),
            pitch_extractor=types.SimpleNamespace(get_pitch=lambda _, duration: np.ones(len(duration))),
            energy_extractor=types.SimpleNamespace(get_energy=lambda _, duration: np.ones(len(duration))),
            cut_sil=self.cut,
        )
        if record is None:
            raise ValueError("PaddleSpeech drops the utterance: its durations cannot be corrected")
        return {"phones": record["phones"], "frames": np.array(record["durations"]).tolist(), "kept": kept[0]}


class ESPnet:
    """ESPnet."""

    def __init__(self, root: Path) -> None:
        path = root / "egs2/TEMPLATE/asr1/pyscripts/utils/mfa_format.py"
        self.code = definitions(path, "get_phoneme_durations", "punctuation", Decimal=decimal.Decimal)

    def __call__(self, case: dict[str, Any], _: Path) -> dict[str, Any]:
        from praatio import textgrid

        grid = textgrid.openTextgrid(case["path"], includeEmptyIntervals=False)
        tiers = {
            name: {"entries": [list(entry) for entry in grid.tierDict[name].entryList]} for name in ("words", "phones")
        }
        text = " ".join(entry[-1] for entry in tiers["words"]["entries"])
        data = {"end": grid.maxTimestamp, "tiers": tiers}
        phones, frames = self.code.get_phoneme_durations(data, text, case["rate"], case["hop"])
        return {"phones": phones, "frames": frames, "kept": [0, case["n_samples"]]}


class SpeeChain:
    """SpeeChain."""

    def __init__(self, root: Path) -> None:
        sys.path.insert(0, str(root))
        from speechain.dataset.speech_text import SpeechTextDataset
        from speechain.module.decoder.nar_tts import FastSpeech2Decoder

        self.dataset, self.decoder = SpeechTextDataset, FastSpeech2Decoder
        self.durations = module(root / "datasets/pyscripts/duration_calculator.py")

    def __call__(self, case: dict[str, Any], folder: Path) -> dict[str, Any]:
        import torch

        texts, durations = self.durations.cal_duration_by_tg([case["path"]], None, True)
        (name,) = texts
        feat = folder / "case.npz"
        np.savez(feat, feat=samples_of(case)[:, None], sample_rate=case["rate"])
        main_data = {}
        for key, value in (("feat", str(feat)), ("text", str(texts[name])), ("duration", str(durations[name]))):
            main_data[key] = str(folder / key)
            Path(main_data[key]).write_text(f"{name} {value}", encoding="utf-8")
        dataset = self.dataset(main_data=main_data, sample_rate=case["rate"])
        example = dataset[name]
        batch = dataset.collate_main_data_fn({key: [example[key]] for key in ("feat", "text", "duration")})
        duration, feat_len = batch["duration"], torch.tensor([1 + len(example["feat"]) // case["hop"]])
        shares = duration / duration.sum(dim=-1, keepdims=True) * feat_len.unsqueeze(-1)
        decoder = types.SimpleNamespace(training=True, reduction_factor=1)
        frames = self.decoder.proc_duration(decoder, shares, min_frame_num=0)[0].int().tolist()
        # A space of no length stands between all words.
        pairs = zip(example["text"], example["duration"], strict=True)
        kept = [i for i, (phone, seconds) in enumerate(pairs) if phone != "<space>" or seconds > 0]
        return {
            "phones": [example["text"][i] for i in kept],
            "frames": [frames[i] for i in kept],
            "kept": kept_of(example["feat"].numpy()[:, 0]),
        }


def run(system: Any, case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a system gives for a case, or the error with which it refuses it."""
    try:
        found: dict[str, Any] = system(case, folder)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Run five systems' own code on the TextGrids of standard input.")
    parser.add_argument("root", type=Path, metavar="CHECKOUTS", help="the folder of their repositories")
    root = parser.parse_args().root
    warnings.simplefilter("ignore")
    cases = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        systems = {
            "ming024": FastSpeech2(root / "FastSpeech2"),
            "speechbrain": SpeechBrain(root / "speechbrain"),
            "paddlespeech": PaddleSpeech(root / "PaddleSpeech", cut=True),
            "paddlespeech-kept": PaddleSpeech(root / "PaddleSpeech", cut=False),
            "espnet": ESPnet(root / "espnet"),
            "speechain": SpeeChain(root / "SpeeChain"),
        }
        results = [{name: run(system, case, Path(folder)) for name, system in systems.items()} for case in cases]
    json.dump(results, sys.stdout, default=lambda number: number.item())


if __name__ == "__main__":
    main()
