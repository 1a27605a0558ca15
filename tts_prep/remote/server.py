"""Download the files of a store from an object store or a web server, with limits, retries and checksums."""

import errno
import hashlib
import logging
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from io import BytesIO, FileIO
from threading import Event
from typing import Any, Final, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from tts_prep import errors
from tts_prep.format.files.paths import without_secret
from tts_prep.format.layout import MANIFEST
from tts_prep.format.records.manifest import LONGEST_MANIFEST, FileEntry, parse_manifest
from tts_prep.quantities import count_text
from tts_prep.remote.transfer import BLOCK, Arrival, Patience, Stopped, received

PACKAGES: Final = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "az": "adlfs",
    "hf": "huggingface_hub",
    "http": "aiohttp",
    "https": "aiohttp",
    "file": "fsspec",
}
"""The schemes of URLs, and the package that fsspec needs for each."""

THREADS: Final = 8
"""The number of files that a process downloads at a time."""

_CHARACTERS: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]*")
_REFUSED: Final = (401, 403)
_OUTSIDE: Final = (416, errno.EINVAL)
"""What libraries say of a range that a file does not have."""

_LOG: Final = logging.getLogger("tts_prep.remote")
_JITTER = random.SystemRandom()
"""Not Python's shared generator, whose state belongs to the program."""

T = TypeVar("T")


class _ContentError(Exception):
    """A server sent something else than the manifest says."""


