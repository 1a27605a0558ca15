from __future__ import annotations

import io
import json
import random
import socket
import threading
import wave
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reviewing import Serve, example_rows
from stores import make_rows, write_store

from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import add_columns
from tts_prep.review.decisions import Decision, DecisionFile, read_decisions
from tts_prep.review.pages import Pages
from tts_prep.review.sounds import Sounds

HOSTILE = "<script>document.title='owned'</script><img src=http://evil.invalid/x onerror=alert(1)>\"' =1+1 \u202e"


def test_rows_are_sorted_filtered_searched_and_paged(serve: Serve) -> None:
    review = serve()
    seconds = np.array([row.seconds for row in review.rows])
    found = review.get("rows?sort=seconds&order=descending&columns=seconds,speaker&n=3")
    assert (found["total"], [row["row"] for row in found["rows"]]) == (6, [3, 2, 0])
    assert [row["cells"]["seconds"] for row in found["rows"]] == sorted(seconds.tolist(), reverse=True)[:3]
    assert [row["row"] for row in review.get("rows?sort=seconds&start=4&n=3")["rows"]] == [2, 3]
    assert [row["row"] for row in review.get("rows?sort=speaker")["rows"]] == [0, 3, 2, 5, 1, 4]
    condition = "filter=seconds+%3E+0.5+and+speaker+%3D%3D+%22ljspeech%22"
    assert [row["row"] for row in review.get(f"rows?{condition}&sort=row")["rows"]] == [3]
    assert [row["row"] for row in review.get("rows?search=HE+%224%22&sort=row")["rows"]] == [4]
    phones = review.rows[2].phoneme_text[:9]
    expected = [i for i, row in enumerate(review.rows) if phones.casefold() in row.phoneme_text.casefold()]
    quoted = "".join(f"%{byte:02x}" for byte in phones.encode())
    assert [row["row"] for row in review.get(f"rows?search={quoted}&sort=row")["rows"]] == expected


def test_suspects_come_first_by_reason_and_are_selected_by_it(serve: Serve) -> None:
    review = serve()
    reasons = {reason["reason"]: reason["count"] for reason in review.get("state")["reasons"]}
    assert reasons["audio-duplicate"] == 1
    assert [row["row"] for row in review.get("rows?reason=audio-duplicate")["rows"]] == [5]
    every = [row["cells"]["reasons"].split() for row in review.get("rows?columns=reasons")["rows"]]
    order = [list(reasons).index(of[0]) if of else len(reasons) for of in every]
    assert order == sorted(order)
    assert review.get("rows?reason=*")["total"] == sum(1 for of in every if of)


def test_an_utterance_has_its_texts_arrays_and_duplicates(serve: Serve) -> None:
    review = serve()
    row, found = review.rows[5], review.get("5/utterance")
    assert [found[name] for name in ("id", "text", "phonemes", "speaker")] == [
        row.id,
        row.text,
        row.phoneme_text,
        row.speaker,
    ]
    assert (found["frames"], found["mels"]) == row.mel.shape
    assert {r["reason"]: r["partner"] for r in found["reasons"]}["audio-duplicate"] == 0
    assert next((n["row"], n["kind"]) for n in review.get("5/neighbours")) == (0, "the same samples")
    _, _, levels = review.ask("GET", f"{review.base}5/mel")
    shown = np.frombuffer(levels, np.uint8).reshape(row.mel.shape)
    # Colours are in the order of the values.
    assert (np.diff(shown.ravel()[np.argsort(row.mel.ravel(), kind="stable")].astype(int)) >= 0).all()
    assert len({*shown.ravel().tolist()}) > 30


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_the_samples_that_are_played_are_those_of_the_store(serve: Serve, dtype: str) -> None:
    review = serve(make_rows([40, 3, 60], wav_dtype=dtype))
    for i, row in enumerate(review.rows):
        status, headers, body = review.ask("GET", f"{review.base}{i}/sound.wav")
        assert (status, headers["Content-Type"], headers["Accept-Ranges"]) == (200, "audio/wav", "bytes")
        assert body[-row.waveform.nbytes :] == row.waveform.astype(row.waveform.dtype.newbyteorder("<")).tobytes()
        if dtype == "int16":
            with wave.open(io.BytesIO(body)) as file:
                assert (file.getframerate(), file.getnframes(), file.getnchannels()) == (22_050, len(row.waveform), 1)
        found = review.get(f"{i}/waveform?n=7")
        assert found["source"] == "store"
        assert len(found["low"]) <= 7
        peak = float(np.abs(row.waveform.astype(float)).max()) / (32_768 if dtype == "int16" else 1)
        assert max(*found["high"], *(-v for v in found["low"])) == pytest.approx(1000 * peak, abs=0.6)


