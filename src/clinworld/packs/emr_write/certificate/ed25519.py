"""Checks Ed25519 signatures (RFC 8032) with whole numbers only, so that anyone can check a certificate with what is installed anyway.

Nothing secret is handled here; signing is left to a library.
"""

import hashlib

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_ONE = pow(2, (_P - 1) // 4, _P)
_SIZE = 32

Point = tuple[int, int, int]  # x and y are the first two over the third
_NEUTRAL: Point = (0, 1, 1)


def is_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """True when the signature is that key's over this message. Anything malformed is False."""
    if len(public_key) != _SIZE or len(signature) != 2 * _SIZE:
        return False
    key, nonce = _read_point(public_key), _read_point(signature[:_SIZE])
    scalar = int.from_bytes(signature[_SIZE:], "little")
    if key is None or nonce is None or scalar >= _ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:_SIZE] + public_key + message).digest(), "little") % _ORDER
    return _is_same(_multiply(scalar, _BASE), _add(nonce, _multiply(challenge, key)))


def _recover_x(y: int, is_odd: bool) -> int | None:
    """The x that belongs to a y on the curve; None where there is none."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if x * x % _P != square:
        x = x * _ROOT_OF_MINUS_ONE % _P
    if x * x % _P != square or (x == 0 and is_odd):
        return None
    return x if x % 2 == is_odd else _P - x


def _read_point(raw: bytes) -> Point | None:
    number = int.from_bytes(raw, "little")
    y, is_odd = number % 2**255, bool(number >> 255)
    if y >= _P:
        return None
    x = _recover_x(y, is_odd)
    return None if x is None else (x, y, 1)


def _add(first: Point, second: Point) -> Point:
    (x1, y1, z1), (x2, y2, z2) = first, second
    z, xx, yy = z1 * z2 % _P, x1 * x2 % _P, y1 * y2 % _P
    square, twist = z * z % _P, _D * xx * yy % _P
    low, high = square - twist, square + twist
    return z * low * ((x1 + y1) * (x2 + y2) - xx - yy) % _P, z * high * (yy + xx) % _P, low * high % _P


def _multiply(scalar: int, point: Point) -> Point:
    total = _NEUTRAL
    while scalar:
        if scalar & 1:
            total = _add(total, point)
        point, scalar = _add(point, point), scalar >> 1
    return total


def _is_same(first: Point, second: Point) -> bool:
    (x1, y1, z1), (x2, y2, z2) = first, second
    return (x1 * z2 - x2 * z1) % _P == 0 and (y1 * z2 - y2 * z1) % _P == 0


_BASE_Y = 4 * pow(5, -1, _P) % _P
_BASE: Point = (_recover_x(_BASE_Y, False) or 0, _BASE_Y, 1)
