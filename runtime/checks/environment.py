"""What can be told of the environment without a network: characters, shapes, addresses, ports, weak secrets.

A message names the variable, what is wrong and what would be right, and never holds a value that may be a secret.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import SecretStr

from runtime.checks import not_read_yet, weak_secrets
from runtime.checks.urls import (
    Fault,
    dsn_fault,
    is_port,
    passwords_of,
    store_address_fault,
    store_password_travels_in_the_clear,
    travels_in_the_clear,
    web_address_fault,
)
from runtime.findings import Finding, Level

if TYPE_CHECKING:
    from runtime.settings import Environment

Check = Callable[[str], Fault | None]

_TYPE_AGAIN = "type or paste it again"
_META = "https://graph.facebook.com"
_SECRET_OF_META = re.compile(r"[0-9a-f]{32}")
_KNOWN_APP_ENVS = ("production", "development", "test", "staging")


def plain(value: object) -> str:
    """A variable's value as text, whether or not it is kept as a secret."""
    return str(value.get_secret_value() if isinstance(value, SecretStr) else value)


def environment_findings(
    env: "Environment", tokens: Mapping[str, str], *, lines: Mapping[str, int] | None = None
) -> list[Finding]:
    """`tokens`: the accounts' variables with their values. `lines`: where in `.env` a variable stands."""
    values = {name.upper(): plain(getattr(env, name)) for name in type(env).model_fields} | dict(tokens)
    lines = lines or {}
    found: list[Finding] = []
    for name, value in values.items():
        where = f"{name} (line {lines[name]} of .env)" if name in lines else name
        checks = (_character_fault, _quote_fault, *_CHECKS.get(name, (_header_fault,) if name in tokens else ()))
        fault = next((fault for check in checks if (fault := check(value)) is not None), None) if value else None
        if fault is not None:
            found.append(Finding(f"env.{name}", Level.ERROR, f"{where} {fault.what}", fault.fix))
    faulty = {finding.check.removeprefix("env.") for finding in found}
    found += _port_findings(env)
    sound = {name: value for name, value in values.items() if value and name not in faulty}
    found += [*_clear_text(sound), *_weak(sound, tokens), *_doubtful(sound), *_not_read(env)]
    return found


def _character_fault(value: str) -> Fault | None:
    """Whatever is no sign that a reader can see, inside a value: it came along with copying."""
    for at, character in enumerate(value, start=1):
        if character != " " and unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Cs", "Zs", "Zl", "Zp"):
            what = f"holds {_name_of(character)} as its character {at}"
            return Fault(what, f"{_TYPE_AGAIN}, without it")
    return None


def _quote_fault(value: str) -> Fault | None:
    if len(value) > 1 and value[0] in "\"'`«“”‘’" and value[-1] in "\"'`»“”‘’":
        return Fault("stands in quotes, which are taken for a part of it", "write it without")
    return None


def _header_fault(value: str) -> Fault | None:
    """What travels in a header is made of printable ASCII (https://www.rfc-editor.org/rfc/rfc9110#section-5.5)."""
    for at, character in enumerate(value, start=1):
        if not "!" <= character <= "~":
            return Fault(f"holds {_name_of(character)} as its character {at}", f"{_TYPE_AGAIN}: keys are plain ASCII")
    return None


def _name_of(character: str) -> str:
    known = {"\n": "a line break", "\r": "a line break", "\t": "a tab", " ": "a space"}
    return known.get(character) or f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()


def _shape(pattern: str, what: str, fix: str) -> Check:
    compiled = re.compile(pattern)
    return lambda value: None if compiled.fullmatch(value) else Fault(what, fix)


def _web(example: str) -> tuple[Check, ...]:
    return _header_fault, lambda value: web_address_fault(value, example)


def _no_tail(pattern: str, what: str, fix: str) -> Check:
    compiled = re.compile(pattern)
    return lambda value: Fault(what, fix) if compiled.search(value) else None


def _pairs_fault(value: str) -> Fault | None:
    pairs = [pair.partition(":") for pair in value.split(",")]
    return None if all(user and password for user, _, password in pairs) else Fault("is no pair", _PAIR)


