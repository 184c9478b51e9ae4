"""What a retry is told about the answer before it, by the validator's hint. Notes to the model, never to a customer."""

_LANGUAGES = {
    "ru": "Russian", "en": "English", "uk": "Ukrainian", "kk": "Kazakh", "tr": "Turkish", "ar": "Arabic",
    "fa": "Persian", "be": "Belarusian", "ky": "Kyrgyz", "uz": "Uzbek", "ka": "Georgian", "hy": "Armenian",
    "he": "Hebrew", "el": "Greek", "ko": "Korean", "ja": "Japanese", "zh": "Chinese", "th": "Thai", "de": "German",
    "fr": "French", "es": "Spanish", "it": "Italian", "pl": "Polish", "hi": "Hindi",
}  # fmt: skip

LOOK_UP_NOW = "look_up_now"

# For a model whose server cannot call tools, at the end of its system message.
NO_TOOLS = (
    "Tools are not available here, whatever is said above: call none, and announce no look-up. What is known stands in "
    "this prompt and in what was already looked up for this answer. Name no price, stock, date or condition that "
    "stands in neither: say that a colleague will find it out."
)

_HINTS = {
    "shorter": "Write two or three short sentences and finish every one of them.",
    "plain_words": "Write ordinary sentences only: no markup, no JSON, nothing that calls a function.",
    "write_prepared": "Write out the reply that you have prepared.",
    LOOK_UP_NOW: "Nothing happens after your answer: look it up now or answer from what is known, promise no wait.",
}

# Where the cause is known, its own words take the place of the general nudge.
_INSTEAD_OF_KICK = frozenset({"shorter", LOOK_UP_NOW})


def words_of_hint(hint: str) -> str:
    """One sentence, or "" for a hint that says nothing more than the kick."""
    name, _, code = hint.partition(":")
    if name == "language":
        return f"Write in {_LANGUAGES.get(code, code)}, the customer's language, and in no other."
    return _HINTS.get(hint, "")


def kick_words(kick: str, hint: str) -> str:
    """What is appended to the request: the kick, the hint, or both."""
    words = words_of_hint(hint)
    return words if words and hint in _INSTEAD_OF_KICK else f"{kick} {words}".strip()
