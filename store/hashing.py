"""Short stand-ins for message ids and texts: an Instagram id is longer than the words it carries."""

import re
import unicodedata
from hashlib import blake2b

_INVISIBLE = re.compile(r"[\s\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u2064\ufe0e\ufe0f\ufeff]+")


def key_of(kind: str, mid: str) -> str:
    """Deletions and edits carry the id of the original message, so the kind is part of the key."""
    return blake2b(f"{kind}\0{mid}".encode(), digest_size=8).hexdigest()


def bare_hash(kind: str) -> str:
    """In place of the hash of a text where an echo has none: an attachment of this kind and nothing else."""
    return f"@{kind}"


def text_hash(text: str) -> str:
    """Equal for texts that differ in white space, case or Unicode form only: an echo may not be identical."""
    folded = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return blake2b(folded.encode(), digest_size=8).hexdigest() if folded else ""
