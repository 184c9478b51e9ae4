"""Long runs of words shared with the prompt are a leak; what a reply has to name, or a customer wrote, is none."""

import pytest

from bot.reply.prompt_leak import leaks_kick, leaks_prompt, parrots

PROMPT = (
    "You are Anna, the assistant of a pottery studio. Never name a price that the catalogue does not hold, and never "
    "promise a date on behalf of the team."
)
RECITED = "Never name a price that the catalogue does not hold, and never promise a date on behalf of the team."
KICK = "Your last reply had no words for the customer. Answer now in plain words."


@pytest.mark.parametrize(
    ("reply", "quotable", "is_leak"),
    [
        (RECITED, "", True),
        (RECITED.upper(), "", True),
        (f"Sure! {RECITED} How can I help?", "", True),
        (RECITED, RECITED, False),
        ("The catalogue does not hold that cup.", "", False),
        ("", "", False),
    ],
)
def test_a_long_run_of_the_prompt_is_a_leak(reply: str, quotable: str, is_leak: bool) -> None:
    assert leaks_prompt(reply, PROMPT, quotable) is is_leak


def test_without_a_prompt_nothing_leaks() -> None:
    assert not leaks_prompt(RECITED, "")


@pytest.mark.parametrize(
    ("reply", "customer_text", "is_leak"),
    [
        ("Your last reply had no words for the customer, so here I am.", "", True),
        ("Your last reply had no words for the customer.", "your last reply had no words for the customer?!", False),
        ("My last reply was late.", "", False),
    ],
)
def test_a_run_of_the_kick_is_a_leak_unless_the_customer_wrote_it(
    reply: str, customer_text: str, is_leak: bool
) -> None:
    assert leaks_kick(reply, KICK, customer_text) is is_leak


@pytest.mark.parametrize(
    ("reply", "customer_text", "is_parroted"),
    [
        ("Есть ли красная кружка?", "есть ли красная кружка?", True),
        ("С Новым годом!", "С новым годом!", False),
        ("Есть, красная кружка стоит 1900.", "Есть ли красная кружка?", False),
        ("", "Есть ли красная кружка?", False),
    ],
)
def test_the_customers_own_question_is_no_answer(reply: str, customer_text: str, is_parroted: bool) -> None:
    assert parrots(reply, customer_text) is is_parroted
