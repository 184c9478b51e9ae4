"""What becomes of a call to Meta or to the model. A send arrives first and is answered later."""

from itertools import count

import httpx

from tests.worlds import model
from tests.worlds.course import Course
from tests.worlds.edges import HTTPCall, Process
from tests.worlds.meta import answer, refusal

META_SECONDS = 10.0  # so long after it was made a send may still arrive; as settling.py, SEND_TIMEOUT_MS


class MetaSide:
    def __init__(self, course: Course) -> None:
        self._course = course
        self._answers = count(0, 2)

    def go_on_with(self, call: HTTPCall) -> None:
        """One step of it."""
        course, weather = self._course, self._course.weather
        if call.answer.done():  # its caller waits no more
            call.process.http_calls.remove(call)
            self._may_arrive(call)
        elif call.is_to_model:
            self._finish(call, self._model_says())
        elif call.is_send:
            self._go_on_with_send(call)
        elif call.request.method == "GET" and call.request.url.path.endswith("/conversations"):
            fails = course.happens(weather.read_fails)
            found = refusal(course.chance.choice(("unavailable", "throttled"))) if fails else None
            self._finish(call, found or course.meta.read(call, moment=course.moment))
        else:
            self._finish(call, answer({}))

    def time_is_up(self, process: Process, until: float) -> None:
        """No send that is on its way arrives later than `META_SECONDS` after it was made: it does so now, or never."""
        for call in list(process.http_calls):
            if call.is_send and not call.arrived and call.since + META_SECONDS <= until:
                if self._course.chance.random() < 0.5:
                    self._arrive(call)
                elif call.answer.done():
                    process.http_calls.remove(call)
                else:
                    self._finish(call, None)

    def killed(self, process: Process) -> None:
        """What it had sent may still arrive."""
        for call in process.http_calls:
            self._may_arrive(call)
        process.http_calls.clear()

    def _may_arrive(self, call: HTTPCall) -> None:
        if call.is_send and not call.arrived and self._course.chance.random() < 0.5:
            self._arrive(call)

    def _model_says(self) -> httpx.Response | None:
        chance = self._course.chance
        if self._course.happens(self._course.weather.model_fails):
            fault = chance.choice(model.FAULTS)
            return None if fault == "broken" else model.failure(fault)
        return model.completion(f"{model.reply(next(self._answers), chance)}\n{model.TAGS}")

    def _go_on_with_send(self, call: HTTPCall) -> None:
        course, weather = self._course, self._course.weather
        if call.arrived:
            if course.happens(weather.kill_sending):
                course.say(f"{call.process.name} dies between a send and its record")
                course.kill(call.process)
            else:
                self._finish(call, None if course.happens(weather.meta_lost) else call.response)
        elif course.happens(weather.meta_broken):
            self._finish(call, None)
        elif course.happens(weather.meta_refused):
            self._finish(call, refusal(course.chance.choice(weather.refusals)))
        else:
            self._arrive(call)

    def _arrive(self, call: HTTPCall) -> None:
        course = self._course
        lag = 0.0 if course.is_calm else course.chance.uniform(0, course.weather.read_lag)
        echo = course.meta.arrive(call, at_ms=course.true_time, visible_from=course.moment + lag)
        course.say(f"{call.process.name} {call.turn} reaches the customer: {call.body['message']['text'][:40]!r}")
        course.books.arrives(call)
        for _ in range(course.chance.choice((0, 1, 1, 1, 2))):
            course.tell_later(echo, course.chance.choice((0.0, 0.0, 0.3, 3.0, 40.0)))

    def _finish(self, call: HTTPCall, response: httpx.Response | None) -> None:
        """None: the connection breaks, and what became of the request is not known."""
        call.process.http_calls.remove(call)
        status = response.status_code if response else "lost"
        self._course.say(f"{call.process.name} {call.turn} {call.request.method} {call.request.url.path} -> {status}")
        if response is None:
            call.answer.set_exception(httpx.ReadError("the connection was lost", request=call.request))
        else:
            response.request = call.request
            call.answer.set_result(response)
