"""Wrong pairings of stores and recipes, generated: none trains on in silence, and the right ones are accepted."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from stores import Row, edit_manifest, make_rows, write_store

from tts_prep.errors import TtsPrepError
from tts_prep.loader import ChainDataset, DataLoader, SegmentCollator, UtteranceDataset
from tts_prep.preprocess.audio.presets import DESCRIPTIONS
from tts_prep.recipes import (
    BigVGANDataset,
    F5TTSDataset,
    FilePathDataset,
    HiFiGANDataset,
    LJSpeechCollector,
    VocosDataset,
)

pytest.importorskip("torch")

SHORT, FULL = 24, int(os.environ.get("PAIRINGS", "1000"))
TEXTS = ["abcabcabc", "bcabcabca", "ccccabcab"]
LENGTHS = [40, 55, 33]


class Pairing(NamedTuple):
    """A use that is right, and one that differs from it in one thing."""

    what: str
    right: Callable[[], Any]
    wrong: Callable[[], Any]


class World:
    """Stores in a folder, with the settings of presets."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self.rng = folder, rng
        self.n = 0

    def store(self, preset: str, rows: list[Row] | None = None, name: str = "", **changes: Any) -> Path:
        """Write a store of a preset with changed settings; ``cleaning`` is how its recordings were cleaned."""
        self.n += 1
        cleaning = changes.pop("cleaning", {})
        described = DESCRIPTIONS[preset]
        audio = {**described.config.as_dict(), **described.reading.as_dict(), **changes}
        configuration = {"audio": audio, **({"cleaning": cleaning} if cleaning else {})}
        path = self.folder / (name or f"store{self.n}")
        write_store(path, rows or make_rows(LENGTHS), n_shards=1, waveform=True, configuration=configuration)
        rates = {name: audio[name] for name in ("sample_rate", "hop_length")}
        edit_manifest(path, lambda manifest: manifest["arrays"]["mel"].update(rates))
        return path


def files(*stores: Path) -> list[str]:
    return [str(store / f"{uid}.wav") for store in stores for uid in UtteranceDataset(store).id]


def sizes(preset: str, **changes: Any) -> dict[str, Any]:
    config = DESCRIPTIONS[preset].config
    return {
        "segment_size": 8 * config.hop_length,
        "n_fft": config.n_fft,
        "num_mels": config.n_mels,
        "hop_size": config.hop_length,
        "win_size": config.win_length,
        "sampling_rate": config.sample_rate,
        "fmin": config.fmin,
        "fmax": config.fmax,
        "fmax_loss": config.fmax,
        **changes,
    }


def hifigan(stores: list[Path], **changes: Any) -> HiFiGANDataset:
    return HiFiGANDataset(files(*stores), **sizes("hifigan", **changes))


def vocos(path: Path, **changes: Any) -> VocosDataset:
    listed = path.with_suffix(".list")
    listed.write_text("\n".join(files(path)), encoding="utf-8")
    given = {"sampling_rate": 24_000, "num_samples": 4000, "seed": 0, "train": True, **changes}
    config = SimpleNamespace(
        filelist_path=listed, sampling_rate=given["sampling_rate"], num_samples=given["num_samples"]
    )
    return VocosDataset(config, given["train"], seed=given["seed"])


def every_example(dataset: Any) -> list[Any]:
    return [dataset[i] for i in range(len(dataset))]


def other_recordings_for_the_loss(world: World) -> Pairing:
    """A loss store that was trimmed, cleaned or recorded otherwise, or is that of another store of the list."""
    rng = world.rng
    n_stores = rng.choice([1, 2])
    lengths = [[length + rng.randrange(3, 30) for length in LENGTHS] for _ in range(n_stores)]
    stores = [world.store("hifigan", make_rows(of), f"s{world.n}-{i}") for i, of in enumerate(lengths)]
    changed = rng.randrange(n_stores)
    kind = rng.choice(["cleaning", "trimming", "recordings", "samples", *["swapped"] * (n_stores - 1)])
    losses, wrong = [], []
    for i, of in enumerate(lengths):
        name = stores[i].name
        losses.append(world.store("hifigan", make_rows(of), f"{name}-right", fmax=11_025.0))
        rows, cleaning = make_rows(of), {}
        if i == changed and kind == "cleaning":
            option = rng.choice(["trim_db", "highpass", "loudness", "trim_vad", "limiter"])
            cleaning = {option: rng.choice([20.0, 35.0, 60.0])}
        if i == changed and kind == "trimming":
            # The recordings lost samples at their ends.
            rows = make_rows([length - rng.randrange(1, 4) for length in of])
        if i == changed and kind == "recordings":
            rows = make_rows([length + 1 for length in reversed(of)])
        if i == changed and kind == "samples":
            for row in rows:
                row.waveform = row.waveform[::-1].copy()
        wrong.append(world.store("hifigan", rows, f"{name}-wrong", fmax=11_025.0, cleaning=cleaning))
    if kind == "swapped":
        wrong = [*losses[1:], losses[0]]
    return Pairing(
        f"loss of other recordings: {kind}",
        lambda: every_example(hifigan(stores, fmax_loss=None, loss_store=losses)),
        lambda: every_example(hifigan(stores, fmax_loss=None, loss_store=wrong)),
    )


