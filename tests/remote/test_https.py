"""Stores behind a web server with a certificate of one's own."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

import numpy as np
import pytest
from stores import make_rows, write_store
from web_server import serving

from tts_prep.errors import CannotReadError
from tts_prep.loader import UtteranceDataset
from tts_prep.remote.cache import CachedStore
from tts_prep.remote.transfer import Patience

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")
x509 = pytest.importorskip("cryptography.x509")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a key and a certificate for 127.0.0.1 that it has signed itself."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tts-prep test")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = dt.datetime.now(dt.timezone.utc)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()) + made.public_bytes(encoding))
    return path


def test_a_store_is_read_over_tls_if_its_certificate_is_trusted(
    certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec

    rows = make_rows([20, 30, 40])
    write_store(tmp_path / "served" / "voice", rows, n_shards=2)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with serving(tmp_path / "served", tls=tls) as web:
        url = f"{web.url}/voice"
        with pytest.raises(CannotReadError, match="its certificate is not trusted .*; for one of your own") as caught:
            # At the first attempt: a second would come after a quarter of an hour.
            CachedStore(url, tmp_path / "cache", patience=Patience(wait=1000))
        assert "\n" not in str(caught.value)
        # As a program gives it; SSL_CERT_FILE is read when Python starts.
        trusting = ssl.create_default_context(cafile=certificate)
        monkeypatch.setitem(fsspec.config.conf, "https", {"ssl": trusting})
        dataset = UtteranceDataset(url, cache=tmp_path / "cache")
        assert all(np.array_equal(mel, row.mel) for mel, row in zip(dataset.views("mel"), rows, strict=True))
