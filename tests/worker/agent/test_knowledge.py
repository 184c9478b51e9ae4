"""Customers find what the studio sells, however they spell it; broken files are named with their line."""

import random
from pathlib import Path

import pytest

from tests.growth import MOST, growth
from tests.rooms import ROOT
from worker.agent.knowledge import Entry, Knowledge, KnowledgeInvalid, load_knowledge

KNOWLEDGE = ROOT / "knowledge"
FAQ = "## Где вы?\nВ Москве.\n"


@pytest.fixture(scope="module")
def studio() -> Knowledge:
    return load_knowledge(KNOWLEDGE)


def write(folder: Path, *, catalog: str | bytes = "name,price\n", faq: str = FAQ) -> Path:
    raw = catalog if isinstance(catalog, bytes) else catalog.encode()
    (folder / "catalog.csv").write_bytes(raw)
    (folder / "faq.md").write_text(faq, encoding="utf-8")
    return folder


def faults_of(folder: Path) -> str:
    with pytest.raises(KnowledgeInvalid) as caught:
        load_knowledge(folder)
    return str(caught.value)


def test_the_demo_studio_has_a_catalogue_and_answers(studio: Knowledge) -> None:
    rows = [entry for entry in studio.entries if entry.source.startswith("catalog.csv")]
    answers = [entry for entry in studio.entries if entry.source.startswith("faq.md")]

    assert len(rows) >= 30
    assert all("price_rub: " in row.text for row in rows)
    assert len(answers) >= 20


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("кружки с котом", "Кружка «Рыжий кот»"),
        ("тёмно-синюю кружку", "Кружка «Ночь»"),
        ("темно-синюю кружку", "Кружка «Ночь»"),
        ("КРУШКА рыжый кот", "Кружка «Рыжий кот»"),
        ("кржука туман", "Кружка «Туман»"),
        ("тарелочку обеденную", "Тарелка обеденная «Берег»"),
        ("гончарый круг с нуля", "Курс «Гончарный круг с нуля»"),
        ("елочные игрушки", "Ёлочная игрушка «Птица»"),
        ("сертификатов на 5000", "Подарочный сертификат на 5000 ₽"),
        ("chaynik", "Чайник «Галька»"),
        ("вaзу нaпoльную", "Ваза напольная «Башня»"),  # with Latin a and o among the Cyrillic letters
        ("blue night mug", "Кружка «Ночь»"),
        ("butter dishes", "Маслёнка"),
        ("pottery date", "Свидание за гончарным кругом"),
        ("gift certifcate 3000", "Подарочный сертификат на 3000 ₽"),
        ("сколько стоит доставка?", "Сколько стоит доставка"),
        ("доставляете в Казань", "Сколько стоит доставка"),
        ("dostavka", "Сколько стоит доставка"),
        ("какой у вас адрес", "Где вы находитесь"),
        ("how can I pay by card", "Как оплатить?"),
        ("возврат денег за покупку", "Можно ли вернуть покупку?"),
        ("отменить запись на занятие", "Можно ли перенести или отменить занятие?"),
        ("dishwasher", "Можно ли мыть в посудомойке"),
        ("parking", "Есть ли парковка?"),
        ("скидку", "Есть ли скидки?"),
    ],
)
def test_the_best_answer_comes_first(studio: Knowledge, query: str, first: str) -> None:
    found = studio.search(query)

    assert found
    assert found[0].title.startswith(first)


def test_an_address_is_given_and_not_found_by(tmp_path: Path) -> None:
    knowledge = load_knowledge(write(tmp_path, catalog="name,link\nКружка,https://pottery-shop.example/p/101\n"))

    [found] = knowledge.search("кружка")
    assert "https://pottery-shop.example/p/101" in str(found)
    assert knowledge.search("pottery") == []


@pytest.mark.parametrize("query", ["чай", "подарок подруге", "лепка с детьми", "детский мастер-класс", "mug", "350мл"])
def test_a_broad_question_finds_several(studio: Knowledge, query: str) -> None:
    assert 2 <= len(studio.search(query)) <= 6


@pytest.mark.parametrize("query", ["", "   ", "?!", "😍", "космический корабль", "quantum computer", "\u200b"])
def test_what_nobody_sells_finds_nothing(studio: Knowledge, query: str) -> None:
    assert studio.search(query) == []


def test_one_number_is_not_nearly_another(studio: Knowledge) -> None:
    titles = [entry.title for entry in studio.search("5 кг")]

    assert "Глина для лепки" in titles
    assert studio.search("777") == []


def test_limit_and_order_hold(studio: Knowledge) -> None:
    six = studio.search("кружка", 6)

    assert studio.search("кружка", 3) == six[:3]
    assert all(studio.search("кружка", 6) == six for _ in range(3))
    assert load_knowledge(KNOWLEDGE).search("кружка", 6) == six


def test_equal_entries_keep_the_order_of_the_file() -> None:
    knowledge = Knowledge([Entry("Ваза", f"номер {name}", "x") for name in ("один", "два", "три")])

    assert [entry.text for entry in knowledge.search("вазы")] == ["номер один", "номер два", "номер три"]


def test_a_huge_query_costs_no_more_than_a_long_one(studio: Knowledge) -> None:
    assert studio.search("кружка " * 100_000)[0].title.startswith("Кружка")


