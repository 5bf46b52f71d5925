"""Text that is not ours, made safe to store and to print: agents and files may hold anything."""

MOST_SHOWN = 300


def mend_text(text: str) -> str:
    """The text as Unicode that can be written: surrogate pairs joined, a lone surrogate replaced by U+FFFD.

    >>> mend_text("ok"), mend_text("a" + chr(0xD800) + "b") == "a" + chr(0xFFFD) + "b"
    ('ok', True)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def show_plain(text: str) -> str:
    """The text with everything a terminal acts on written out as an escape; line breaks and tabs stay.

    >>> show_plain("red " + chr(27) + "[31m")
    'red \\\\x1b[31m'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(each if each in "\n\t" or each.isprintable() or (each.isspace() and each > "\x9f") else _escape(each) for each in text)


def show_line(text: str, *, most: int = MOST_SHOWN) -> str:
    """The text as one printable line of at most `most` characters, cut with an ellipsis.

    >>> show_line("one" + chr(10) + "two"), show_line("abcdef", most=4)
    ('one\\\\ntwo', 'abc…')
    """
    if len(text) > most:
        text = text[: most - 1] + "…"
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