_PAIR = "write it like user:password, several with commas between"
_NO_VERSION = _no_tail(r"/v\d+(?:\.\d+)?/?$", "ends in a version", "leave it out, GRAPH_API_VERSION holds it")
_CHECKS: Mapping[str, tuple[Check, ...]] = {
    "REDIS_URL": (store_address_fault,),
    "CELERY_BROKER_URL": (lambda value: store_address_fault(value, is_broker=True),),
    "META_APP_SECRETS": (lambda value: next(filter(None, map(_header_fault, _listed(value))), None),),
    "META_APP_ID": (_shape(r"\d{5,}", "is no app id", "copy the digits from the top of the Meta App Dashboard"),),
    "GRAPH_API_URL": (*_web(_META), _NO_VERSION),
    "INSTAGRAM_API_URL": (*_web("https://graph.instagram.com"), _NO_VERSION),
    "GRAPH_API_VERSION": (_shape(r"v\d{1,3}\.\d{1,2}", "is no version of the Graph API", "write it like v26.0"),),
    "LLM_API_URL": (
        *_web("https://openrouter.ai/api/v1"),
        _no_tail(r"/chat/completions/?$", "ends in /chat/completions", "leave that out, it is appended"),
    ),
    "LLM_API_KEY": (_header_fault,),
    "TELEGRAM_API_URL": _web("https://api.telegram.org"),
    "TELEGRAM_BOT_TOKEN": (
        _header_fault,
        _shape(r"\d{5,}:[\w-]{30,}", "is no token of a bot", "copy it from @BotFather: it reads 123456789:AA..."),
    ),
    "TELEGRAM_CHAT_ID": (
        _shape(r"-?\d+|@[A-Za-z]\w{3,}", "is no id of a chat", "write -100... for a group, or @name for a channel"),
    ),
    "SENTRY_DSN": (_header_fault, dsn_fault),
    "PUBLIC_URL": (lambda value: web_address_fault(value, "https://bot.example.com"),),
    "HOST": (  # two colons at least make an IPv6 address; one would set a port apart
        _shape(
            r"[\w.-]+|[\w.]*:[\w.]*:[\w.:%-]*",
            "is no address to listen on",
            "write it like 127.0.0.1, its port is PORT",
        ),
    ),
    "OPS_TOKEN": (_header_fault,),
    "FLOWER_BASIC_AUTH": (_header_fault, _pairs_fault),
}


