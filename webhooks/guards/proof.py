"""Checks signatures without letting strangers have more of this process than they are due.

What Meta sends matches at the first look, which is cheap and never refused. What does not match may have been decoded
by a proxy, and looking at that is dear: it is done by one thread, piece by piece, out of a budget that all strangers
share.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from webhooks.guards.budget import Budget
from webhooks.signature import is_signed_as_it_is, is_signed_escaped, may_be_unescaped

Look = Callable[[bytes, bytes, Sequence[bytes]], bool]

INLINE_BYTES = 64 * 1024
"""Larger bodies are hashed in a thread: on the loop everybody else would wait."""


class NotSigned(Exception):
    """None of our secrets made the signature."""


class TooMuchUnsigned(Exception):
    """It is not signed as it is, and for a closer look strangers have used up what there was: it has to come again."""


class Proof:
    """`budget` is drawn on by whatever turns out not to be signed. Belongs to one event loop."""

    def __init__(self, secrets: Sequence[bytes], budget: Budget, *, inline_bytes: int = INLINE_BYTES) -> None:
        self._secrets = tuple(secrets)
        self._inline_bytes = inline_bytes
        self._budget = budget
        # One at a time of each, so that strangers take one core at the most and the loop has another.
        self._hashing = asyncio.Semaphore(1)
        self._escaping = asyncio.Semaphore(1)

    def is_plain(self, body: bytes, digest: bytes) -> bool:
        """What is nearly always so, and needs no more than this: small, and signed as it came."""
        return len(body) <= self._inline_bytes and is_signed_as_it_is(body, digest, self._secrets)

    async def check(self, body: bytes, digest: bytes) -> bool:
        """For what is not plain: whether it came as Meta has sent it; False when it was decoded on its way.

        Raise `NotSigned`, or `TooMuchUnsigned` when that could not be looked into.
        """
        if len(body) > self._inline_bytes:
            async with self._hashing:
                matches, seconds = await asyncio.to_thread(self._look, is_signed_as_it_is, body, digest)
            if matches:
                return True
            self._budget.spend(seconds)
        if not may_be_unescaped(body):
            raise NotSigned
        async with self._escaping:
            if not self._budget.has_some:
                raise TooMuchUnsigned
            matches, seconds = await asyncio.to_thread(self._look, is_signed_escaped, body, digest)
        if not matches:
            self._budget.spend(seconds)
            raise NotSigned
        return False

    def _look(self, is_signed: Look, body: bytes, digest: bytes) -> tuple[bool, float]:
        """The answer, and the seconds of CPU that it took this thread."""
        began = time.thread_time()
        return is_signed(body, digest, self._secrets), time.thread_time() - began