class Server:
    """The folder of a store behind a URL.

    Args:
        url: ``s3://bucket/store`` and so on; see `PACKAGES`. Credentials are those that fsspec finds.
        patience: when a transfer is given up.

    Raises:
        ConfigurationError: the URL has an unknown scheme, a query or a fragment.
    """

    def __init__(self, url: str, patience: Patience = Patience()) -> None:
        scheme, _, place = url.partition("://")
        self.scheme = scheme.lower()
        self.url = f"{self.scheme}://{place.rstrip('/')}"
        self.shown = without_secret(self.url)
        self.patience = patience
        self._is_web = self.scheme in ("http", "https")
        user = self._checked().netloc.rpartition("@")[0]
        password = user.partition(":")[2]
        # As libraries may write them in their messages; the longest first.
        self._secrets = (f"{user}@", user, password, unquote(password)) if f"{user}@" not in self.shown else ()

    def _checked(self) -> SplitResult:
        """Check the URL, and return its parts."""
        if self.scheme not in PACKAGES:
            schemes = ", ".join(f"{name}://" for name in PACKAGES)
            raise errors.ConfigurationError(f"{self.shown}: expected a URL that starts with {schemes}")
        try:
            parts = urlsplit(self.url)
            has_host = bool(parts.hostname) and parts.port != 0 if self._is_web else bool(parts.netloc)
        except ValueError as error:  # such as a port that is no number
            raise errors.ConfigurationError(
                f"{self.shown}: not a URL; expected one such as s3://bucket/store"
            ) from error
        if not (has_host or self.scheme == "file") or not _CHARACTERS.fullmatch(self.url):
            raise errors.ConfigurationError(f"{self.shown}: not a URL; expected one such as s3://bucket/store")
        if self._is_web and (parts.query or parts.fragment):
            raise errors.ConfigurationError(
                f"{self.shown}: expected the URL of a folder, without a query or a fragment"
            )
        if "::" in self.url and not self._is_web:
            raise errors.ConfigurationError(f"{self.shown}: '::' chains URLs in fsspec; expected one URL without it")
        return parts

    def _without_secret(self, text: str) -> str:
        for secret in (secret for secret in self._secrets if len(secret) > 3):
            text = text.replace(secret, "")
        return text

    def name(self) -> str:
        """Return the last part of the URL, as the name of a folder."""
        last = self.url.rpartition("/")[2]
        return "".join(c if c.isascii() and (c.isalnum() or c in "_-.") else "_" for c in last)[:64].lstrip(".") or "_"

    def manifest(self, patience: Patience | None = None) -> bytes:
        """Return the bytes of the manifest, which is valid; errors as in `download`, or those of `parse_manifest`."""
        where = f"{self.shown}/{MANIFEST}"

        def attempt(arrival: Arrival) -> bytes:
            data = b"".join(self._pieces(MANIFEST, None, 0, arrival, Event(), patience or self.patience))
            if len(data) > LONGEST_MANIFEST:
                raise errors.CorruptStoreError(f"{where}: longer than the maximum of {LONGEST_MANIFEST:,} bytes")
            try:
                parse_manifest(where, data.decode("utf-8"))
            except UnicodeDecodeError as error:
                raise errors.CorruptStoreError(f"{where}: not UTF-8") from error
            return data

        return self._retried(MANIFEST, attempt, Event(), patience or self.patience)

    def download(self, entry: FileEntry, file: FileIO, stop: Event | None = None) -> None:
        """Write a file of the store to an open file, and check its size and SHA-256 against its entry.

        What the open file has is taken for the first bytes, up to the last that is not zero, and only the others are
        asked for. If the whole has another SHA-256 then, it is downloaded from its first byte.

        Args:
            stop: ends the download when it is set.

        Raises:
            CorruptStoreError: the server has something else at every attempt.
            CannotReadError: it cannot be read at present.
            WriteError: the open file cannot be written.
            Stopped: `stop` was set.
        """
        stopping = stop or Event()
        digest, size, zeros = hashlib.sha256(), file.seek(0), b""
        while end := len((piece := zeros + file.read(min(BLOCK, entry.size - size - len(zeros)))).rstrip(b"\0")):
            digest.update(piece[:end])
            size, zeros = size + end, piece[end:]

        def attempt(arrival: Arrival) -> None:
            nonlocal digest, size
            start = file.seek(size)
            try:
                if start < entry.size:
                    for piece in self._pieces(entry.file, entry.size, start, arrival, stopping, self.patience):
                        if size + len(piece) > entry.size:
                            raise _ContentError(f"more than {entry.size:,} bytes, the manifest says {entry.size:,}")
                        digest.update(piece)
                        write_all(file, piece)
                        size += len(piece)
                        arrival.done = max(arrival.done, size)
                if size != entry.size:
                    raise _ContentError(f"{size:,} bytes, the manifest says {entry.size:,}")
                if digest.hexdigest() != entry.sha256:
                    found = digest.hexdigest()[:12]
                    raise _ContentError(f"SHA-256 {found}…, the manifest says {entry.sha256[:12]}…")
            except Exception as error:
                status = getattr(error, "status", getattr(error, "errno", None))
                if not isinstance(error, _ContentError) and status not in _OUTSIDE:
                    raise  # the next attempt goes on from here
                digest, size = hashlib.sha256(), 0
                if not start:
                    raise
                attempt(arrival)

        self._retried(entry.file, attempt, stopping, self.patience)
        file.truncate(entry.size)

    def _pieces(
        self, name: str, size: int | None, start: int, arrival: Arrival, stop: Event, patience: Patience
    ) -> Iterator[bytes]:
        """Return the bytes of a file from `start` on as they arrive, up to one more than its size, if that is known."""
        # Here, because the first import of a library may take longer than an answer.
        system, root = self._system()
        most = (LONGEST_MANIFEST if size is None else size) - start
        return received(self._opened(system, f"{root}/{name}", size, start), most, patience, arrival, stop)

    @contextmanager
    def _opened(self, system: Any, path: str, size: int | None, start: int) -> Iterator[Any]:
        """Open a file of the folder, of a size if it is known, for reading in order."""
        if size is None:
            # The sizes that fsspec has kept are old ones once a store has been replaced.
            system.invalidate_cache()
        if self.scheme == "s3":
            with closing(_Ranges(system, path, size or LONGEST_MANIFEST + 1, start)) as ranges:
                yield BytesIO(ranges.read(LONGEST_MANIFEST + 1)) if size is None else ranges
            return
        if self._is_web:
            # One request, whose answer is read in pieces: a server that sends more than it should fills no memory.
            # Any size, because fsspec asks for it first otherwise.
            options: dict[str, Any] = {"block_size": 0, "size": size or 1}
            if start:
                wanted = {"Range": f"bytes={start}-", "Accept-Encoding": "identity"}
                options["headers"] = {**system.kwargs.get("headers", {}), **wanted}
        else:
            options = {"block_size": BLOCK, "cache_type": "none"}
        with system.open(path, "rb", **options) as file:
            found = getattr(file, "size", None)
            if size is not None and not self._is_web and found not in (None, size):
                raise _ContentError(f"{found:,} bytes, the manifest says {size:,}")
            if not self._is_web:
                file.seek(start)
            elif start and not str(file.r.headers.get("Content-Range")).startswith(f"bytes {start}-"):
                raise _ContentError(f"no bytes from {start:,} on, which were asked for")
            yield file

    def _system(self) -> tuple[Any, str]:
        """Return fsspec's file system, one per process, and the path of the folder in it."""
        try:
            import fsspec
        except ModuleNotFoundError as error:
            raise errors.MissingPackageError(
                "URLs need fsspec, which is not installed: pip install 'tts-prep[remote]'"
            ) from error
        try:
            if self._is_web:
                options = self._web_options(fsspec.config.conf)
                # Not by the URL, in which fsspec would find two if it has '::', as in an IPv6 address.
                return fsspec.filesystem(self.scheme, client_kwargs=options), self.url
            system, root = fsspec.core.url_to_fs(self.url, **self._options(fsspec.config.conf))
        except ImportError as error:
            package = PACKAGES[self.scheme]
            raise errors.MissingPackageError(
                f"{self.scheme}:// needs {package}, which is not installed: pip install {package}"
            ) from error
        if self.scheme == "s3":
            system.retries = 1  # of five, each of which would be tried by us again
        return system, str(root).rstrip("/")

    def _options(self, configured: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of the file system of an object store: no layer of retries below ours, and limits."""
        if self.scheme != "s3":
            return {}
        # botocore, which would try five times, tries once; so does s3fs, by `_system`.
        limit = self.patience.silence / 2
        given = configured.get("s3", {}).get("config_kwargs", {})
        return {"config_kwargs": {"read_timeout": limit, "retries": {"max_attempts": 0}, **given}}

    def _web_options(self, configured: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of aiohttp: those of fsspec's configuration, proxies of the environment, and a limit."""
        import aiohttp

        silence = self.patience.silence
        limit = aiohttp.ClientTimeout(total=None, sock_connect=silence, sock_read=silence)
        return {"trust_env": True, **configured.get(self.scheme, {}).get("client_kwargs", {}), "timeout": limit}

    def _retried(self, name: str, attempt: Callable[[Arrival], T], stop: Event, patience: Patience) -> T:
        arrival, began, number, is_away, mark = Arrival(), time.monotonic(), 0, False, BLOCK
        while True:
            number, last = number + 1, arrival.last
            try:
                found = attempt(arrival)
            except (errors.WriteError, errors.MissingPackageError, Stopped):
                raise
            except Exception as error:  # every library below fsspec has its own
                if arrival.done >= mark:
                    is_away = is_away and self._answers_again(began)
                    began, number, mark = arrival.last, 1, arrival.done + BLOCK
                away = time.monotonic() - began
                has_failed = number >= patience.attempts or time.monotonic() - arrival.last > patience.stall
                has_sent = arrival.last != last or isinstance(error, _ContentError | errors.StoreError)
                if _is_final(error) or (has_failed and (has_sent or away >= patience.outage)):
                    raise self._error(name, error, number) from error
                wait = min(patience.wait * 2 ** min(number - 1, 30), patience.longest) * (0.5 + _JITTER.random())
                wait = max(wait, _retry_after(error, patience.longest * 4))
                if has_failed and not is_away:
                    is_away = True
                    what = self._without_secret(" ".join(str(error).split())) or type(error).__name__
                    _LOG.warning("%s: no answer (%s); waiting up to %.0f s for it", self.shown, what, patience.outage)
            else:
                if is_away:
                    self._answers_again(began)
                return found
            if stop.wait(wait):
                raise Stopped

    def _answers_again(self, began: float) -> bool:
        """Say that a server which was away answers, and return whether it is away."""
        _LOG.warning("%s: answers again after %.0f s", self.shown, time.monotonic() - began)
        return False

    def _error(self, name: str, error: Exception, attempts: int) -> errors.TtsPrepError:
        where = f"{self.shown}/{name}"
        if isinstance(error, errors.StoreError):
            return error
        if isinstance(error, _ContentError):
            return errors.CorruptStoreError(f"{where}: {error}; upload the store again, the manifest last")
        if isinstance(error, FileNotFoundError):
            return errors.StoreError(f"{where}: no such file; expected the URL of a store made by tts-prep")
        what = self._without_secret(" ".join(str(error).split())) or type(error).__name__
        if "certificate verify failed" in what.lower():
            return errors.CannotReadError(
                f"{where}: its certificate is not trusted ({what}); for one of your own, set SSL_CERT_FILE to the file "
                "of its authority"
            )
        if _is_refused(error):
            return errors.CannotReadError(
                f"{where}: not permitted ({what}); the credentials are those that fsspec finds"
            )
        return errors.CannotReadError(
            f"{where}: cannot be read in {count_text(attempts, 'attempt')} ({what}); is the server running?"
        )


class _Ranges:
    """An object of S3, read by requests for ranges. The files of s3fs ask for its size before, which takes longer.

    No more of an answer is read than one byte beyond what was asked for, because a server may send any number. One that
    ignores ranges sends the whole object, of which the next bytes are read then.
    """

    def __init__(self, system: Any, path: str, size: int, start: int) -> None:
        self._system = system
        self._bucket, self._key, _ = system.split_path(path)
        self._size = size
        self._done = start
        self._whole: Any = None

    def read(self, most: int) -> bytes:
        """Return the next bytes, at most one more than are asked for; none at the end."""
        most = min(most, self._size - self._done)
        if self._whole is not None:
            piece = self._part_of(self._whole, max(0, most) + 1)
        else:
            piece = self._part_of(self._asked(most), most + 1) if most > 0 else b""
        self._done += len(piece)
        return piece

    def close(self) -> None:
        """End the answer that is being read."""
        if self._whole is not None:
            self._system.loop.call_soon_threadsafe(self._whole.close)
            self._whole = None

    def _asked(self, most: int) -> Any:
        """Return the bytes of an answer, to be read."""
        asked = f"bytes={self._done}-{self._done + most - 1}"
        place = {"Bucket": self._bucket, "Key": self._key, **self._system.req_kw}
        answer = self._system.call_s3("get_object", **place, Range=asked)
        body = answer["Body"]
        if "ContentRange" not in answer:
            self._whole = body
            if self._done:
                raise _ContentError(f"all of its bytes, where {asked} was asked for")
        return body

    def _part_of(self, body: Any, most: int) -> bytes:
        from fsspec.asyn import sync

        return bytes(sync(self._system.loop, self._collected, body, most))

    async def _collected(self, body: Any, most: int) -> bytes:
        pieces: list[bytes] = []
        try:
            while most > 0 and (piece := await body.read(most)):
                pieces.append(piece)
                most -= len(piece)
        finally:
            if body is not self._whole:
                body.close()
        return b"".join(pieces)


def _is_refused(error: Exception) -> bool:
    """Return whether credentials are missing or wrong."""
    status = getattr(error, "status", getattr(error, "status_code", None))
    if isinstance(error, PermissionError) or status in _REFUSED:
        return True
    # By name, because every cloud's library has its own: NoCredentialsError, DefaultCredentialsError and so on.
    names = " ".join(of.__name__ for of in type(error).__mro__)
    return "Credential" in names or "Authentication" in names or "with credentials" in str(error)


def has_answered(error: BaseException | None) -> bool:
    """Return whether a server has answered, and not what was expected."""
    if error is None:
        return False
    status = getattr(error, "status", getattr(error, "status_code", None))
    return getattr(error, "response", None) is not None or isinstance(status, int) or has_answered(error.__cause__)


def _retry_after(error: Exception, most: float) -> float:
    """Return the seconds that an answer asks to wait for, if it does so in seconds."""
    headers = getattr(error, "headers", None) or {}
    text = str(headers.get("Retry-After", "")) if isinstance(headers, Mapping) else ""
    return min(float(text), most) if text.isascii() and text.isdigit() and len(text) < 9 else 0.0


def _is_final(error: Exception) -> bool:
    """Return whether another attempt would end like this one."""
    is_untrusted = "certificate verify failed" in str(error).lower()
    return isinstance(error, FileNotFoundError) or is_untrusted or _is_refused(error)


def write_all(file: FileIO, piece: bytes) -> None:
    """Write bytes to an unbuffered file, which may take a part of them at a time."""
    rest = memoryview(piece)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError as error:
        raise errors.WriteError(f"{file.name}: cannot be written ({error.strerror or error})") from error
