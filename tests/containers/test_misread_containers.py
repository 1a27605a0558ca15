"""Recordings that libsndfile misreads or refuses have their own samples, or are refused with the reason."""

from __future__ import annotations

import io
import re
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from recordings import (
    PIPED,
    RATE,
    headerless_mp3,
    ogg_flac,
    opus_of_rate,
    recording,
    samples,
    sph,
    w64,
    wav,
    wav_format,
)

from tts_prep.errors import AudioError
from tts_prep.preprocess.audio.reading import read_waveform

ID3V1 = b"TAG" + b"Title".ljust(125, b"\0")
ID3V2 = b"ID3\4\0\0\0\0\1\0" + b"TIT2".ljust(128, b"\0")
FLOATS = samples(0.5).astype("<f4")
INTEGERS = np.round(samples(0.5) * 2**15).astype("<i2")


def read(folder: Path, data: bytes, rate: int = RATE) -> np.ndarray:
    path = folder / "a"
    path.write_bytes(data)
    return read_waveform(path, rate)


def refusal(folder: Path, data: bytes) -> str:
    with pytest.raises(AudioError) as error:
        read(folder, data)
    return str(error.value)


@pytest.mark.parametrize("rate", [0, 8000, 12345, 16000, 48000])
def test_opus_is_decoded_at_48_khz_whatever_rate_its_header_names(tmp_path: Path, rate: int) -> None:
    """RFC 7845, section 5.1: the input sample rate is not the rate to decode at."""
    waveform = read(tmp_path, opus_of_rate(rate), 48_000)
    with soundfile.SoundFile(io.BytesIO(opus_of_rate(48_000))) as file:
        np.testing.assert_array_equal(waveform, file.read(dtype="float32"))
    assert len(waveform) == 2 * 48_000


@pytest.mark.parametrize("guid", [False, True])
def test_wave64_of_floats_has_them_whether_a_guid_says_so_or_not(tmp_path: Path, guid: bool) -> None:
    data = w64((b"fmt ", wav_format(3, 32, 4, guid=guid)), (b"data", FLOATS.tobytes()))
    np.testing.assert_array_equal(read(tmp_path, data), FLOATS)


def test_other_chunks_and_stray_bytes_in_wave64_are_no_samples(tmp_path: Path) -> None:
    form, body, bext = (b"fmt ", wav_format(1, 16, 2)), (b"data", INTEGERS.tobytes()), (b"bext", b"x" * 602)
    for data in (
        w64(form, bext, body),
        w64(form, body, bext),
        w64(form, body) + b"stray bytes",
        w64(form, body) + ID3V1,
    ):
        np.testing.assert_array_equal(read(tmp_path, data), INTEGERS / 2**15)


def test_gsm_of_an_odd_number_of_bytes_gains_no_block(tmp_path: Path) -> None:
    memory = io.BytesIO()
    soundfile.write(memory, np.zeros(320) + 0.1, RATE, "GSM610", format="WAV")
    data = memory.getvalue()
    block = data[data.index(b"data") + 8 :][:65]
    form = data[data.index(b"fmt ") + 8 :][:20]
    for n_blocks in (1, 2, 3):
        found = read(tmp_path, wav((b"fmt ", form), (b"data", block * n_blocks)))
        assert len(found) == 320 * n_blocks


@pytest.mark.parametrize("kind", ["IMA_ADPCM", "MS_ADPCM"])
def test_the_padding_of_the_last_block_of_adpcm_is_no_samples(tmp_path: Path, kind: str) -> None:
    memory = io.BytesIO()
    soundfile.write(memory, samples(0.5), RATE, kind, format="WAV")
    data = memory.getvalue()
    place = data.index(b"fact") + 8
    complete = read(tmp_path, data[:place] + struct.pack("<I", 0) + data[place + 4 :])
    data = data[:place] + struct.pack("<I", 12_000) + data[place + 4 :]
    found = read(tmp_path, data)
    assert len(found) == 12_000 < len(complete)
    np.testing.assert_array_equal(found, complete[:12_000])


def test_24_bits_in_32_are_the_upper_ones_or_refused(tmp_path: Path) -> None:
    """Multiple Channel Audio Data and WAVE Files: bits are left-justified, those below are 0."""
    values = np.round(samples(0.5) * 2**23).astype("<i4")
    form = (b"fmt ", wav_format(1, 24, 4))
    np.testing.assert_array_equal(read(tmp_path, wav(form, (b"data", (values << 8).tobytes()))), values / 2**23)
    np.testing.assert_array_equal(read(tmp_path, w64(form, (b"data", (values << 8).tobytes()))), values / 2**23)
    assert "24 bits in 4 bytes whose lower bytes are not 0" in refusal(tmp_path, wav(form, (b"data", values.tobytes())))


