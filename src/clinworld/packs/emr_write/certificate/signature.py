"""Signing a certificate with a key file, and checking who signed one. The key is read, used once and kept nowhere."""

from importlib import import_module
from pathlib import Path
from typing import Any

from clinworld.core.errors import UsageError
from clinworld.packs.emr_write.certificate.build import signed_bytes, with_signature
from clinworld.packs.emr_write.certificate.ed25519 import is_signed
from clinworld.packs.emr_write.certificate.shape import CertificateFile, Signature

LIBRARY = "cryptography"
_MOST_KEY_BYTES = 65536


def load_key(path: Path) -> Any:
    """The private key in a PEM file. Raises UsageError where the library is missing, and for a file that holds no such key."""
    place, allowed = f"--sign {path}", "an Ed25519 private key in PEM form, without a password, is expected"
    do = "Make one with `openssl genpkey -algorithm ed25519 -out KEY`."
    try:
        serialization = import_module(f"{LIBRARY}.hazmat.primitives.serialization")
        ed25519 = import_module(f"{LIBRARY}.hazmat.primitives.asymmetric.ed25519")
    except ImportError:
        found = f"the package {LIBRARY!r} is not installed, and Python alone cannot sign"
        raise UsageError(place, found, do=f"`python -m pip install {LIBRARY}`, or leave out --sign.") from None
    try:
        with open(path, "rb") as file:
            raw = file.read(_MOST_KEY_BYTES)
    except OSError as problem:
        raise UsageError(place, f"cannot be read ({problem.strerror})", allowed, do=do) from None
    try:
        key = serialization.load_pem_private_key(raw, password=None)
    except (ValueError, TypeError):  # no key, or one with a password
        raise UsageError(place, "no key that can be read", allowed, do=do) from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UsageError(place, f"a key of another sort ({type(key).__name__})", allowed, do=do)
    return key


def sign_certificate(certificate: CertificateFile, key: Any) -> CertificateFile:
    """The certificate with a signature by this key."""
    value: bytes = key.sign(signed_bytes(certificate))
    public: bytes = key.public_key().public_bytes_raw()
    return with_signature(certificate, Signature(algorithm="ed25519", public_key=public.hex(), value=value.hex()))


def is_signature_good(certificate: CertificateFile) -> bool:
    """True when a signed certificate is as its key signed it. Whose key it is stands nowhere in the file."""
    signature = certificate.signature
    assert signature is not None, "asked of signed certificates only"
    return is_signed(bytes.fromhex(signature.public_key), signed_bytes(certificate), bytes.fromhex(signature.value))
