"""Many independent draws made of one: an addressed word mixed with the digest of each thing that is drawn for.

An address costs as much as some hundred of these; a thing more moves no other draw.
"""

from hashlib import blake2b

import numpy as np

from clinworld.core.rng import Words

# The finaliser of splitmix64. Numbers are arrays without axes: NumPy takes as long to make one of a number as to use it.
_STEPS = tuple(
    (np.array(shift, dtype=np.uint64), np.array(factor, dtype=np.uint64))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
)
_LAST = np.array(31, dtype=np.uint64)


def derive_mark(name: str) -> int:
    """The 64-bit digest by which draws are made for a thing."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")


def mix_words(words: Words, marks: Words) -> Words:
    """A word for each mark, and for each of the words where these are a column."""
    mixed: Words = words ^ marks
    for shift, factor in _STEPS:
        mixed ^= mixed >> shift
        mixed *= factor
    mixed ^= mixed >> _LAST
    return mixed
