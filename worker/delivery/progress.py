"""A plan on its way to its customer: what it answers, and what has become of each part as far as this turn knows."""

from collections.abc import Iterator

from bot.conversation import Conversation, Part, PartState, Plan


class Progress:
    def __init__(self, conversation: Conversation, plan: Plan) -> None:
        self.conversation = conversation
        self.plan = plan
        self.states = [part.state for part in plan.parts]
        self.enclosed: list[PartState] = [part.state for part in plan.enclosures]

    @property
    def something_arrived(self) -> bool:
        return PartState.SENT in self.states

    @property
    def all_arrived(self) -> bool:
        return all(state is PartState.SENT for state in self.states)

    def rest(self) -> Iterator[Part]:
        """What is not sent yet, in order, up to the first part that a human's words have dropped."""
        for part in self.plan.parts:
            if part.state is PartState.DROPPED:
                return
            if part.state is not PartState.SENT:
                yield part
