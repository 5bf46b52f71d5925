"""Identity of content: canonical JSON, digests of values and of comment-free source text."""

import hashlib
import io
import tokenize
from pathlib import Path
from typing import Any

import orjson


def canonical_json(value: Any) -> bytes:
    """Compact JSON with sorted keys; the bytes every digest of a value is taken over."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest_value(value: Any, *, length: int = 16) -> str:
    """Hex digest of a JSON value, `length` characters."""
    return digest_bytes(canonical_json(value), length=length)


def digest_bytes(raw: bytes, *, length: int = 16) -> str:
    """Hex sha256 of bytes, cut to `length` characters."""
    return hashlib.sha256(raw).hexdigest()[:length]


def strip_comments(source: str) -> str:
    """Python source without comments, docstrings and blank lines; equal text means equal code.

    Only comment and docstring spans are cut from the text, because token streams differ between Python versions.
    """
    lines = source.replace("\r\n", "\n").split("\n")
    previous = tokenize.NEWLINE
    for token in reversed(list(tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline))):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    text = "\n".join(lines)
    spans: list[tuple[int, int]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.COMMENT, tokenize.ENCODING):
            continue
        if token.type == tokenize.STRING and previous in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            spans.append((token.start[0], token.end[0]))
        previous = token.type
    lines = text.split("\n")
    for first, last in spans:
        for row in range(first - 1, last):
            lines[row] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip())


def digest_files(paths: list[Path], root: Path, *, length: int = 16) -> str:
    """Digest over the relative names and comment-free contents of files, in name order.

    Python loses comments and docstrings, YAML whole-line comments; every other file counts byte for byte.
    """
    total = hashlib.sha256()
    for path in sorted(paths):
        raw = path.read_bytes()
        if path.suffix == ".py":
            raw = strip_comments(raw.decode()).encode()
        elif path.suffix in (".yaml", ".csv"):
            kept = [line for line in raw.split(b"\n") if line.strip() and not line.lstrip().startswith(b"#")]
            raw = b"\n".join(kept)
        name = path.relative_to(root).as_posix().encode()
        total.update(len(name).to_bytes(4, "big") + name + len(raw).to_bytes(8, "big") + raw)
    return total.hexdigest()[:length]
