"""Durations: the rounding of four systems, and sums that equal the number of mel frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tts_prep.errors import AlignmentError
from tts_prep.imports.alignment import ROUNDINGS, Alignment, AlignmentConfig, frames_of, settle

DATA = Path(__file__).parents[4] / "shared" / "data"
BOUNDS = [0.0, 0.21, 0.3, 0.47, 0.52, 0.9, 1.0]

# What the systems' own functions gave for these phones: `get_alignment` of ming024/FastSpeech2 and of SpeechBrain's
# ljspeech_prepare.py, `readtg` of PaddleSpeech's gen_duration_from_textgrid.py, `get_phoneme_durations` of ESPnet's
# mfa_format.py, `cal_duration_by_tg` and the decoder's `proc_duration` of SpeeChain. ming024 drops the silences at the
# ends, the others keep them.
SOURCES = {
    "ming024": {(22050, 256): [8, 14, 5, 33], (24000, 300): [7, 14, 4, 30]},
    "paddlespeech": {(22050, 256): [18, 7, 15, 4, 33, 9], (24000, 300): [16, 8, 13, 4, 31, 8]},
    "espnet": {(22050, 256): [18, 7, 15, 4, 33, 10], (24000, 300): [16, 8, 13, 4, 31, 9]},
    "speechain": {(22050, 256): [18, 8, 15, 4, 33, 9], (24000, 300): [17, 7, 14, 4, 31, 8]},
}


@pytest.mark.parametrize(("rounding", "frames"), SOURCES.items())
def test_each_rounding_gives_the_frames_of_its_system(rounding: str, frames: dict[tuple[int, int], list[int]]) -> None:
    for (rate, hop), expected in frames.items():
        bounds = BOUNDS[1:-1] if rounding == "ming024" else BOUNDS
        n_frames = 1 + rate // hop
        found = frames_of(bounds, rounding, rate, hop, n_frames)
        if rounding == "espnet":
            found, _ = settle(found, n_frames, "")
        assert found.tolist() == expected


def test_speechain_reads_boundaries_to_five_decimals() -> None:
    # SpeeChain's own functions give 134 and 13 frames; the second length is 0.12501 s in full, and 0.12500 s as read.
    bounds = [0.0, 1.1994256757156174, 1.324431855061558]
    assert frames_of(bounds, "speechain", 22050, 200, 147).tolist() == [134, 13]
    grid = Alignment("a", ("AH0", "sil"), np.array(bounds))
    assert grid.span(AlignmentConfig("speechain"), 22050, 200, 29204) == (0, 29204 - int(0.12 / 1.32 * 29204))


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_the_sum_is_that_of_the_mel_for_any_boundaries(rounding: str) -> None:
    random = np.random.default_rng(len(rounding))
    config = AlignmentConfig(rounding)
    for _ in range(200):
        seconds = random.gamma(2, 0.05, random.integers(3, 60)) + 0.02
        bounds = np.concatenate([[0.0], np.cumsum(seconds)])
        n_frames = 1 + int(bounds[-1] * 22050) // 256
        frames, _ = Alignment("a", None, bounds).durations(config, 22050, 256, n_frames)
        assert frames.sum() == n_frames
        assert (frames >= 0).all()


def test_differences_of_two_frames_go_to_the_last_phone_or_the_first_and_are_counted() -> None:
    assert [list(found) if np.ndim(found) else found for found in settle(np.array([4, 5]), 11, "a")] == [[4, 7], 2]
    assert settle(np.array([4, 5]), 8, "a")[0].tolist() == [4, 4]
    assert settle(np.array([4, 1]), 3, "a")[0].tolist() == [2, 1]
    # PaddleSpeech's compare_duration_and_mel_length leaves no phone without frames.
    assert settle(np.array([4, 1]), 4, "a")[0].tolist() == [3, 1]
    assert settle(np.array([1, 7, 1]), 7, "a")[0].tolist() == [1, 5, 1]
    assert settle(np.array([4, 5]), 9, "a")[1] == 0


def test_frames_that_the_durations_do_not_cover_can_be_cut_off_the_mel() -> None:
    frames, cut = settle(np.array([4, 5]), 11, "a", "cut")
    assert (frames.tolist(), cut) == ([4, 5], 2)
    assert settle(np.array([4, 5]), 8, "a", "cut")[0].tolist() == [4, 4]


def test_what_differs_by_more_is_refused_with_both_numbers() -> None:
    with pytest.raises(
        AlignmentError,
        match=r"u.npy: the durations sum to 9 frames, the mel has 12; expected a difference of at most 2",
    ):
        settle(np.array([4, 5]), 12, "u.npy")
    with pytest.raises(AlignmentError, match=r"no phone is long enough"):
        settle(np.array([1, 1, 1]), 1, "u.npy")


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_an_alignment_of_another_recording_is_refused_with_every_rounding(rounding: str) -> None:
    with pytest.raises(AlignmentError, match="is it the alignment of another recording"):
        Alignment("a", None, np.array(BOUNDS)).durations(AlignmentConfig(rounding), 22050, 256, 120)


@pytest.mark.skipif(not DATA.is_dir(), reason="the durations of a Tacotron 2 are not here")
def test_durations_of_real_clips_sum_to_the_frames_of_their_mels() -> None:
    import soundfile

    from tts_prep.imports.alignment import AlignmentFolder
    from tts_prep.preprocess.audio.framing import n_frames
    from tts_prep.preprocess.audio.presets import PRESETS

    clips = sorted((DATA / "durations").glob("*.npy"))
    assert len(clips) == 20
    for clip in clips:
        n_samples = soundfile.info(DATA / "ljspeech-mini" / "wavs" / f"{clip.stem}.wav").frames
        frames = n_frames(n_samples, PRESETS["tacotron2"])
        found = AlignmentFolder(DATA / "durations").read(clip.stem, "", None)
        durations, changed = found.durations(AlignmentConfig(), 22050, 256, frames)
        assert (durations.sum(), changed) == (frames, 0)