@pytest.mark.parametrize(
    ("wanted", "status", "part"),
    [
        ("bytes=0-", 206, slice(0, None)),
        ("bytes=10-19", 206, slice(10, 20)),
        ("bytes=-5", 206, slice(-5, None)),
        ("bytes=100-999999999", 206, slice(100, None)),
        ("bytes=99999999-", 416, slice(0, 0)),
        ("bytes=5-3", 416, slice(0, 0)),
        ("bytes=a-b", 200, slice(None)),
        ("bytes=0-1,3-4", 200, slice(None)),
        ("bytes=-", 200, slice(None)),
        ("lines=0-1", 200, slice(None)),
    ],
)
def test_a_part_of_a_sound_can_be_asked_for(serve: Serve, wanted: str, status: int, part: slice) -> None:
    review = serve()
    whole = review.ask("GET", f"{review.base}0/sound.wav")[2]
    found, headers, body = review.ask("GET", f"{review.base}0/sound.wav", headers={"Range": wanted})
    assert (found, body) == (status, whole[part])
    if status == 206:
        start = part.indices(len(whole))[0]
        assert headers["Content-Range"] == f"bytes {start}-{start + len(body) - 1}/{len(whole)}"


def test_decisions_are_on_disk_when_they_are_answered_and_continue_after_a_restart(
    serve: Serve, tmp_path: Path
) -> None:
    review = serve()
    status, answer = review.post("decide", row=2, keep="no", text="=new", speaker="", note="hum")
    assert (status, answer["counts"]["decided"], answer["counts"]["no"]) == (200, 1, 1)
    assert read_decisions(tmp_path / "decisions.csv") == {review.rows[2].id: Decision("no", "=new", "", "hum")}
    assert [row["row"] for row in review.get("rows?state=no")["rows"]] == [2]
    assert [row["row"] for row in review.get("rows?filter=%22hum%22+in+note")["rows"]] == [2]
    assert [row["row"] for row in review.get("rows?sort=keep&order=descending&n=1")["rows"]] == [2]
    review.pages.table.decisions.close()
    again = serve(review.rows, store=tmp_path / "store")
    expected = {"keep": "no", "text": "=new", "speaker": "", "note": "hum", "regions": "", "merge": ""}
    assert again.get("2/utterance")["decision"] == expected
    assert again.get("state")["counts"]["corrected"] == 1
    assert [row["row"] for row in again.get("rows?state=undecided&sort=row")["rows"]] == [0, 1, 3, 4, 5]


def test_two_windows_decide_different_fields_of_an_utterance(serve: Serve, tmp_path: Path) -> None:
    review = serve()
    fields = [("keep", "no"), ("text", "new"), ("speaker", "anna"), ("note", "hum"), ("regions", ""), ("merge", "")]
    with ThreadPoolExecutor(4) as threads:
        answers = [*threads.map(lambda field: review.post("decide", row=3, **dict([field])), fields)]
    assert {status for status, _ in answers} == {200}
    assert read_decisions(tmp_path / "decisions.csv") == {review.rows[3].id: Decision("no", "new", "anna", "hum")}
    assert review.post("decide", row=3, note="")[1]["decision"] == {**dict(fields), "note": ""}


def test_what_another_window_has_decided_meanwhile_is_not_overwritten(serve: Serve, tmp_path: Path) -> None:
    review = serve()
    uid, file = review.rows[3].id, tmp_path / "decisions.csv"
    assert review.post("decide", row=3, keep="no", seen={"keep": ""}, window="one")[0] == 200
    status, answer = review.post("decide", row=3, keep="yes", seen={"keep": ""}, window="two")
    assert (status, answer["decision"]["keep"]) == (409, "no")
    assert answer["error"] == f"{uid}: another window has decided meanwhile: keep is 'no'"
    assert read_decisions(file) == {uid: Decision("no")}
    # The same decision is no contradiction, nor is another field, nor what has been seen.
    assert review.post("decide", row=3, keep="no", note="hum", seen={"keep": "", "note": ""}, window="two")[0] == 200
    assert review.post("decide", row=3, keep="yes", seen={"keep": "no"}, window="two")[0] == 200
    assert read_decisions(file) == {uid: Decision("yes", note="hum")}