def resumed_with_other_settings(world: World) -> Pairing:
    """A state of a loader whose examples were drawn with another seed, length or texts."""
    rng = world.rng
    seed = rng.randrange(1, 1000)
    system = rng.choice(["hifigan", "bigvgan", "vocos", "styletts2", "segments"])
    made: dict[str, tuple[str, Callable[..., Any], list[dict[str, Any]]]] = {
        "hifigan": (
            "hifigan",
            lambda path, **given: hifigan([path], **given),
            [{"seed": seed}, {"segment_size": 256 * rng.randrange(9, 20)}, {"split": False}],
        ),
        "bigvgan": (
            "bigvgan-22k-80",
            lambda path, **given: BigVGANDataset(files(path), None, **sizes("bigvgan-22k-80", **given)),
            [{"seed": seed}, {"segment_size": 256 * rng.randrange(9, 20)}],
        ),
        "vocos": ("vocos", vocos, [{"seed": seed}, {"num_samples": rng.randrange(100, 3999)}, {"train": False}]),
        "styletts2": (
            "styletts2",
            lambda path, **given: FilePathDataset(
                None, path, **{"OOD_data": TEXTS, "min_length": 5, "settings": "any", **given}
            ),
            [{"seed": seed}, {"OOD_data": TEXTS[rng.randrange(1, 3) :]}, {"waveform": False}],
        ),
        "segments": (
            "hifigan",
            lambda path, **given: SegmentCollator(**{"frames": 8, **given}),
            [{"seed": seed}, {"frames": rng.randrange(2, 8)}, {"segments": 2}],
        ),
    }
    preset, make, changes = made[system]
    path = world.store(preset)
    change = rng.choice(changes)

    def loader(**given: Any) -> DataLoader[Any]:
        found = make(path, **given)
        if system == "segments":
            return DataLoader(UtteranceDataset(path), 2, collate_fn=found)
        return DataLoader(found, 2, collate_fn=list)

    state = loader().state_dict()
    return Pairing(
        f"resumed {system} with {change}",
        lambda: loader().load_state_dict(state),
        lambda: loader(**change).load_state_dict(state),
    )


OTHER_SETTINGS: dict[str, list[Any]] = {
    "sample_rate": [16_000, 44_100, 48_000],
    "channel": ["other"],
    "peak": [0.5, 0.9],
    "resampler": ["soxr_vhq", "soxr_lq"],
    "n_fft": [512, 4096],
    "win_length": [800],
    "hop_length": [128, 320],
    "n_mels": [64, 120],
    "fmax": [7600.0, 10_000.0],
    "fmin": [40.0],
    "window": ["hamming"],
    "power": [3],
    "mel_scale": ["kaldi"],
    "power_offset": [1e-3],
}
OF_WAVEFORM = ["sample_rate", "channel", "peak", "resampler"]


def of_another_rate_or_setting(world: World) -> Pairing:
    """A store with one other setting of its preset."""
    rng = world.rng
    uses: dict[str, tuple[str, Callable[[Path], Any]]] = {
        "hifigan": ("hifigan", lambda path: hifigan([path])),
        "bigvgan": (
            "bigvgan-24k-100",
            lambda path: BigVGANDataset(files(path), None, **sizes("bigvgan-24k-100")),
        ),
        "vocos": ("vocos", vocos),
        "f5tts": ("f5-tts", F5TTSDataset),
        "parakeet": ("parakeet", lambda path: LJSpeechCollector()(UtteranceDataset(path))),
    }
    system = rng.choice(list(uses))
    preset, use = uses[system]
    name = rng.choice(OF_WAVEFORM if system == "vocos" else list(OTHER_SETTINGS))
    value = rng.choice(OTHER_SETTINGS[name])
    right, wrong = world.store(preset), world.store(preset, **{name: value})
    return Pairing(f"{system} with {name} {value}", lambda: use(right), lambda: use(wrong))


