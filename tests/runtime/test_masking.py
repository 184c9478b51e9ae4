from collections.abc import Callable, Iterator

import pytest
from pydantic import SecretStr

from bot.incoming.events import Channel
from runtime.known_secrets import secrets_of
from runtime.masking import know_secrets, mask, mask_known
from runtime.settings import Account, Alerts, Config, Environment, Settings
from tests.growth import MOST, growth


@pytest.fixture
def known() -> Iterator[Callable[..., None]]:
    yield lambda *secrets: know_secrets(secrets)
    know_secrets(())


HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("https://api.telegram.org/bot1234567890:AAHinvented_token_of_a_bot_0123456789/sendMessage", "invented"),
        ("EAAGm0PX4ZCpsBAinvented", "invented"),
        ("IGQVJinventedtoken", "invented"),
        ("https://graph.example.invalid/me?access_token=invented&x=1", "invented"),
        ("Authorization: Bearer sk-or-v1-invented-key", "invented"),
        ("redis://user:invented@host:6379/0", "invented"),
        ("redis+socket://:invented@/run/redis/redis.sock", "invented"),
        ("anna@example.com", "anna"),
        ("+7 (900) 000-00-01", "900"),
        ("89000000001", "890"),
        # hexadecimal ones: an app secret, a proof, a signature
        (f"secret {HEX} does not match", HEX),
        (f"appsecret_proof={HEX}{HEX}", HEX),
        (f"X-Hub-Signature-256: sha256={HEX}{HEX}", HEX),
        (HEX.upper(), HEX.upper()),
        # keys of JSON, of Python, of YAML, of an address, of a shell
        ('{"access_token": "invented", "expires_in": 5}', "invented"),
        (r"{\"access_token\":\"invented\"}", "invented"),
        ("{'access_token': 'invented'}", "invented"),
        ('{"password":"invented phrase, of words"}', "invented"),
        ("password: invented", "invented"),
        ("Пароль: invented", "invented"),
        ("password = 'invented'", "invented"),
        ("postgres://shop:invented/x@db/shop", "invented"),
        ("hub.mode=subscribe&hub.verify_token=invented&hub.challenge=1", "invented"),
        ("INSTAGRAM_TOKEN=invented0123456789", "invented"),
        ("X-Telegram-Bot-Api-Secret-Token: invented-0123456789", "invented"),
        ('"client_secret" : "invented"', "invented"),
        ("x-api-key: invented", "invented"),
        ("whsec_inventedMfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "invented"),
        # passwords that nobody escaped
        ("redis://:invented/with/slashes@host:6379/0", "with/slashes"),
        ("rediss://u:invented@twice@host:6380", "twice"),
        ("amqp://shop:invented#x@rabbit//", "invented"),
        ("https://user:invented@proxy.example:3128", "invented"),
        ("sentinel://:invented@one:26379;sentinel://:invented@two:26379/mymaster", "invented"),
        # cards, as people write them
        ("my card is 4111 1111 1111 1111 thanks", "1111"),
        ("5555555555554444", "5555"),
        ("2200-0000-0000-0053", "2200"),
        ("card:378282246310005", "3782"),
        ("6759\u00a06498\u00a02643\u00a08453", "8453"),
    ],
)
def test_secrets_and_personal_data_are_masked(text: str, secret: str) -> None:
    assert secret not in mask(f"failed: {text}")
    assert secret not in mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "4eb1e8a7ea08e4a6",
        "conversation=4eb1e8a7ea08e4a6 token of 3",
        "account instagram 17841400000000042",
        "HTTP 503, code 10/2534022",
        "v26.0",
        "mid aWdfZAG1faXRlbToxOklHTWVzc2FnZAUlEOjE3ODQxNDAw",
        "m_AbCdEf-Gh1234567890_ijKLmnOPqrSTuvWXyz",
        "task 1f0e9d8c-7b6a-5948-3726-150413021ac1[answer] received",
        "gen-1790000000-aBcDeFgHiJkLmNoPqRsT",
        "req_0a1b2c3d4e5f60718293a4b5c6d7e8f9",
        "fbtrace_id AbC1dEf2GhI3jKl4MnO5pQr",
        "prompt hash 0a1b2c3d4e5f",
        "max_tokens: 8000, completion_tokens=812",
        "{'prompt_tokens': 6400, 'cost': 0.0123}",
        "INSTAGRAM_TOKEN: expired",
        'token_env = "SHOP_TOKEN"',
        "META_VERIFY_TOKEN is missing: Meta cannot confirm the address",
        "password: missing",
        "api_key is not set",
        "access_token: invalid",
        "secret: wrong",
        "signature: does not match",
        "Кружка «Туман» стоит 1 900 ₽, две по 3 800",
        "1 234 567,00 RUB",
        "2026-11-30T21:48:50.123Z",
        "took 0.123456789 s",
        "10.12.13.14:6379",
        "https://www.instagram.com/our.shop/",
        "https://t.me/@our_managers",
        "redis://127.0.0.1:6379/0",
        "order 4111",
        "1234567890123456789012",
        "17841400000000042 17841400000000043",
        "celery@worker-12",
        "/webhooks/meta 200 in 3 ms",
    ],
)
def test_what_people_need_to_read_stays(text: str) -> None:
    assert mask(text) == text


