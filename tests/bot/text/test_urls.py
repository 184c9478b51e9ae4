import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.text.urls import (
    MOST_BYTES,
    addresses_in,
    beginning_of,
    end_of,
    extension_of,
    name_of_host,
    public_address,
    without_addresses,
)


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("https://shop.example/p/101", "https://shop.example/p/101"),
        ("http://shop.example", "http://shop.example/"),
        ("HTTPS://Shop.Example:8443/A?b=c&d=%20#e", "https://shop.example:8443/A?b=c&d=%20#e"),
        ("www.shop.example/a", "https://www.shop.example/a"),
        ("https://магазин.рф/кружка", "https://xn--80aairftm.xn--p1ai/%D0%BA%D1%80%D1%83%D0%B6%D0%BA%D0%B0"),
        ("https://8.8.8.8/a.png", "https://8.8.8.8/a.png"),
    ],
)
def test_an_address_has_one_spelling(written: str, address: str) -> None:
    assert public_address(written) == address
    assert public_address(address) == address


@pytest.mark.parametrize(
    "written",
    [
        "",
        "shop.example/a",
        "ftp://shop.example/a",
        "javascript:alert(1)",
        "https://",
        "https://user:secret@shop.example/a",
        "https://shop.example@evil.example/a",
        "https://localhost/a",
        "https://shop/a",
        "http://127.0.0.1/a",
        "http://127.1/a",
        "http://2130706433/a",
        "http://0x7f.0.0.1/a",
        "http://0x7f000001/a",
        "http://１２７.0.0.1/a",
        "http://10.0.0.5/a.png",
        "http://192.168.1.1/a.png",
        "http://169.254.169.254/latest/meta-data",
        "http://100.64.0.1/a",
        "http://224.0.0.1/a",
        "http://[::1]/a",
        "http://printer.local/a",
        "http://db.internal/a",
        "https://example.com/catalog",
        "https://www.example.com/catalog",
        "https://shop..example/a",
        "https://-shop.example/a",
        "https://shop.example:99999/a",
        "https://shop.example:port/a",
        "https://shop.example/\ud83d",
        f"https://shop.example/{'a' * MOST_BYTES}",
    ],
)
def test_nobody_is_sent_there(written: str) -> None:
    assert public_address(written) == ""


def test_an_address_is_known_as_a_whole_only() -> None:
    known = addresses_in(["See (https://shop.example/p/101), or https://shop.example/p/102; www.shop.example!", "none"])

    assert known == {"https://shop.example/p/101", "https://shop.example/p/102", "https://www.shop.example/"}


def test_the_bracket_of_an_address_stays() -> None:
    assert addresses_in(["(https://shop.example/mug_(mist))"]) == {"https://shop.example/mug_(mist)"}


@pytest.mark.parametrize(
    ("url", "extension"),
    [("https://shop.example/a.PDF?x=1", ".pdf"), ("https://shop.example/a", ""), ("https://shop.example/", "")],
)
def test_the_kind_of_a_file_is_read_from_its_path(url: str, extension: str) -> None:
    assert extension_of(url) == extension
    assert name_of_host(url) == "shop.example"


def test_addresses_are_left_out_of_what_is_searched() -> None:
    assert without_addresses("link: https://shop.example/p; size: 350") == "link:   size: 350"
    assert without_addresses("size: 350") == "size: 350"


@given(st.text(max_size=60), st.sampled_from(["https://", "http://", "www.", "https://shop.example/"]))
def test_what_is_called_public_is_ascii_short_and_without_credentials(text: str, start: str) -> None:
    address = public_address(start + text)

    assert address.isascii()
    assert len(address) <= MOST_BYTES
    assert "@" not in address.split("/")[2] if address else True
    assert public_address(address) == address


TEXT = "Кружка https://shop.example/p/101 и <www.shop.example/a?to=https://shop.example/b>, ещё https://shop.example/c."


@pytest.mark.parametrize("most", range(len(TEXT) + 2))
def test_a_part_of_a_text_holds_no_part_of_an_address(most: int) -> None:
    assert addresses_in([beginning_of(TEXT, most)]) <= addresses_in([TEXT])
    assert addresses_in([end_of(TEXT, most)]) <= addresses_in([TEXT])
    assert TEXT.startswith(beginning_of(TEXT, most))
    assert TEXT.endswith(end_of(TEXT, most))


def test_a_part_of_a_text_is_as_long_as_may_be() -> None:
    assert beginning_of("раз два", 5) == "раз д"
    assert end_of("раз два", 5) == "з два"
    assert beginning_of(TEXT, 33) == "Кружка https://shop.example/p/101"
    assert beginning_of(TEXT, 32) == "Кружка "
    assert (beginning_of(TEXT, 200), end_of(TEXT, 200), end_of(TEXT, 0)) == (TEXT, TEXT, "")
