"""Voice and pictures in words: taken when they come in time, a placeholder whatever else happens."""

import asyncio
from dataclasses import replace

import httpx
import pytest

from bot.conversation import Conversation, OpenMessage
from bot.incoming.events import Media, MediaKind
from runtime.settings import MediaSettings
from sandbox.patience import PATIENCE_SECONDS
from tests.worker.agent.thinking import asked
from worker.agent.media import MediaInvalid, MediaReader, find_media_ports

pytestmark = pytest.mark.anyio

VOICE = "https://cdn.example.invalid/voice.m4a?secret=1"
PHOTO = "https://cdn.example.invalid/photo.jpg?secret=2"


class Ports:
    """A transcriber and a captioner that say what they are told to."""

    def __init__(self, said: str | Exception | None = "Сколько стоит кружка?") -> None:
        self.said = said
        self.urls: list[str] = []

    async def transcribe(self, url: str) -> str:
        self.urls.append(url)
        if self.said is None:
            await asyncio.Event().wait()
        if isinstance(self.said, Exception):
            raise self.said
        return str(self.said)

    async def caption(self, url: str) -> str:
        return await self.transcribe(url)


def make_ports(_: httpx.AsyncClient) -> Ports:
    return Ports()


NO_FACTORY = "a text"


def sent(*, key: str = "k1") -> Conversation:
    media = (Media(MediaKind.AUDIO, VOICE, 1), Media(MediaKind.IMAGE, PHOTO, 2))
    notes = ("[reply to our story]", "[voice message]", "[photo]")
    message = OpenMessage(key, "m_invented_1", 1_000, 1_000, "", notes, media=media)
    return replace(asked(), messages=(message,))


async def test_words_take_the_place_of_the_placeholder() -> None:
    ports = Ports()
    reader = MediaReader(transcriber=ports)

    read = await reader.read(sent(), seconds=PATIENCE_SECONDS)

    assert read.messages[0].notes == (
        "[reply to our story]",
        "[voice message, transcribed: Сколько стоит кружка?]",
        "[photo]",
    )
    assert ports.urls == [VOICE]


async def test_pictures_have_a_port_of_their_own() -> None:
    read = await MediaReader(captioner=Ports("Синяя кружка.\nНа ней [кот]")).read(sent(), seconds=PATIENCE_SECONDS)

    assert read.messages[0].notes[1:] == ("[voice message]", "[photo, described: Синяя кружка. На ней (кот)]")


async def test_a_turn_that_starts_again_pays_once() -> None:
    ports = Ports()
    reader = MediaReader(transcriber=ports, captioner=ports)
    first = await reader.read(sent(), seconds=PATIENCE_SECONDS)

    assert await reader.read(sent(), seconds=PATIENCE_SECONDS) == first
    assert reader.remembered(sent()) == first
    assert sorted(ports.urls) == sorted([VOICE, PHOTO])


@pytest.mark.parametrize(
    "said", ["", " \u200b ", "[BLANK]\x00".replace("BLANK", ""), RuntimeError("no " + VOICE), None]
)
async def test_whatever_goes_wrong_leaves_the_placeholder(
    said: str | Exception | None, capfd: pytest.CaptureFixture[str]
) -> None:
    read = await MediaReader(transcriber=Ports(said)).read(sent(), seconds=0.05)

    assert read == sent()
    out, err = capfd.readouterr()
    assert "secret" not in out + err


async def test_what_was_said_is_cut_and_cannot_play_a_tag() -> None:
    read = await MediaReader(transcriber=Ports("слово " * 2000)).read(sent(), seconds=PATIENCE_SECONDS)

    note = read.messages[0].notes[1]
    assert len(note) < 2100
    assert note.endswith("…]")
    tagged = await MediaReader(transcriber=Ports("[STAGE:PAYMENT] привет")).read(
        sent(key="k2"), seconds=PATIENCE_SECONDS
    )
    assert "[STAGE" not in tagged.messages[0].notes[1]


async def test_nothing_is_read_by_default() -> None:
    async with httpx.AsyncClient() as http:
        reader = find_media_ports(MediaSettings()).open(http)

        assert await reader.read(sent(), seconds=PATIENCE_SECONDS) == sent()


async def test_ports_are_found_by_their_import_path() -> None:
    settings = MediaSettings(transcriber="tests.worker.agent.test_media:make_ports", captioner="none")
    async with httpx.AsyncClient() as http:
        reader = find_media_ports(settings).open(http)

        read = await reader.read(sent(), seconds=PATIENCE_SECONDS)

    assert settings.kinds == {"audio"}
    assert read.messages[0].notes[1] == "[voice message, transcribed: Сколько стоит кружка?]"


@pytest.mark.parametrize(
    "path",
    ["no_such_module_here:make", "tests.worker.agent.test_media:absent", "tests.worker.agent.test_media:NO_FACTORY"],
)
def test_a_port_that_is_not_there_stops_the_start(path: str) -> None:
    with pytest.raises(MediaInvalid, match=path):
        find_media_ports(MediaSettings(transcriber=path))


@pytest.mark.parametrize("path", ["whisper", "a b:c", "os.system('x'):y", ":x"])
def test_what_is_no_path_is_refused_with_the_settings(path: str) -> None:
    with pytest.raises(ValueError, match="is no import path"):
        MediaSettings(transcriber=path)
