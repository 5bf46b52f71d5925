"""Text from rows made safe for Markdown: it ends no cell, link, heading or comment and begins none of its own."""

import re

_SPECIAL = re.compile(r"[*_#~!]")


def escape(text: str) -> str:
    """Text in which nothing ends a table cell, a link or a comment, or is a tag.

    >>> escape("a|b](c) <script>"), escape("`a`")
    ('a\\\\|b\\\\](c) &lt;script>', '\\\\`a\\\\`')
    """
    for sign in ("\\", "|", "[", "]", "`"):
        text = text.replace(sign, f"\\{sign}")
    return text.replace("<", "&lt;")


def escape_heading(text: str) -> str:
    """A title as a heading says it, letter by letter.

    >>> escape_heading("A *drug* #1")
    'A \\\\*drug\\\\* \\\\#1'
    """
    return _SPECIAL.sub(r"\\\g<0>", escape(" ".join(text.split())))
