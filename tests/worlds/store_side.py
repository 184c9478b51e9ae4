"""What becomes of a call to the store: it is done, refused, lost, or done when its caller has long given up."""

from collections.abc import Sequence
from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from tests.worlds.books import PromiseBroken
from tests.worlds.course import Course
from tests.worlds.edges import HTTPCall, Process, StoreCall

BAD_MOMENT_SECONDS = 25.0  # so long a stray call waits for one


class StoreSide:
    def __init__(self, course: Course) -> None:
        self._course = course
        self._aged_to = 0.0

    def serve(self, process: Process) -> None:
        """The first of its calls: they share one connection, and their order is kept."""
        course, weather, call = self._course, self._course.weather, process.store_calls[0]
        what = f"{process.name} {call.turn} {self._told(call)}"
        is_decision = course.books.is_decision(call)
        is_renewal = is_decision and course.books.name_of(call.calls[0]) == "renew"
        if is_decision and course.happens(self._stray(call)):
            course.say(f"{what} goes astray")
            call.not_before = course.moment + course.chance.uniform(*weather.stray_seconds)
            process.lose_connection(RedisConnectionError("Connection lost"))
            return
        process.take_store_call()
        if course.happens(weather.store_refused + (weather.renew_fails if is_renewal else 0)):
            course.say(f"{what} does not reach the store")
            call.fails(RedisConnectionError("Connection lost"))
            process.lose_connection(RedisConnectionError("Connection lost"))
        elif course.happens(weather.kill / 2):
            course.say(f"{what}: the process dies before it")
            course.kill(process)
        else:
            self._answer(call, self._do(call))

    def _answer(self, call: StoreCall, answers: Sequence[Any]) -> None:
        course, process = self._course, call.process
        if course.happens(course.weather.kill / 2):
            course.say(f"{process.name} dies after it")
            course.kill(process)
        elif course.happens(course.weather.store_lost):
            course.say(f"{process.name} does not hear the answer")
            call.fails(RedisConnectionError("Connection lost"))
            process.lose_connection(RedisConnectionError("Connection lost"))
        else:
            call.succeeds(answers)

    def late(self, process: Process, sends: Sequence[HTTPCall], others: Sequence[StoreCall]) -> list[StoreCall]:
        """What may be done now of the calls that were given up."""
        waits = self._course.weather.strays_wait_for and not self._course.is_calm
        patience = BAD_MOMENT_SECONDS if waits and not self.is_bad_moment(sends, others) else 0.0
        return [
            call
            for call in process.limbo
            if call.not_before + (patience if call.not_before else 0.0) <= self._course.moment
        ]

    def is_bad_moment(self, sends: Sequence[HTTPCall], others: Sequence[StoreCall]) -> bool:
        """Another turn sends, or is about to begin: when what comes late does the most harm."""
        if self._course.weather.strays_wait_for == "claim":
            return any(self._course.books.name_of(call.calls[0]) == "claim" for call in others)
        return bool(sends)

    def serve_late(self, late: Sequence[StoreCall]) -> None:
        """What was written to a connection that its client has given up: done all the same, or not."""
        call = self._course.chance.choice(late)
        call.process.limbo.remove(call)
        if call.not_before or self._course.chance.random() < 0.5:
            self._course.say(f"{call.process.name} {call.turn} {self._told(call)} is done late")
            self._do(call)

    def killed(self, process: Process) -> None:
        """What it had written may still be read."""
        for call in process.limbo:
            if self._course.chance.random() < 0.5:
                self._do(call)
        process.limbo.clear()

    def _stray(self, call: StoreCall) -> float:
        """The chance that it arrives only when the lease is another's."""
        rare = {self._course.books.name_of(words) for words in call.calls} & set(self._course.weather.strays_of)
        return 0.5 if rare else self._course.weather.stray

    def _do(self, call: StoreCall) -> list[Any]:
        course = self._course
        if passed := round((course.moment - self._aged_to) * 1000):
            course.valkey.pass_time(passed)
            self._aged_to = course.moment
        confirmed = 0 if course.happens(course.weather.unconfirmed) else 1
        try:
            answers = course.books.ask(call, course.server_time, confirmed=confirmed)
        except ResponseError as exc:
            raise PromiseBroken(f"the store refuses {self._told(call)}: {exc}") from exc
        course.say(f"{call.process.name} {call.turn} {self._told(call)} -> {str(answers)[:70]}")
        return answers

    def _told(self, call: StoreCall) -> str:
        return ", ".join(self._named(words) for words in call.calls)

    def _named(self, words: Sequence[Any]) -> str:
        plain = [word.decode() if isinstance(word, bytes) else str(word) for word in words[:5]]
        name, *rest = self._course.books.name_of(words), *plain[1:]
        return f"{name} {' '.join(rest[2:] if plain[0] == 'EVALSHA' else rest)[:60]}"
