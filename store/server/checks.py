"""What Nightshift asks of its Redis, checked against the server itself: at the start of each process and every minute.

A server that is away is no finding: it is waited for, as at any other time. What a managed server will not tell is a
warning, not a fault.
"""

import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redis.exceptions import AuthenticationError, RedisError, ResponseError

from runtime.addresses.redis_url import RedisUrlInvalid, is_redis_url, read_redis_url
from runtime.findings import Finding, Level
from runtime.key_prefix import PREFIX
from runtime.settings import Settings
from store.connection import Store, connect, store_error
from store.schema.stamp import bring_up
from store.scripts import Scripts, sources

OLDEST_REDIS = 7
NEEDED_CONNECTIONS = 30  # one of each process and a command beside them: docs/redis.md
LEAST_FREE_CONNECTIONS = 5
TIMEOUT_SECONDS = 3.0
_MORE_CONNECTIONS = "raise maxclients or take a larger plan; what each process takes: docs/redis.md"

_OUR_COMMANDS = (  # those that no script runs for us; a test holds them against the code
    *("BLPOP", "DEL", "EXEC", "EXISTS", "EXPIRE", "GET", "HGET", "HGETALL", "HMGET", "HSET", "HSETNX", "INCRBY"),
    *("INCRBYFLOAT", "LLEN", "LRANGE", "LREM", "LTRIM", "MULTI", "PEXPIRE", "RPUSH", "SET", "SUNIONSTORE", "TIME"),
    *("TTL", "UNWATCH", "WATCH", "XADD", "XDEL", "XINFO STREAM", "XRANGE", "XREVRANGE", "ZADD", "ZCARD", "ZRANGE"),
    *("ZRANGEBYSCORE", "ZREM", "ZREMRANGEBYRANK", "ZSCAN", "ZSCORE"),
)
_CELERYS_COMMANDS = (
    *("BRPOP", "DEL", "EXPIRE", "HDEL", "HGET", "HSET", "LLEN", "LPUSH", "MULTI", "PUBLISH", "RPUSH", "SADD", "SET"),
    *("SMEMBERS", "SREM", "SUBSCRIBE", "UNSUBSCRIBE", "UNWATCH", "WATCH", "ZADD", "ZREM", "ZREVRANGEBYSCORE"),
)


async def check_store(settings: Settings, *, is_running: bool = False) -> list[Finding]:
    """What is wrong with the server of `REDIS_URL`, and with the broker where that is another Redis; what is kept there
    is brought up to this version on the way (store/schema/stamp.py).

    `is_running`: a newer schema is no fault of a process that runs already, which an update is about to end.

    Raises `StoreUnavailable` when the store is away or answers too late.
    """
    env = settings.env
    found = await _check(
        env.redis_url.get_secret_value(),
        "redis",
        store_commands(is_broker=env.broker_url == env.redis_url),
        accounts=[f"{account.channel} {account.id}" for account in settings.config.accounts],
    )
    if is_running:
        found = [finding for finding in found if finding.check != "redis.schema"]
    broker = env.broker_url.get_secret_value()
    if env.broker_url != env.redis_url and is_redis_url(broker):
        found += [f for f in await _check(broker, "broker", _CELERYS_COMMANDS) if f.check not in _NOT_FOR_A_BROKER]
    return found


_NOT_FOR_A_BROKER = ("broker.persistence",)  # a poke is disposable


def store_commands(*, is_broker: bool) -> tuple[str, ...]:
    """Every command that is sent to the store, by scripts of ours, by us and, where it is the broker too, by Celery."""
    scripts = "\n".join(sources())
    of_scripts = re.findall(r"redis\.call\('([A-Z]+)'", scripts)
    return tuple(sorted({*of_scripts, *_OUR_COMMANDS, *(_CELERYS_COMMANDS if is_broker else ())}))


async def _check(
    url: str, name: str, commands: Sequence[str], *, accounts: Sequence[str] | None = None
) -> list[Finding]:
    """`accounts` are those of this process where the server is the store, None where it is the broker."""
    try:
        address = read_redis_url(url)
    except RedisUrlInvalid as exc:
        return [Finding(f"{name}.url", Level.ERROR, f"the address {exc}")]
    found = [Finding(f"{name}.url", Level.WARNING, remark) for remark in address.remarks]
    client = connect(url, max_connections=1, timeout_seconds=TIMEOUT_SECONDS, client_name="nightshift-check")
    try:
        info = await _info(client)
        found += judge(info, name)
        if not any(finding.level is Level.ERROR for finding in found):
            found += await _rights(client, name, commands)
        if accounts is not None and not any(finding.level is Level.ERROR for finding in found):
            found += await bring_up(client, accounts, name=name)
    except (RedisError, OSError) as exc:
        if (refused := _refused(exc, name)) is None:
            raise store_error(exc) from exc
        found.append(refused)
    finally:
        await client.aclose()
    return found


async def _info(client: Store) -> Mapping[str, Any]:
    try:
        info: dict[str, Any] = await client.info()
    except ResponseError as exc:
        if str(exc).startswith("NOAUTH"):
            raise
        return {}
    return info


