"""The media port: voice messages and pictures put into words for the model, by an object that the configuration names.

`[media] transcriber` and `captioner` are import paths `module:factory`. A factory takes the process's `httpx` client
and gives an object with the one method below. None is named by default: the model then reads a placeholder.
"""

import asyncio
import importlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from bot.conversation import Conversation, OpenMessage
from bot.incoming.events import Media, MediaKind
from bot.reply.hygiene import clean
from bot.text.visible import is_blank
from runtime.logging import get_logger
from runtime.settings import MediaSettings

if TYPE_CHECKING:
    import httpx  # clients/__init__.py loads it, without its command line

log = get_logger(__name__)

MOST_CHARS: Final = 2000
REMEMBERED: Final = 500
_SAID: Final = {MediaKind.AUDIO: "voice message, transcribed", MediaKind.IMAGE: "photo, described"}
_BRACKETS = str.maketrans({"[": "(", "]": ")"})


class Transcriber(Protocol):
    """`url` is Meta's, short-lived, and opens the customer's voice to everyone who has it: never log it."""

    async def transcribe(self, url: str) -> str:
        """What is said, in the language it is said in; "" for nothing. Any exception leaves the placeholder."""


class Captioner(Protocol):
    """As `Transcriber`, for a picture."""

    async def caption(self, url: str) -> str:
        """What is to be seen, in a sentence or two."""


class MediaInvalid(Exception):
    """The process must not start: what `[media]` names cannot be loaded."""


class MediaReader:
    """Remembers the last words it was given, so that a turn that starts again pays once."""

    def __init__(
        self,
        *,
        transcriber: Transcriber | None = None,
        captioner: Captioner | None = None,
        seconds: float = 15.0,
    ) -> None:
        self._ports: dict[MediaKind, Callable[[str], Awaitable[str]]] = {}
        if transcriber is not None:
            self._ports[MediaKind.AUDIO] = transcriber.transcribe
        if captioner is not None:
            self._ports[MediaKind.IMAGE] = captioner.caption
        self._seconds = seconds
        self._words: OrderedDict[tuple[str, int], str] = OrderedDict()

    async def read(self, conversation: Conversation, *, seconds: float) -> Conversation:
        """The conversation with words in place of placeholders, as far as they came within the time. Never raises."""
        wanted = [(message, media) for message in conversation.messages for media in self._unread(message)]
        if wanted:
            limit = min(self._seconds, seconds)
            await asyncio.gather(*(self._read_one(message, media, limit) for message, media in wanted))
        return self.remembered(conversation)

    def remembered(self, conversation: Conversation) -> Conversation:
        """The same from what has been read already; for a conversation that was loaded again."""
        messages = tuple(self._told(message) for message in conversation.messages)
        return conversation if messages == conversation.messages else replace(conversation, messages=messages)

    def _unread(self, message: OpenMessage) -> list[Media]:
        return [m for m in message.media if m.kind in self._ports and (message.key, m.note) not in self._words]

    async def _read_one(self, message: OpenMessage, media: Media, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                words = clean(str(await self._ports[media.kind](media.url))[: 4 * MOST_CHARS]).text
        except Exception as exc:  # noqa: BLE001 - whatever a port raises, the customer is still owed an answer
            log.warning("media_not_read", kind=media.kind.value, error=type(exc).__name__)
            return
        self._words[message.key, media.note] = "" if is_blank(words) else _one_line(words)
        while len(self._words) > REMEMBERED:
            self._words.popitem(last=False)

    def _told(self, message: OpenMessage) -> OpenMessage:
        notes = list(message.notes)
        for media in message.media:
            words = self._words.get((message.key, media.note), "")
            if words and 0 <= media.note < len(notes):
                notes[media.note] = f"[{_SAID[media.kind]}: {words}]"
        return message if tuple(notes) == message.notes else replace(message, notes=tuple(notes))


Factory = Callable[["httpx.AsyncClient"], Any]


@dataclass(frozen=True, slots=True)
class MediaPorts:
    """The factories, found before the process says that it is ready; `open` runs them on its event loop."""

    transcriber: Factory | None = None
    captioner: Factory | None = None
    seconds: float = 15.0

    def open(self, http: "httpx.AsyncClient") -> MediaReader:
        return MediaReader(
            transcriber=self.transcriber(http) if self.transcriber else None,
            captioner=self.captioner(http) if self.captioner else None,
            seconds=self.seconds,
        )


def find_media_ports(settings: MediaSettings) -> MediaPorts:
    """Raise `MediaInvalid` when one cannot be imported."""
    return MediaPorts(_found(settings.transcriber), _found(settings.captioner), settings.seconds)


def _found(path: str) -> Factory | None:
    if not path:
        return None
    module, _, name = path.partition(":")
    try:
        factory: Any = getattr(importlib.import_module(module), name)
    except Exception as exc:
        raise MediaInvalid(f"[media] {path} cannot be imported: {type(exc).__name__}: {exc}") from exc
    if not callable(factory):
        raise MediaInvalid(f"[media] {path} is no factory: it cannot be called")
    return factory  # type: ignore[no-any-return]


def _one_line(words: str) -> str:
    """Fit to stand inside a note: one line, no square brackets, `MOST_CHARS` long."""
    line = " ".join(words.translate(_BRACKETS).split())
    return line if len(line) <= MOST_CHARS else line[: MOST_CHARS - 1].rstrip() + "…"
