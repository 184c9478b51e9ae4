"""The text of a stream's pieces, once: some servers repeat what they have said, in part or as a whole."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

LEAST_REPEATED: Final = 12  # characters: shorter pieces may well say the same twice
LEAST_DOUBLED: Final = 30


def assembled(pieces: Sequence[str]) -> str:
    """The text that `pieces` make, once: some servers' last piece repeats all before it, or each piece does."""
    said = [piece for piece in pieces if piece]
    if _grows(said):
        return joined(said[-1:])
    before = joined(said[:-1])
    repeated = len(before.strip()) >= LEAST_REPEATED and before.strip() == said[-1].strip()
    return before if repeated else joined(said)


def once(text: str) -> str:
    """A whole reply that was written twice in one piece, with nothing or only space between, as one."""
    whole = text.strip()
    half = whole[: (len(whole) + 1) // 2].rstrip()
    doubled = len(half) >= LEAST_DOUBLED and whole.endswith(half) and not whole[len(half) : -len(half)].strip()
    return half if doubled and 2 * len(half) <= len(whole) else text


def joined(pieces: Sequence[str]) -> str:
    """The text of `pieces`; halves of an emoji that came apart are put together, a lone half is replaced."""
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _grows(said: Sequence[str]) -> bool:
    """Each piece repeats all before it: some servers send the text so far where only its end belongs."""
    if len(said) < 3 or len(said[-1]) < 20:
        return False
    return all(later.startswith(earlier) for earlier, later in pairwise(said)) and len(said[-1]) > len(said[0])