def _refused(exc: BaseException, name: str) -> Finding | None:
    """What no waiting will mend; None for an outage."""
    causes = list(_causes(exc))
    if any(isinstance(cause, AuthenticationError) or str(cause).startswith("NOAUTH") for cause in causes):
        return Finding(f"{name}.login", Level.ERROR, "the server refuses the user or password of the address")
    hung_up = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)  # a server that is just stopping
    if tls := next((one for one in causes if isinstance(one, ssl.SSLError) and not isinstance(one, hung_up)), None):
        what = f"no TLS with the server ({tls.reason or type(tls).__name__})"
        fix = "name its authority with ssl_ca_certs, or look whether that port speaks TLS"
        return Finding(f"{name}.tls", Level.ERROR, what, fix)
    if any("max number of clients" in str(cause) for cause in causes):
        return Finding(f"{name}.connections", Level.WARNING, "all connections are taken", _MORE_CONNECTIONS)
    return None


def _causes(exc: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = exc
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


async def _rights(client: Store, name: str, commands: Sequence[str]) -> list[Finding]:
    """Runs our scripts, so that what only a script can tell is known, too."""
    scripts = Scripts(client)
    fix = f"give the user ~{PREFIX}* &{PREFIX}* +@all, or all keys and channels"
    try:
        await scripts.raw("receive", 0, 0, "{}")
        refused = await scripts.raw("rights", *commands)
    except ResponseError as exc:
        if _is_outage(exc):
            raise
        return [Finding(f"{name}.rights", Level.ERROR, f"our scripts are refused ({_brief(exc)})", fix)]
    if not refused:
        return []
    return [Finding(f"{name}.rights", Level.ERROR, f"the user may not run {', '.join(refused)} on {PREFIX}*", fix)]


def _is_outage(exc: ResponseError) -> bool:
    """A full or loading server, or one without its replicas, will take scripts again."""
    return any(word in str(exc) for word in ("OOM", "MISCONF", "LOADING", "NOREPLICAS", "MASTERDOWN", "BUSY "))


def _brief(exc: ResponseError) -> str:
    return " ".join(str(exc).split())[:120]


def judge(info: Mapping[str, Any], name: str = "redis") -> list[Finding]:
    """What `INFO` tells. Values that it does not hold are warned of once."""
    if not info:
        what = "version, eviction, persistence and connections cannot be checked: INFO is refused"
        return [Finding(f"{name}.info", Level.WARNING, what)]
    judges = (_version, _mode, _role, _eviction, _persistence, _connections)
    return [Finding(f"{name}.{check}", level, what, fix) for one in judges for check, level, what, fix in one(info)]


_Lines = Iterator[tuple[str, Level, str, str]]


def _version(info: Mapping[str, Any]) -> _Lines:
    version = str(info.get("redis_version", ""))
    major = version.partition(".")[0]
    if "valkey_version" in info or not major.isdigit():
        return
    if int(major) < OLDEST_REDIS:
        yield "version", Level.ERROR, f"Redis {version} is too old", "use Redis 7 or newer, or any Valkey"


def _mode(info: Mapping[str, Any]) -> _Lines:
    if str(info.get("cluster_enabled", "0")) == "1" or info.get("redis_mode") == "cluster":
        fix = "use one primary: a script of ours changes keys that a cluster keeps on different nodes"
        yield "cluster", Level.ERROR, "the server is part of a cluster", fix


def _role(info: Mapping[str, Any]) -> _Lines:
    if info.get("role") in ("slave", "replica"):
        yield "role", Level.ERROR, "the server is a replica and takes no writes", "name the primary, or use sentinel://"


def _eviction(info: Mapping[str, Any]) -> _Lines:
    policy = info.get("maxmemory_policy")
    fix = "set maxmemory-policy to noeviction"
    if policy is None:
        yield "eviction", Level.WARNING, "the eviction policy cannot be checked", fix
    elif policy != "noeviction" and int(info.get("maxmemory", 0)) > 0:
        what = f"maxmemory-policy is {policy}: when memory is full, customers are forgotten without a word"
        yield "eviction", Level.ERROR, what, fix
    elif policy != "noeviction":
        yield "eviction", Level.WARNING, f"maxmemory-policy is {policy}; without maxmemory nothing is evicted yet", fix


def _persistence(info: Mapping[str, Any]) -> _Lines:
    if "aof_enabled" not in info:
        yield "persistence", Level.WARNING, "persistence cannot be checked", ""
    elif str(info["aof_enabled"]) != "1":
        what = "the append-only file is off: a restart forgets what came since the last snapshot, if there is one"
        yield "persistence", Level.WARNING, what, "set appendonly yes, unless a replica takes over"
    elif info.get("aof_last_write_status", "ok") != "ok":
        yield "persistence", Level.WARNING, "the append-only file cannot be written", "look at the server's disk"


def _connections(info: Mapping[str, Any]) -> _Lines:
    most, now = int(info.get("maxclients", 0)), int(info.get("connected_clients", 0))
    if not most:
        return
    if most < NEEDED_CONNECTIONS:
        what = f"the server takes {most} connections; one of each process needs up to {NEEDED_CONNECTIONS}"
        yield "maxclients", Level.WARNING, what, _MORE_CONNECTIONS
    if most - now < LEAST_FREE_CONNECTIONS:
        yield "connections", Level.WARNING, f"{now} of {most} connections are taken", _MORE_CONNECTIONS