def test_an_undo_takes_back_a_decision_of_its_own_window_alone(serve: Serve, tmp_path: Path) -> None:
    review = serve()
    names, file = [row.id for row in review.rows], tmp_path / "decisions.csv"
    review.post("decide", row=0, keep="no", seen={"keep": ""}, window="one")
    review.post("decide", row=1, keep="no", seen={"keep": ""}, window="one")
    review.post("decide", row=2, keep="yes", seen={"keep": ""}, window="two")
    review.post("decide", row=1, note="hum", seen={"note": ""}, window="two")
    assert review.post("undo", window="one")[1]["row"] == 1
    assert read_decisions(file) == {names[0]: Decision("no"), names[1]: Decision(note="hum"), names[2]: Decision("yes")}
    # What another window has changed since is not undone, now or later.
    review.post("decide", row=0, keep="yes", seen={"keep": "no"}, window="two")
    status, answer = review.post("undo", window="one")
    assert (status, answer["error"]) == (409, f"{names[0]}: another window has decided since; it is not undone")
    assert review.post("undo", window="one")[1]["row"] is None
    assert read_decisions(file)[names[0]] == Decision("yes")


def test_a_page_begins_after_a_row_that_is_no_longer_in_the_list(serve: Serve) -> None:
    review = serve()
    # Rows 0 to 2 are shown as undecided; 0 and 1 are decided here, and 4 in another window.
    assert [r["row"] for r in review.get("rows?state=undecided&sort=row&n=3")["rows"]] == [0, 1, 2]
    for row in (0, 1, 4):
        review.post("decide", row=row, keep="yes")
    found = review.get("rows?state=undecided&sort=row&n=3&after=2")
    assert (found["start"], found["total"], [r["row"] for r in found["rows"]]) == (1, 3, [3, 5])
    assert [r["row"] for r in review.get("rows?sort=row&n=3&after=5")["rows"]] == []


def test_a_measurement_that_fails_for_any_reason_is_said_and_not_waited_for(tmp_path: Path) -> None:
    dataset = UtteranceDataset(write_store(tmp_path / "store", example_rows()))

    class Unreadable(UtteranceDataset):
        """A store on a disk that fails."""

        @property
        def n_frames(self) -> np.ndarray:
            raise OSError(5, "Input/output error")

    broken = Unreadable(dataset.path)
    with DecisionFile(tmp_path / "decisions.csv") as decisions:
        pages = Pages(broken, decisions, Sounds(dataset))
        pages.measure()
        state = json.loads(pages.get("state", {}).body)
    assert (state["measured"], state["fault"]) == (False, "not measured: OSError: [Errno 5] Input/output error")


def test_a_review_that_ends_ends_its_measurement(tmp_path: Path) -> None:
    dataset = UtteranceDataset(write_store(tmp_path / "store", example_rows()))
    with DecisionFile(tmp_path / "decisions.csv") as decisions:
        pages = Pages(dataset, decisions, Sounds(dataset))
        pages.end()
        pages.measure()
        state = json.loads(pages.get("state", {}).body)
    assert (state["measured"], state["fault"]) == (False, "")


def test_undo_takes_the_last_decision_back(serve: Serve, tmp_path: Path) -> None:
    review = serve()
    review.post("decide", row=1, keep="yes")
    review.post("decide", row=1, keep="no")
    assert review.post("undo")[1]["decision"]["keep"] == "yes"
    assert review.post("undo")[1]["row"] == 1
    assert review.post("undo")[1]["row"] is None
    assert read_decisions(tmp_path / "decisions.csv") == {}


def test_distributions_count_every_utterance_once(serve: Serve) -> None:
    review = serve()
    found = {histogram["key"]: histogram for histogram in review.get("histograms")["histograms"]}
    seconds = found["seconds"]
    assert sum(seconds["counts"]) == 6
    expected = np.histogram([row.seconds for row in review.rows], seconds["edges"])[0]
    assert seconds["counts"] == expected.tolist()
    for i, n in enumerate(seconds["counts"]):
        low, high = seconds["edges"][i : i + 2]
        assert review.get(f"rows?filter={low}+%3C%3D+seconds+%3C+{high}")["total"] == n


@pytest.mark.parametrize("values", [(-1e308, 1e308), (0.0, 5e-324), (-1e308, 5e-324), (0.3, 0.1 + 0.2), (1e17, 1e18)])
def test_distributions_are_shown_beside_columns_of_extreme_numbers(
    serve: Serve, tmp_path: Path, values: tuple[float, float]
) -> None:
    rows = example_rows()
    store = write_store(tmp_path / "store", rows, waveform=True)
    add_columns(store, {"id": [row.id for row in rows], "extreme": [values[i % 2] for i in range(len(rows))]})
    found = {histogram["key"]: histogram for histogram in serve(rows, store=store).get("histograms")["histograms"]}
    assert sum(found["seconds"]["counts"]) == len(rows)
    assert sum(found["extreme"]["counts"] if "extreme" in found else [len(rows)]) == len(rows)