def _listed(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def _port_findings(env: "Environment") -> Iterator[Finding]:
    ports = {"PORT": env.port, "FLOWER_PORT": env.flower_port}
    for name, port in ports.items():
        if not is_port(port):
            yield Finding(f"env.{name}", Level.ERROR, f"{name} is {port}", "a port is a number from 1 to 65535")
    if env.port == env.flower_port:
        what = f"PORT and FLOWER_PORT are both {env.port}"
        yield Finding("env.FLOWER_PORT", Level.ERROR, what, "they must differ")


def proxy_findings(proxies: Mapping[str, str]) -> Iterator[Finding]:
    """What is wrong with HTTPS_PROXY and its kin, as `urllib.request.getproxies_environment` gives them."""
    for scheme in ("https", "http", "all"):
        kind, separator, _ = proxies.get(scheme, "").partition("://")
        if separator and kind.lower() != "http":
            name = f"{scheme.upper()}_PROXY"
            what = f"{name} begins with {kind}://, and calls go through http:// proxies alone"
            fix = "write http://host:port, which carries https:// calls unread"
            yield Finding(f"env.{name}", Level.ERROR, what, fix)


def _clear_text(values: Mapping[str, str]) -> Iterator[Finding]:
    for name, carries in (
        ("LLM_API_URL", "LLM_API_KEY and what customers write"),
        ("GRAPH_API_URL", "access tokens"),
        ("INSTAGRAM_API_URL", "access tokens"),
        ("TELEGRAM_API_URL", "TELEGRAM_BOT_TOKEN"),
        ("SENTRY_DSN", "error reports"),
        ("PUBLIC_URL", "webhooks"),
    ):
        if travels_in_the_clear(values.get(name, "")):
            what = f"{name} begins with http://: anyone on the network path can read {carries}"
            yield Finding(f"env.{name}", Level.WARNING, what, "write https://")
    for name in ("REDIS_URL", "CELERY_BROKER_URL"):
        if store_password_travels_in_the_clear(values.get(name, "")):
            what = f"{name} has a password and no TLS: anyone on the network path can read it"
            yield Finding(f"env.{name}", Level.WARNING, what, "use rediss:// (amqps://), or a private network")


def _weak(values: Mapping[str, str], tokens: Mapping[str, str]) -> Iterator[Finding]:
    for name, user, secret in _secrets(values, tokens):
        if weak_secrets.is_well_known(secret) or user.casefold() == secret.casefold():
            what = f"{name} holds a well-known word or what an example left there"
            yield Finding(f"env.{name}", Level.WARNING, what, "set a secret of your own: openssl rand -hex 16")
        elif name in _GUESSED_FROM_OUTSIDE and weak_secrets.is_short(secret):
            what = f"{name} is {len(secret)} characters long, which can be guessed"
            fix = f"take at least {weak_secrets.SHORTEST}: openssl rand -hex 16"
            yield Finding(f"env.{name}", Level.WARNING, what, fix)
    if (verify := values.get("META_VERIFY_TOKEN")) and verify in _listed(values.get("META_APP_SECRETS", "")):
        what = "META_VERIFY_TOKEN is one of META_APP_SECRETS, and it travels in addresses, which get logged"
        yield Finding(
            "env.META_VERIFY_TOKEN", Level.WARNING, what, "set a word of its own, here and in Meta's dashboard"
        )


_GUESSED_FROM_OUTSIDE = ("META_VERIFY_TOKEN", "FLOWER_BASIC_AUTH", "OPS_TOKEN")


def _secrets(values: Mapping[str, str], tokens: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Each secret with its variable and the user's name that belongs to it, if any."""
    for name in ("META_VERIFY_TOKEN", "LLM_API_KEY", "OPS_TOKEN", *tokens):
        if name in values:
            yield name, "", values[name]
    for secret in _listed(values.get("META_APP_SECRETS", "")):
        yield "META_APP_SECRETS", "", secret
    for pair in values.get("FLOWER_BASIC_AUTH", "").split(","):
        user, _, password = pair.partition(":")
        if password:
            yield "FLOWER_BASIC_AUTH", user, password
    for name in ("REDIS_URL", "CELERY_BROKER_URL"):
        for password in sorted(passwords_of(values.get(name, ""))):
            yield name, "", password


def _doubtful(values: Mapping[str, str]) -> Iterator[Finding]:
    secrets = _listed(values.get("META_APP_SECRETS", ""))
    if values.get("GRAPH_API_URL") == _META and not all(map(_SECRET_OF_META.fullmatch, secrets)):
        what = "META_APP_SECRETS holds one that is not 32 hexadecimal digits, as Meta's are"
        fix = "copy it once more from Meta App Dashboard > App settings > Basic"
        yield Finding("env.META_APP_SECRETS", Level.WARNING, what, fix)
    if ("TELEGRAM_BOT_TOKEN" in values) != ("TELEGRAM_CHAT_ID" in values):
        what = "of TELEGRAM_BOT_TOKEN and TELEGRAM_CHAT_ID only one is set: alerts go to the log alone"
        yield Finding("env.TELEGRAM_CHAT_ID", Level.WARNING, what, "set both, or none")
    if (app_env := values.get("APP_ENV", "production")) not in _KNOWN_APP_ENVS:
        what = f"APP_ENV is {app_env}, which is not production: Flower then starts without a password"
        yield Finding("env.APP_ENV", Level.WARNING, what, f"write one of {', '.join(_KNOWN_APP_ENVS)}")


def _not_read(env: "Environment") -> Iterator[Finding]:
    for name, missing in not_read_yet.VARIABLES.items():
        default = type(env).model_fields[name].default
        if name not in not_read_yet.MADE_UP_AHEAD and plain(getattr(env, name)) != plain(default):
            what = f"{name.upper()} is set, but this version has {missing}"
            yield Finding(f"env.{name.upper()}", Level.WARNING, what, "nothing comes of it yet")
