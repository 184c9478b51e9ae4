"""What the environment's text alone gives away: each fault is named with its variable, and never with a secret."""

import pytest

from runtime.checks.environment import environment_findings
from runtime.findings import Level
from runtime.settings import Environment

TOKENS = {"INSTAGRAM_TOKEN": "an-invented-token"}
SECRET = "Zq8mT4vX1nB7"  # part of each secret below, so that a message that holds it is found


def errors(tokens: dict[str, str] | None = None, /, **values: str) -> list[str]:
    return found(Level.ERROR, tokens, **values)


def warnings(tokens: dict[str, str] | None = None, /, **values: str) -> list[str]:
    return found(Level.WARNING, tokens, **values)


def found(level: Level, tokens: dict[str, str] | None, /, **values: str) -> list[str]:
    env = Environment.model_validate({name.lower(): value for name, value in values.items()})
    return [str(f) for f in environment_findings(env, TOKENS if tokens is None else tokens) if f.level is level]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LLM_API_KEY", f"sk-{SECRET}\u200bkey", "holds U+200B ZERO WIDTH SPACE as its character 16"),
        ("LLM_API_KEY", f"sk-{SECRET}\u00a0key", "U+00A0 NO-BREAK SPACE"),
        ("LLM_API_KEY", f"sk-{SECRET}к", "U+043A CYRILLIC SMALL LETTER KA as its character 16"),
        ("LLM_API_KEY", f"sk-{SECRET}\nkey", "a line break as its character 16"),
        ("LLM_API_KEY", f"sk-{SECRET} key", "a space as its character 16"),
        ("LLM_API_KEY", f'"sk-{SECRET}"', "stands in quotes"),
        ("LLM_API_KEY", f"«sk-{SECRET}»", "stands in quotes"),
        ("META_APP_SECRETS", f"{SECRET},{SECRET}\ufeff", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
        ("META_APP_SECRETS", f"{SECRET},{SECRET}я", "U+044F"),
        ("META_APP_SECRETS", f"'{SECRET}'", "stands in quotes"),
        ("META_VERIFY_TOKEN", f"{SECRET}\u200d", "U+200D ZERO WIDTH JOINER"),
        ("META_APP_ID", "my app", "is no app id"),
        ("OPS_TOKEN", f"{SECRET} x", "a space as its character 13"),
        ("TELEGRAM_BOT_TOKEN", f"AAH{SECRET}", "is no token of a bot; copy it from @BotFather"),
        ("TELEGRAM_BOT_TOKEN", f"bot123456789:AAH{SECRET}-0123456789abcdefghij", "is no token of a bot"),
        ("TELEGRAM_CHAT_ID", "Managers", "is no id of a chat"),
        ("TELEGRAM_API_URL", "api.telegram.org", "has no scheme; write it like https://api.telegram.org"),
        ("GRAPH_API_URL", "graph.facebook.com", "has no scheme"),
        ("GRAPH_API_URL", "https://", "names no host"),
        ("GRAPH_API_URL", "https:///v26.0", "names no host"),
        ("GRAPH_API_URL", "https://graph.facebook.com/v26.0", "ends in a version"),
        ("GRAPH_API_URL", "https://graph.faсebook.com", "U+0441 CYRILLIC SMALL LETTER ES"),
        ("INSTAGRAM_API_URL", "https://graph.instagram.com:99999", "its host or port cannot be read"),
        ("LLM_API_URL", "ftp://models.example", "begins with ftp://"),
        ("LLM_API_URL", "https://openrouter.ai/api/v1/chat/completions", "ends in /chat/completions; leave that out"),
        ("LLM_API_URL", "https://models.example/v1?api-version=3", "has a ? or # in it"),
        ("LLM_API_URL", "https://[::1/v1", "its host or port cannot be read"),
        ("GRAPH_API_VERSION", "26.0", "write it like v26.0"),
        ("GRAPH_API_VERSION", "v26", "write it like v26.0"),
        ("REDIS_URL", "localhost:6379", "has no scheme; write it like redis://host:6379/0"),
        ("REDIS_URL", "127.0.0.1", "has no scheme"),
        ("REDIS_URL", f"http://:{SECRET}@host:6379", "must begin with redis://, rediss://"),
        ("REDIS_URL", "amqp://host//", "must begin with redis://"),
        ("REDIS_URL", f"redis://:{SECRET}/x@host:6379/0", "must be written as %2F"),
        ("REDIS_URL", f"redis://:{SECRET}#x@host:6379/0", "write it as %23"),
        ("REDIS_URL", "redis://host:123456/0", "the port is no number up to 65535"),
        ("REDIS_URL", "redis://host:6379/zero", "the database after the last / must be a number"),
        ("REDIS_URL", "unix://", "names no socket"),
        ("REDIS_URL", "sentinel://", "names no sentinel"),
        ("REDIS_URL", "sentinel://host:port/mymaster/0", "the port of a sentinel is no number"),
        ("REDIS_URL", "rediss://h:1/0?ssl_cert_reqs=sometimes", "ssl_cert_reqs must be one of"),
        ("REDIS_URL", "rediss://h:1/0?ssl_ca_certs=/nowhere/ca.pem", "which does not exist"),
        ("REDIS_URL", "redis://h:1/0?ssl_cert_reqs=none", "write rediss://"),
        ("CELERY_BROKER_URL", "rabbitmq:5672", "has no scheme"),
        ("CELERY_BROKER_URL", "rabbit://host", "or with one of amqp"),
        ("CELERY_BROKER_URL", "amqp://", "names no host"),
        ("SENTRY_DSN", "https://sentry.io/1", "is no DSN"),
        ("SENTRY_DSN", f"{SECRET}@o1.ingest.sentry.io/1", "is no DSN"),
        ("PUBLIC_URL", "bot.example.com", "has no scheme"),
        ("HOST", "http://0.0.0.0", "is no address to listen on"),
        ("HOST", "0.0.0.0:8000", "its port is PORT"),
        ("HOST", "localhost:8000", "its port is PORT"),
        ("PORT", "0", "a port is a number from 1 to 65535"),
        ("PORT", "70000", "a port is a number from 1 to 65535"),
        ("FLOWER_PORT", "-1", "a port is a number from 1 to 65535"),
        ("FLOWER_PORT", "8000", "PORT and FLOWER_PORT are both 8000"),
        ("FLOWER_BASIC_AUTH", SECRET, "is no pair"),
        ("FLOWER_BASIC_AUTH", f":{SECRET}", "is no pair"),
        ("FLOWER_BASIC_AUTH", f"a:{SECRET},c", "is no pair"),
    ],
)
def test_a_value_that_cannot_be_right_is_named(name: str, value: str, said: str) -> None:
    (fault,) = errors(**{name: value})

    assert fault.startswith((name, "PORT"))
    assert said in fault
    assert SECRET not in fault


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LLM_API_KEY", "sk-or-v1-0123456789abcdef"),
        ("META_APP_SECRETS", "one-of-them, another-of-them"),
        ("META_VERIFY_TOKEN", "слово из двух языков two"),
        ("META_APP_ID", "555000111222333"),
        ("TELEGRAM_BOT_TOKEN", "1234567890:AAHinvented_token-of_a_bot_0123456789"),
        ("TELEGRAM_CHAT_ID", "-1001234567890"),
        ("TELEGRAM_CHAT_ID", "@our_managers"),
        ("GRAPH_API_URL", "http://127.0.0.1:4711/graph.facebook.com/"),
        ("LLM_API_URL", "http://localhost:11434/v1/"),
        ("LLM_API_URL", "http://[::1]:8080/v1"),
        ("LLM_API_URL", "https://models.example:8443/v1"),
        ("REDIS_URL", "redis://127.0.0.1:6379/0"),
        ("REDIS_URL", "redis://valkey"),
        ("REDIS_URL", "redis://user:p%2Fw%23@host:6379/15?socket_timeout=3"),
        ("REDIS_URL", "redis://:пароль-длинный@host:6379"),
        ("REDIS_URL", "rediss://:pw@host:6380/0?ssl_cert_reqs=none"),
        ("REDIS_URL", "unix:///run/valkey/valkey.sock?db=1"),
        ("REDIS_URL", "unix://user:pw@/run/valkey.sock"),
        ("REDIS_URL", "sentinel://:pw@one:26379,two:26379/mymaster/0"),
        ("REDIS_URL", "rediss+sentinel://one:26379;rediss+sentinel://two:26379/shop/0"),
        ("CELERY_BROKER_URL", "amqp://user:pw@rabbit:5672//"),
        ("CELERY_BROKER_URL", "amqps://user:pw@rabbit/vhost"),
        ("SENTRY_DSN", "https://0123456789abcdef@o42.ingest.de.sentry.io/4501"),
        ("SENTRY_DSN", "http://abc:def@sentry.example:9000/a/path/1"),
        ("PUBLIC_URL", "https://bot.example.com/nightshift"),
        ("HOST", "0.0.0.0"),
        ("HOST", "::"),
        ("HOST", "::1"),
        ("HOST", "fe80::1%eth0"),
        ("HOST", "::ffff:127.0.0.1"),
        ("FLOWER_BASIC_AUTH", "anna:0123456789abc,boris:cba9876543210"),
    ],
)
def test_what_may_be_right_is_left_alone(name: str, value: str) -> None:
    assert errors(**{name: value}) == []