def test_speakers_are_side_by_side(serve: Serve) -> None:
    review = serve()
    speakers = {speaker["name"]: speaker for speaker in review.get("speakers")["speakers"]}
    assert {name: of["utterances"] for name, of in speakers.items()} == {"ljspeech": 2, "zoë": 2, "p225": 2}
    assert speakers["zoë"]["seconds"] == pytest.approx(review.rows[1].seconds + review.rows[4].seconds)


def test_a_store_of_hostile_texts_is_answered_as_data(serve: Serve) -> None:
    rows = [
        replace(row, id=f"{i}{HOSTILE}", text=HOSTILE, phoneme_text=HOSTILE, speaker=HOSTILE, gender=HOSTILE)
        for i, row in enumerate(example_rows())
    ]
    review = serve(rows)
    assert review.get("0/utterance")["text"] == HOSTILE
    assert review.post("decide", row=0, keep="yes", note=HOSTILE[:-1])[0] == 200
    for path in ("", "state", "rows?columns=text,speaker", "0/utterance", "0/neighbours", "speakers", "histograms"):
        _, headers, body = review.ask("GET", review.base + path)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert b"<script>document" not in body or headers["Content-Type"] == "application/json"


FOREIGN = [
    {"Host": "evil.invalid"},
    {"Host": "127.0.0.1"},
    {"Host": "127.0.0.1:1"},
    {"Host": ""},
    {"Host": "evil.invalid:{port}"},
    {"Origin": "http://evil.invalid"},
    {"Origin": "null"},
    {"Origin": "https://127.0.0.1:{port}"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_other_hosts_and_origins_are_refused(serve: Serve, headers: dict[str, str], tmp_path: Path) -> None:
    review = serve()
    headers = {name: value.format(port=review.server.server_port) for name, value in headers.items()}
    for path in ("state", "rows", "0/utterance", "0/sound.wav"):
        status, _, body = review.ask("GET", review.base + path, headers=headers)
        assert (status, b"LJ" in body) == (403, False)
    body = json.dumps({"row": 0, "keep": "no"}).encode()
    assert review.ask("POST", f"{review.base}decide", body, headers)[0] == 403
    assert review.ask("POST", f"{review.base}decide", body, {"Origin": ""})[0] == 403
    assert not (tmp_path / "decisions.csv").exists()


def test_a_link_from_another_page_opens_the_page_but_none_of_its_data(serve: Serve) -> None:
    review = serve()
    linked = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    status, headers, body = review.ask("GET", review.base, headers=linked)
    assert (status, b"LJ0" in body) == (200, False)
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert review.ask("GET", f"{review.base}state", headers=linked)[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/state",
        "//state",
        "/wrong/state",
        "/{short}/state",
        "/{token}x/state",
        "/{token}",
        "{token}/state",
        "/é/state",
        "/%00/",
        "http://evil.invalid/{token}/state",
        "*",
    ],
)
def test_nothing_is_answered_without_the_token(serve: Serve, path: str) -> None:
    review = serve()
    given = path.format(token=review.server.token, short=review.server.token[:-1])
    head = f"GET {given} HTTP/1.1\r\nHost: 127.0.0.1:{review.server.server_port}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", review.server.server_port), timeout=10) as connection:
        connection.sendall(head)
        answer = connection.makefile("rb").read()
    if path.startswith("http:"):
        # The absolute form names the path of this server; the host is that of the header.
        assert b" 403 " in answer.split(b"\r\n")[0] or b" 400 " in answer.split(b"\r\n")[0]
    else:
        assert answer.split(b"\r\n")[0].split()[1] in (b"403", b"400")
    assert b"store" not in answer.partition(b"\r\n\r\n")[2].replace(b"tts-prep review", b"")


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/pages.py",
        "review.py",
        "server.py",
        "./review.js",
        "0/../../x",
        "0/manifest.json",
        "-1/utterance",
        "6/utterance",
        "999999999999999999/utterance",
        "0x1/utterance",
        "²/utterance",
        "0/utterance/",
        "0//utterance",
        "\\..\\x",
        "file:///etc/passwd",
        "0/mel%00",
    ],
)
def test_no_path_reaches_a_file(serve: Serve, path: str) -> None:
    review = serve()
    quoted = "".join(chr(byte) if byte < 128 else f"%{byte:02x}" for byte in path.encode())
    status, headers, body = review.ask("GET", review.base + quoted)
    assert (status, headers["Content-Type"]) == (404, "application/json")
    assert json.loads(body) == {"error": "there is no such page or utterance"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"row"',
        b"{}",
        b'{"row": "0", "keep": "yes"}',
        b'{"row": -1, "keep": "yes"}',
        b'{"row": 6, "keep": "yes"}',
        b'{"row": true, "keep": "yes"}',
        b'{"row": 1e0, "keep": "yes"}',
        b'{"row": 0, "keep": "maybe"}',
        b'{"row": 0, "keep": ["yes"]}',
        b'{"row": 0, "keep": "yes", "path": "/etc/passwd"}',
        b'{"row": 0, "text": "a\\nb"}',
        b'{"row": 0, "text": "\\ud800"}',
        b"[" * 30_000,
        b"\xff\xfe",
        b'{"row": 0, "note": "' + b"x" * 6_000 + b'"}',
    ],
    ids=lambda body: repr(body[:40]),
)
def test_a_malformed_decision_changes_nothing(serve: Serve, tmp_path: Path, body: bytes) -> None:
    review = serve()
    status, _, answer = review.ask("POST", f"{review.base}decide", body)
    assert status == 409
    assert json.loads(answer)["error"]
    assert not (tmp_path / "decisions.csv").exists()