def piped(name: str) -> bytes:
    if name != "WAV, 24 bits":
        return PIPED[name]()
    data = recording("wav", subtype="PCM_24")
    return data[:4] + b"\xff" * 4 + data[8 : data.index(b"data") + 4] + b"\xff" * 4 + data[data.index(b"data") + 8 :]


@pytest.mark.parametrize("name", ["WAV, 24 bits", *(name for name in PIPED if name != "FLAC")])
def test_what_follows_a_piped_recording_is_no_samples(tmp_path: Path, name: str) -> None:
    data = piped(name)
    waveform = read(tmp_path, data)
    np.testing.assert_array_equal(read(tmp_path, data + ID3V1), waveform)
    for between in (b"", ID3V2):
        assert f"another recording begins at byte {len(data + between):,}" in refusal(tmp_path, data + between + data)


@pytest.mark.parametrize("name", ["wav", "w64", "aiff", "au", "caf", "nist"])
def test_a_recording_behind_a_tag_is_not_left_out_silently(tmp_path: Path, name: str) -> None:
    data = recording(name)
    assert f"another recording begins at byte {len(data + ID3V2):,}" in refusal(tmp_path, data + ID3V2 + data)


def test_aiff_of_an_odd_size_without_padding_does_not_hide_the_next(tmp_path: Path) -> None:
    """As sox writes it."""
    data = recording("aiff", np.zeros(999) + 0.1, "PCM_24").rstrip(b"\0")
    size = 54 - 8 + 3 * 999
    data = data[:4] + struct.pack(">I", size) + data[8:42] + struct.pack(">I", 8 + 3 * 999) + data[46 : 8 + size]
    assert data[38:42] == b"SSND"
    assert len(data) == 8 + size
    assert f"another recording begins at byte {len(data):,}" in refusal(tmp_path, data + data)


def test_mp3_with_a_tag_between_two_recordings_is_refused(tmp_path: Path) -> None:
    data, _ = headerless_mp3()
    assert f"another recording begins at byte {len(data):,}" in refusal(tmp_path, data + ID3V2 + data)
    np.testing.assert_array_equal(read(tmp_path, data + ID3V2), read(tmp_path, data))


def test_a_file_that_looks_like_a_resource_fork_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = recording("mp3")
    waveform = read(tmp_path, data)
    (tmp_path / "._").write_bytes(b"anything")
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(read(tmp_path, data), waveform)


def test_mp3_in_wav_has_the_samples_of_its_frames(tmp_path: Path) -> None:
    data, _ = headerless_mp3()
    inside = wav((b"fmt ", wav_format(0x55, 0, 1) + struct.pack("<H", 0)), (b"data", data))
    np.testing.assert_array_equal(read(tmp_path, inside), read(tmp_path, data))


def test_flac_in_ogg_has_the_samples_of_flac(tmp_path: Path) -> None:
    data = ogg_flac()
    np.testing.assert_array_equal(read(tmp_path, data), read(tmp_path, recording("flac")))
    assert "truncated" in refusal(tmp_path, data[:-100])
    assert f"another recording begins at byte {len(data):,}" in refusal(tmp_path, data + data)


@pytest.mark.parametrize("bits", [24, 32])
@pytest.mark.parametrize("little", [False, True])
def test_sphere_of_24_and_32_bits_is_read_in_either_order(tmp_path: Path, bits: int, little: bool) -> None:
    data, values = sph(bits, little)
    np.testing.assert_allclose(read(tmp_path, data), values, rtol=0, atol=2**-24)
    assert "truncated" in refusal(tmp_path, data[:-1])


def test_other_forms_of_iff_are_refused(tmp_path: Path) -> None:
    data = (
        b"FORM" + struct.pack(">I", 36 + 200) + b"8SVXVHDR" + struct.pack(">IIIIHBBI", 20, 100, 0, 0, 8000, 1, 0, 65536)
    )
    assert "IFF of the form '8SVX', expected AIFF or AIFC" in refusal(tmp_path, data + b"BODY" + bytes(4 + 200))


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"wvpk\x20\x00\x00\x00", "WavPack"),
        (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "WMA"),
        (b"#!AMR\n\x3c\x91", "AMR"),
    ],
)
def test_the_refusal_of_a_known_container_names_it(tmp_path: Path, head: bytes, name: str) -> None:
    message = refusal(tmp_path, head + bytes(1000))
    assert re.search(rf"cannot be read as audio \({re.escape(name)}\), convert it to WAV or FLAC", message)