def test_the_work_of_a_search_grows_with_the_rows() -> None:
    rng = random.Random(7)
    words = ["".join(rng.choice("абвгдеиклмнопрст") for _ in range(rng.randint(4, 9))) for _ in range(3000)]
    query = " ".join(rng.choices(words, k=4))

    def catalogue(rows: int) -> Knowledge:
        return Knowledge(
            Entry(" ".join(rng.choices(words, k=4)), " ".join(rng.choices(words, k=25)), "x") for _ in range(rows)
        )

    assert growth(lambda knowledge: knowledge.search(query), catalogue, 1000) <= MOST


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_any_columns_and_delimiters_are_read(tmp_path: Path, delimiter: str) -> None:
    rows = [["артикул", "название", "цена"], ["A1", '"Ваза, синяя; большая"', "1 200,50"], ["A2", "Миска", ""]]
    quoted = [[f'"{cell}"' if "," in cell and not cell.startswith('"') else cell for cell in row] for row in rows]
    text = "\r\n".join(delimiter.join(row) for row in quoted)

    knowledge = load_knowledge(write(tmp_path, catalog=b"\xef\xbb\xbf" + text.encode()))

    vase = knowledge.search("ваза")[0]
    assert (vase.title, vase.text) == ("Ваза, синяя; большая", "артикул: A1; цена: 1 200,50")
    assert vase.source == "catalog.csv:2"
    assert str(knowledge.search("миска")[0]) == "Миска\nартикул: A2"


def test_blank_rows_and_empty_edges_of_a_spreadsheet_are_passed_over(tmp_path: Path) -> None:
    folder = write(tmp_path, catalog="name,price,,\n,,,\nMug,5,,\n\n")

    assert [str(entry) for entry in load_knowledge(folder).entries[:1]] == ["Mug\nprice: 5"]


def test_a_cell_may_hold_line_breaks_and_lines_are_still_counted(tmp_path: Path) -> None:
    folder = write(tmp_path, catalog='name,details\nMug,"two\nlines"\nBowl,5,blue\n')

    assert "catalog.csv: line 4 has 3 cells, the header has 2" in faults_of(folder)


@pytest.mark.parametrize("row", ["Ваза;1200;синяя;", "Ваза;1200;синяя"])
def test_excel_leaves_out_the_delimiter_before_an_empty_last_cell(tmp_path: Path, row: str) -> None:
    folder = write(tmp_path, catalog=f"название;цена;цвет;заметка\r\n{row}\r\nМиска;300;;хрупкая\r\n")

    assert [str(entry) for entry in load_knowledge(folder).entries[:2]] == [
        "Ваза\nцена: 1200; цвет: синяя",
        "Миска\nцена: 300; заметка: хрупкая",
    ]


def test_excel_may_leave_out_several_and_say_which_delimiter_it_used(tmp_path: Path) -> None:
    folder = write(tmp_path, catalog="sep=;\r\nname;price, RUB;colour, as seen\r\nMug;5\r\n")

    (mug, _) = load_knowledge(folder).entries
    assert (str(mug), mug.source) == ("Mug\nprice, RUB: 5", "catalog.csv:3")


@pytest.mark.parametrize(
    ("catalog", "expected"),
    [
        ("", "catalog.csv is empty"),
        ("name,price\nMug,5,blue\n", "line 2 has 3 cells, the header has 2"),
        ("name,price\nMug,5\n,7\n", "line 3: name is empty"),
        ("name,price,price\n", "the column price stands there twice"),
        ("name,,price\n", "column 2 has no name"),
        (",,\nMug,5,1\n", "line 1 must name the columns"),
        ('name,price\nMug,"5\n', "catalog.csv: line 2"),
        ("name;price\nMug,5\n", "line 2 is divided by commas, the header by semicolons"),
        ("name,price,colour\nMug,5,dark\nblue\n", "line 3 has 1 cell, the header has 3"),
        ("sep=;\nname;;price\n", "line 2: column 2 has no name"),
        ("name\nMug\nВаза\n".encode("cp1251"), "line 3 is not UTF-8 (it looks like Windows-1251)"),
        ("name\tprice\nMug\t5\n".encode("utf-16"), "catalog.csv is UTF-16"),
    ],
)
def test_a_broken_catalogue_is_named_with_its_line(tmp_path: Path, catalog: str | bytes, expected: str) -> None:
    faults = faults_of(write(tmp_path, catalog=catalog))

    assert str(tmp_path / "catalog.csv") in faults
    assert expected in faults


@pytest.mark.parametrize(
    ("faq", "expected"),
    [
        ("intro\n\n## Где вы?\n\n## Как оплатить?\nКартой.\n", "faq.md: line 3: no answer follows: Где вы?"),
        ("## Где вы?\nВ Москве.\n## Где вы?\nВ Туле.\n", "faq.md: line 3: the question stands there twice"),
        ("##\nВ Москве.\n", "faq.md: line 1: the question is empty"),
    ],
)
def test_a_broken_faq_is_named_with_its_line(tmp_path: Path, faq: str, expected: str) -> None:
    assert expected in faults_of(write(tmp_path, faq=faq))


def test_an_answer_keeps_its_lines_and_its_smaller_headings(tmp_path: Path) -> None:
    folder = write(tmp_path, faq="# Title\nintro\n## Доставка?\nДа.\n\n### Сроки\nТри дня.\n")

    entry = load_knowledge(folder).search("доставка")[0]
    assert entry == Entry("Доставка?", "Да.\n\n### Сроки\nТри дня.", "faq.md:3")


def test_missing_files_are_all_named(tmp_path: Path) -> None:
    faults = faults_of(tmp_path)

    assert "catalog.csv is missing" in faults
    assert "faq.md is missing" in faults


def test_a_business_that_sells_nothing_yet_may_start(tmp_path: Path) -> None:
    knowledge = load_knowledge(write(tmp_path, catalog="name,price\n", faq="# Questions\n"))

    assert knowledge.entries == ()
    assert knowledge.search("кружка") == []
