"""Signatures: any installation can check one, only a library with a key file makes one, and nothing else passes for one."""

import shutil
import subprocess

import pytest
from certificate_case import certificate

from clinworld.core.errors import UsageError
from clinworld.packs.emr_write.certificate import signature
from clinworld.packs.emr_write.certificate.ed25519 import is_signed

# RFC 8032, section 7.1: key, message, signature.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]
ORDER = 2**252 + 27742317777372353535851937790883648493


@pytest.mark.parametrize("vector", VECTORS, ids=("empty", "one byte", "two bytes"))
def test_a_published_signature_is_good_and_any_changed_bit_makes_it_bad(vector):
    key, message, value = map(bytes.fromhex, vector)
    assert is_signed(key, message, value)
    assert not is_signed(key, message + b"x", value)
    for place in (0, 31, 32, 63):
        assert not is_signed(key, message, value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :])
    assert not is_signed(bytes.fromhex(VECTORS[0][0] if vector is not VECTORS[0] else VECTORS[1][0]), message, value)


def test_a_scalar_past_the_order_or_a_point_off_the_curve_is_no_signature():
    key, message, value = map(bytes.fromhex, VECTORS[1])
    again = int.from_bytes(value[32:], "little") + ORDER  # the same scalar written otherwise
    assert not is_signed(key, message, value[:32] + again.to_bytes(32, "little"))
    assert not is_signed(b"\x02" + bytes(31), message, value) and not is_signed(b"\xff" * 32, message, value)
    assert not is_signed(key[:31], message, value) and not is_signed(key, message, value + b"0")


def test_without_the_library_signing_says_so_and_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(signature, "LIBRARY", "no_such_library")
    with pytest.raises(UsageError, match=r"'no_such_library' is not installed.*pip install no_such_library.*leave out --sign"):
        signature.load_key(tmp_path / "key")


@pytest.fixture
def make_key(tmp_path):
    pytest.importorskip("cryptography", reason="signing needs the package cryptography, which is not installed")
    openssl = shutil.which("openssl") or pytest.skip("no openssl to make keys with")

    def make(*arguments: str):
        path = tmp_path / f"key{len(list(tmp_path.iterdir()))}"
        subprocess.run([openssl, "genpkey", *arguments, "-out", str(path)], check=True, capture_output=True)
        return path

    return make


@pytest.mark.slow
def test_a_key_file_signs_and_the_signature_holds_for_that_certificate_only(make_key):
    signed = signature.sign_certificate(certificate(), signature.load_key(make_key("-algorithm", "ed25519")))
    assert signature.is_signature_good(signed)
    assert not signature.is_signature_good(signed.model_copy(update={"subject": "another"}))
    other = signature.sign_certificate(certificate(), signature.load_key(make_key("-algorithm", "ed25519")))
    swapped = signed.signature.model_copy(update={"public_key": other.signature.public_key})
    assert not signature.is_signature_good(signed.model_copy(update={"signature": swapped}))


def test_a_file_that_holds_no_such_key_is_refused(make_key, tmp_path):
    (tmp_path / "words").write_text("no key")
    for path, says in (
        (make_key("-algorithm", "ed25519", "-aes256", "-pass", "pass:x"), "no key that can be read"),
        (make_key("-algorithm", "X25519"), "a key of another sort"),
        (tmp_path / "words", "no key that can be read"),
        (tmp_path / "missing", "cannot be read"),
    ):
        with pytest.raises(UsageError, match=says):
            signature.load_key(path)