def test_what_this_process_holds_is_known_by_its_value(known: Callable[..., None]) -> None:
    known("korabl-i-more", 'with "quotes" & signs', "short", "korabl-i-more-two")

    assert mask("said korabl-i-more!") == "said <secret>!"
    assert mask("said korabl-i-more-two!") == "said <secret>!"
    for form in ('with "quotes" & signs', r"with \"quotes\" & signs", "with%20%22quotes%22%20%26%20signs"):
        assert "quotes" not in mask(f"({form})")
    assert mask_known("with &quot;quotes&quot; &amp; signs") == "<secret>"
    assert mask("a short word") == "a short word"


def test_all_secrets_of_the_settings_are_known(monkeypatch: pytest.MonkeyPatch, known: Callable[..., None]) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:invented-proxy@proxy.example:3128")
    secrets = {
        name: f"invented-{name}" for name, field in Environment.model_fields.items() if field.annotation is SecretStr
    }
    secrets["flower_basic_auth"] = "ops:invented-flower,b:invented-b"
    secrets["meta_app_secrets"] = "invented-one, invented-two"
    del secrets["celery_broker_url"]
    secrets["redis_url"] = "redis://:invented%2Fredis@h:1/0"
    env = Environment.model_validate(secrets)
    account = Account(channel=Channel.INSTAGRAM, id="1", token=SecretStr("invented-account"))
    alerts = Alerts(heartbeat_url="https://ring.example/invented-path")

    known(*secrets_of(Settings(env=env, config=Config(accounts=(account,), alerts=alerts))))

    taken_apart = ("flower_basic_auth", "meta_app_secrets", "redis_url")
    told = [value for name, value in secrets.items() if name not in taken_apart]
    told += [
        "invented-flower",
        "invented-b",
        "invented-one",
        "invented-two",
        "invented/redis",
        "invented-account",
        "invented-proxy",
    ]
    told += ["https://ring.example/invented-path"]
    assert {mask_known(f"x {secret} y") for secret in told} == {"x <secret> y"}


def test_every_password_in_the_address_of_a_store_is_known(known: Callable[..., None]) -> None:
    store = (
        "rediss+sentinel://:invented-server@h1,h2/m?sentinel_password=invented%40sentinels&ssl_password=invented-key"
    )
    env = Environment.model_validate({"redis_url": store, "celery_broker_url": "amqp://u:invented-broker@h//"})

    known(*secrets_of(Settings(env=env, config=Config())))

    told = ["invented-server", "invented@sentinels", "invented%40sentinels", "invented-key", "invented-broker"]
    assert {mask_known(f"x {secret} y") for secret in told} == {"x <secret> y"}


def test_a_well_known_word_is_no_secret_to_look_for() -> None:
    env = Environment.model_validate({"meta_verify_token": "password", "flower_basic_auth": "admin:nightshift"})

    assert secrets_of(Settings(env=env, config=Config())) == set()


@pytest.mark.parametrize(
    "hostile",
    [
        "1",
        "a.",
        "a@a.",
        "eyJ-",
        "eyJaaaaaaaa.",
        "sk-",
        "1 (",
        "1" + " " * 800_000,
        "bot12345:",
        "1234567:",
        "redis://",
        "bearer ",
        "access_token=",
        'password="',
        "token='1",
        "secret: ",
        "https://",
        "redis://@",
        "a",
        "0f",
        "4 ",
        "4111 1111 1111 1112 ",
    ],
)
@pytest.mark.parametrize("size", [9_500, 400_000])  # of the longest, half, and of what is cut
def test_the_work_for_a_hostile_text_grows_with_its_length(hostile: str, size: int) -> None:
    assert growth(mask, lambda chars: (hostile * (chars // len(hostile) + 1))[:chars], size) <= MOST


def test_a_long_text_keeps_its_ends_and_no_half_of_a_secret() -> None:
    secret = "EAAinventedtoken"
    for before in range(9_980, 10_001):
        masked = mask("begin " + "x" * (before - 6) + " " + secret + " y" * 10_000 + " end")

        assert masked.startswith("begin ")
        assert masked.endswith(" end")
        assert "invented" not in masked
        assert len(masked) < 21_000
