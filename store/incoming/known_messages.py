"""Which of the messages that were read back from Meta are in the books already?"""

from collections.abc import Sequence
from enum import StrEnum

from bot.incoming.events import MessageKind
from store.hashing import bare_hash, key_of, text_hash
from store.scripts import Scripts


class Known(StrEnum):
    """`OURS`: the bot has sent it, or may have; `ECHO`: a human or an app has, from our account."""

    NOT = ""
    MESSAGE = "message"
    ECHO = "echo"
    OURS = "ours"


class KnownMessages:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def look(self, conversation_id: str, messages: Sequence[tuple[str, str, str]]) -> list[Known]:
        """`messages` are mid, words and, where it has none, the kind of its only attachment; all "" where unknown."""
        if not messages:
            return []
        values: list[str] = []
        for mid, words, bare_kind in messages:
            likeness = bare_hash(bare_kind) if bare_kind else text_hash(words)
            keys = [key_of(kind.value, mid) for kind in (MessageKind.MESSAGE, MessageKind.POSTBACK)]
            values += [*keys, key_of("echo", mid), likeness]
        return [Known(word) for word in await self._scripts.run("known", conversation_id, *values)]