def test_an_accounts_token_is_checked_under_its_own_name() -> None:
    (fault,) = errors({"SHOP_TOKEN": f"EAA{SECRET}\u2060"})

    assert fault.startswith("SHOP_TOKEN holds U+2060 WORD JOINER as its character 16")
    assert SECRET not in fault


def test_space_around_a_value_is_no_part_of_it() -> None:
    assert Environment.model_validate({"llm_api_key": " key\n", "port": " 8001 ", "redis_url": "  "}).port == 8001
    assert errors(LLM_API_KEY=" key\r\n", TELEGRAM_CHAT_ID=" -100123 ") == []


def test_all_faults_come_at_once() -> None:
    assert len(errors(REDIS_URL="localhost:6379", GRAPH_API_VERSION="26.0", PORT="0", LLM_API_KEY="\u200b")) == 4


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("META_VERIFY_TOKEN", "changeme"),
        ("META_VERIFY_TOKEN", "Change-Me-123!"),
        ("META_VERIFY_TOKEN", "12345678"),
        ("META_VERIFY_TOKEN", "short-one"),
        ("META_APP_SECRETS", "0123456789abcdef0123456789abcdef,your-app-secret"),
        ("META_APP_SECRETS", "<app-secret>"),
        ("LLM_API_KEY", "xxxxxxxx"),
        ("LLM_API_KEY", "your_api_key"),
        ("OPS_TOKEN", "supersecret"),
        ("OPS_TOKEN", "tooshort"),
        ("FLOWER_BASIC_AUTH", "admin:admin"),
        ("FLOWER_BASIC_AUTH", "anna-of-the-shop:Anna-of-the-shop"),
        ("FLOWER_BASIC_AUTH", "a:0123456789abc9,b:password1"),
        ("FLOWER_BASIC_AUTH", "ops:hunter2"),
        ("REDIS_URL", "redis://:foobared@127.0.0.1:6379/0"),
        ("CELERY_BROKER_URL", "amqp://guest:guest@127.0.0.1:5672//"),
        ("REDIS_URL", "sentinel://:0123456789abcx@sentinel-1,sentinel-2/mymaster?sentinel_password=changeme"),
        ("REDIS_URL", "sentinel://:changeme@sentinel-1/mymaster?sentinel_password=0123456789@abcx"),
    ],
)
def test_a_weak_or_leftover_secret_is_pointed_out(name: str, value: str) -> None:
    found = [warning for warning in warnings(**{name: value}) if "32 hexadecimal" not in warning]

    assert [warning.partition(" ")[0] for warning in found] == [name]
    assert value not in found[0]


