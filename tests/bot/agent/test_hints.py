from bot.agent.hints import LOOK_UP_NOW, kick_words


def test_a_retry_after_a_foreign_tongue_names_the_language() -> None:
    assert "Kazakh" in kick_words("Answer now.", "language:kk")
    assert kick_words("Answer now.", "language:kk").startswith("Answer now.")


def test_a_known_cause_takes_the_place_of_the_nudge() -> None:
    assert "Answer now." not in kick_words("Answer now.", "shorter")
    assert "Answer now." not in kick_words("Answer now.", LOOK_UP_NOW)


def test_an_unknown_hint_leaves_the_nudge_alone() -> None:
    assert kick_words("Answer now.", "something new") == "Answer now."
    assert kick_words("", "") == ""