def chained_with_another(world: World) -> Pairing:
    """A chain whose second store is of another preset, made by the recipe of each, or given to it."""
    rng = world.rng
    other = rng.choice(["bigvgan-44k-128", "cosyvoice2", "univnet"])
    one, same, wrong = world.store("hifigan"), world.store("hifigan"), world.store(other)
    kind = rng.choice(["recipes", "stores", "f5", "lists"])
    if kind == "lists":
        # Both stores have the same ids, so that a list of names says of none which it is.
        lines = [f"{uid}.wav|abc|0" for uid in UtteranceDataset(one).id]
        given = {"OOD_data": TEXTS, "min_length": 5, "settings": "any"}
        chain = ChainDataset(UtteranceDataset(one), UtteranceDataset(same))
        return Pairing(
            "chain with ambiguous ids",
            lambda: FilePathDataset(None, chain, **given)[4],
            lambda: FilePathDataset(lines, chain, **given)[0],
        )
    if kind == "f5":
        right, second = world.store("f5-tts"), world.store("vocos")
        return Pairing(
            "chain of F5-TTS",
            lambda: F5TTSDataset(ChainDataset(UtteranceDataset(right), UtteranceDataset(right)))[3],
            lambda: F5TTSDataset(ChainDataset(UtteranceDataset(right), UtteranceDataset(second)))[3],
        )
    if kind == "recipes":
        of_other = sizes(other, fmax_loss=DESCRIPTIONS[other].config.fmax)
        return Pairing(
            f"chain of recipes with {other}",
            lambda: ChainDataset(hifigan([one]), hifigan([same]))[4],
            lambda: ChainDataset(hifigan([one]), HiFiGANDataset(files(wrong), **of_other, settings="any")),
        )
    return Pairing(f"list over a store of {other}", lambda: hifigan([one, same]), lambda: hifigan([one, wrong]))


def behind_a_url(world: World) -> Pairing:
    """A file list whose folder is a URL."""
    scheme = world.rng.choice(["s3", "gs", "http", "https", "az", "hf"])
    path = world.store("hifigan")
    url = f"{scheme}://{world.rng.choice(['bucket', 'host.example/data'])}/store"
    listed = [f"{url}/{uid}.wav" for uid in UtteranceDataset(path).id]
    return Pairing(f"list over {url}", lambda: hifigan([path]), lambda: HiFiGANDataset(listed, **sizes("hifigan")))


def with_failed_rows(world: World) -> Pairing:
    """A file list of which some utterances are not in the store."""
    path = world.store("hifigan")
    listed = files(path)
    missing = [str(path / f"failed-{i}.wav") for i in range(world.rng.randrange(1, 4))]
    more = [*listed, *missing]
    world.rng.shuffle(more)
    return Pairing(
        f"list with {len(missing)} that failed",
        lambda: HiFiGANDataset(more, **sizes("hifigan"), missing="leave_out")[0],
        lambda: HiFiGANDataset(more, **sizes("hifigan")),
    )


KINDS = (
    other_recordings_for_the_loss,
    resumed_with_other_settings,
    of_another_rate_or_setting,
    chained_with_another,
    behind_a_url,
    with_failed_rows,
)


def silent(folder: Path, n: int) -> list[str]:
    """Return what is wrong with n pairings: those that are taken, fail otherwise, or are right and refused."""
    found = []
    for number in range(n):
        rng = random.Random(number)
        place = folder / str(number)
        pairing = KINDS[number % len(KINDS)](World(place, rng))
        pairing.right()
        try:
            pairing.wrong()
        except TtsPrepError as error:
            if "\n" in str(error):
                found.append(f"{number}: {pairing.what}: more than one line: {error}")
        except Exception as error:
            found.append(f"{number}: {pairing.what}: {type(error).__name__}: {error}")
        else:
            found.append(f"{number}: {pairing.what}: trains on in silence")
    return found


def test_no_wrong_pairing_trains_on_in_silence(tmp_path: Path) -> None:
    assert silent(tmp_path, SHORT) == []


@pytest.mark.soak
def test_none_of_a_thousand_wrong_pairings_trains_on_in_silence(tmp_path: Path) -> None:
    assert silent(tmp_path, FULL) == []