def test_a_verify_token_that_is_an_app_secret_is_pointed_out() -> None:
    secret = "0123456789abcdef0123456789abcdea"

    (warning,) = warnings(META_APP_SECRETS=secret, META_VERIFY_TOKEN=secret)

    assert "META_VERIFY_TOKEN is one of META_APP_SECRETS" in warning


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LLM_API_URL", "http://models.example/v1"),
        ("LLM_API_URL", "http://10.0.0.7:8000/v1"),
        ("GRAPH_API_URL", "http://graph.facebook.com"),
        ("INSTAGRAM_API_URL", "http://graph.instagram.com"),
        ("TELEGRAM_API_URL", "http://telegram-api:8081"),
        ("SENTRY_DSN", "http://abc@sentry.example/1"),
        ("PUBLIC_URL", "http://bot.example.com"),
        ("REDIS_URL", "redis://:0123456789abcx@redis.example.com:6379/0"),
        ("REDIS_URL", "valkey://:0123456789abcx@redis.example.com:6379/0"),
        ("REDIS_URL", "sentinel://:0123456789abcx@s1.example.com:26379,s2.example.com:26379/mymaster/0"),
        ("REDIS_URL", "sentinel://s1.example.com:26379/mymaster?sentinel_password=0123456789abcx"),
        ("REDIS_URL", "rediss+sentinel://s1.example.com/m?sentinel_tls=no&sentinel_password=0123456789abcx"),
        ("CELERY_BROKER_URL", "amqp://nina:0123456789abcx@rabbit.example.com//"),
    ],
)
def test_what_would_carry_secrets_in_the_clear_is_pointed_out(name: str, value: str) -> None:
    (warning,) = warnings(**{name: value})

    assert warning.startswith(f"{name} ")
    assert "0123456789abcx" not in warning


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LLM_API_URL", "http://localhost:11434/v1"),
        ("LLM_API_URL", "http://host.docker.internal:11434/v1"),
        ("GRAPH_API_URL", "http://127.0.0.1:4711"),
        ("REDIS_URL", "redis://:0123456789abcx@valkey:6379/0"),
        ("REDIS_URL", "redis://:0123456789abcx@10.1.2.3:6379/0"),
        ("REDIS_URL", "rediss://:0123456789abcx@redis.example.com:6379/0"),
        ("REDIS_URL", "rediss+sentinel://:0123456789abcx@s1.example.com/m?sentinel_password=0123456789abcy"),
        ("REDIS_URL", "rediss+sentinel://:0123456789abcx@s1.example.com/m?sentinel_tls=no"),
        ("REDIS_URL", "sentinel://:0123456789abcx@10.1.2.3:26379,sentinel-2:26379/mymaster/0"),
        ("REDIS_URL", "unix://:0123456789abcx@/run/redis.example.com/redis.sock"),
        ("META_APP_SECRETS", "0123456789abcdef0123456789abcdea"),
        ("META_VERIFY_TOKEN", "A0b1C2d3E4f5G6h7"),
        ("FLOWER_BASIC_AUTH", "nightshift:A0b1C2d3E4f5G6h7"),
    ],
)
def test_what_is_fine_raises_no_warning(name: str, value: str) -> None:
    assert warnings(**{name: value}) == []


def test_a_variable_of_what_is_not_built_yet_is_told() -> None:
    (warning,) = warnings(AMOCRM_URL="https://example.amocrm.ru", TELEGRAM_WEBHOOK_SECRET="made-up-by-make-up")

    assert warning == "AMOCRM_URL is set, but this version has no CRM; nothing comes of it yet"


def test_a_secret_of_metas_shape_is_asked_for_where_meta_is_asked() -> None:
    assert len(warnings(META_APP_SECRETS="not-hexadecimal-at-all")) == 1
    assert warnings(META_APP_SECRETS="not-hexadecimal-at-all", GRAPH_API_URL="http://127.0.0.1:1") == []


def test_a_near_miss_of_production_is_pointed_out() -> None:
    (warning,) = warnings(APP_ENV="prod")

    assert "APP_ENV is prod" in warning
