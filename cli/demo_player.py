"""Plays a scene as a customer would, and looks into the running system for what came of it."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import orjson

from bot.incoming.events import conversation_id
from bot.outcome import Outcome
from cli.demo_scenes import Attempt, Line, Seen
from runtime.clock import now_ms
from sandbox.stack import Stack, StackFailed, new_customer
from sandbox.telegram.html import parse_html
from store.connection import connect
from store.keys import DUE, TELEMETRY
from store.ledger import Ledger, Sums
from store.outboxes.alerts import AlertOutbox
from store.scripts import Scripts

_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>')


class Player:
    """One at a time on a running stack; a message that is not closed within `patience_seconds` is a `StackFailed`."""

    def __init__(self, stack: Stack, *, gap_seconds: float, patience_seconds: float) -> None:
        self._stack = stack
        self._gap_seconds = gap_seconds
        self._patience_seconds = patience_seconds
        self._runner = asyncio.Runner()
        self._redis = connect(stack.valkey.url, max_connections=2, timeout_seconds=5, client_name="nightshift-demo")
        self._scripts = Scripts(self._redis)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._runner:
            self._runner.run(self._redis.aclose())

    def play(self, texts: Sequence[str]) -> Seen:
        """A new customer writes `texts`; return when each has its outcome and the managers know what they must."""
        stack, customer_id = self._stack, new_customer()
        account = stack.meta.account()
        conversation = conversation_id(account.channel, account.id, customer_id)
        stack.meta.set_profile(customer_id, name="Demo Customer", username=f"demo_{customer_id[-4:]}")
        alerts_before = len(stack.telegram.messages)
        said = self._runner.run(self._write(customer_id, texts))
        stack.wait_for(
            lambda: self._runner.run(self._is_over(conversation, len(said))),
            f"an outcome of {len(said)} message(s)",
            self._patience_seconds,
        )
        outcomes, turns = self._runner.run(self._look(conversation))
        return Seen(
            customer_id=customer_id,
            said=said,
            replies=self.replies(customer_id),
            outcomes=outcomes,
            turns=len(turns),
            attempts=tuple(Attempt.model_validate(attempt) for turn in turns for attempt in turn["attempts"]),
            alerts=tuple(Line(m["at"], _as_text(m["html"])) for m in stack.telegram.messages[alerts_before:]),
        )

    def replies(self, customer_id: str) -> tuple[Line, ...]:
        """All that this customer has been sent until now."""
        return tuple(Line(sent["at"], _as_shown(sent)) for sent in self._stack.meta.sent if sent["to"] == customer_id)

    def sums(self) -> Sums:
        return self._runner.run(Ledger(self._scripts).sums())

    async def _write(self, customer_id: str, texts: Sequence[str]) -> tuple[Line, ...]:
        said: list[Line] = []
        for text in texts:
            if said:
                await asyncio.sleep(self._gap_seconds)
            said.append(Line(now_ms() / 1000, text))
            statuses = await self._stack.meta.deliver(self._stack.meta.text(customer_id, text))
            if statuses != [200]:
                raise StackFailed(
                    f"the receiver did not take a message: HTTP {statuses}\n{self._stack.log_tail('web')}"
                )
        return tuple(said)

    async def _is_over(self, conversation: str, messages: int) -> bool:
        """Every message has its outcome, nothing is due any more, every alert has been delivered."""
        if len(await self._outcomes(conversation)) < messages or await self._scripts.command("ZCARD", DUE):
            return False
        return all(alert.is_delivered for alert in await AlertOutbox(self._scripts).waiting())

    async def _look(self, conversation: str) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
        rows = await self._scripts.command("XRANGE", TELEMETRY, "-", "+")
        fields = [dict(zip(flat[::2], flat[1::2], strict=True)) if isinstance(flat, list) else flat for _, flat in rows]
        turns = [orjson.loads(row["turn"]) for row in fields if row["c"] == conversation and "turn" in row]
        return await self._outcomes(conversation), turns

    async def _outcomes(self, conversation: str) -> tuple[str, ...]:
        steps = Ledger(self._scripts).steps()
        return tuple([s.event async for s in steps if s.conversation_id == conversation and s.event in set(Outcome)])


def _as_shown(sent: Mapping[str, Any]) -> str:
    """The words, and below them the buttons that open a page."""
    buttons = [f"[ {link['title']} ] {link['url']}" for link in sent.get("links", ())]
    return "\n".join([sent["text"], *buttons])


def _as_text(html: str) -> str:
    """What a manager reads, with the addresses behind the links, which a terminal would hide."""
    return parse_html(_LINK.sub(r"\2: \1", html))