def test_requests_are_limited_in_size_and_kind(serve: Serve) -> None:
    review = serve()
    url = f"{review.base}decide"
    assert review.ask("POST", url, b"x" * 65_537)[0] == 413
    assert review.ask("POST", url, None)[0] == 413
    assert review.ask("POST", url, b"{}", {"Content-Type": "text/plain"})[0] == 415
    assert review.ask("PUT", url, b"{}")[0] == 501
    assert review.ask("GET", f"{review.base}rows?{'a' * 70_000}")[0] == 414
    assert review.ask("GET", f"{review.base}rows", headers={"X": "y" * 70_000})[0] == 431
    assert review.ask("GET", f"{review.base}rows?filter={'(' * 3_000}")[0] == 400
    assert review.ask("GET", f"{review.base}rows?n=1e9")[0] == 400
    assert len(review.get("rows?n=999999999")["rows"]) == 6
    assert review.ask("GET", f"{review.base}rows?{'a=1&' * 30}")[0] == 414
    assert review.ask("GET", f"{review.base}rows?search={'a' * 9_000}")[0] == 414
    assert review.ask("GET", f"{review.base}rows?filter={'-' * 490}1")[0] == 400
    assert len(review.get("0/waveform?n=0")["low"]) == 1


def test_thousands_of_random_requests_neither_stop_nor_change_anything(serve: Serve, tmp_path: Path) -> None:
    review = serve()
    rng = random.Random(0)
    pieces = ["state", "rows", "utterance", "0", "5", "../", "%00", "sound.wav", "?filter=", "snr<", "é", "&n=", "-1"]
    before = {path: path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()}

    def ask(_: int) -> int:
        path = "".join(rng.choices(pieces, k=rng.randint(1, 6)))
        quoted = "".join(chr(byte) if 32 < byte < 128 else f"%{byte:02x}" for byte in path.encode())
        return review.ask("GET", review.base + quoted)[0]

    with ThreadPoolExecutor(8) as threads:
        statuses = {*threads.map(ask, range(1_000))}
    assert statuses <= {200, 206, 400, 404}
    assert review.get("state")["counts"]["utterances"] == 6
    assert {path: path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()} == before


def test_idle_connections_leave_room_after_their_time(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    review = serve()
    end, ended = review.server.shutdown_request, threading.Semaphore(0)

    def ending(request: socket.socket) -> None:
        end(request)
        ended.release()

    monkeypatch.setattr(review.server, "shutdown_request", ending)
    address = ("127.0.0.1", review.server.server_port)
    idle = [socket.create_connection(address, timeout=60) for _ in range(80)]
    try:
        with pytest.raises(OSError, match="closed|reset|aborted|pipe"):
            review.get("state")
        with monkeypatch.context() as patch:
            patch.setattr("tts_prep.review.server._MAX_SECONDS", 0.0)
            for _ in (*idle, "the request"):
                assert ended.acquire(timeout=60)
        assert review.get("state")["measured"]
    finally:
        for connection in idle:
            connection.close()
