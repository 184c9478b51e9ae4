"""No message of ours carries one of Meta's tags."""

from tests.rooms import sources


def test_no_code_of_ours_knows_a_message_tag() -> None:
    """Tags are for words that people write; those for anything else have been removed."""
    ours = list(sources())

    assert len(ours) > 100
    for path in ours:
        source = path.read_text(encoding="utf-8")
        assert "MESSAGE_TAG" not in source, path
        assert "HUMAN_AGENT" not in source, path
