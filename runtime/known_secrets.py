"""Everything that this process holds as a secret, so that it can be masked by its value."""

from urllib.request import getproxies_environment

from pydantic import SecretStr

from runtime.checks.environment import plain
from runtime.checks.urls import password_of, passwords_of
from runtime.checks.weak_secrets import is_well_known
from runtime.settings import Settings


def secrets_of(settings: Settings) -> set[str]:
    """Each secret by itself: a list is taken apart, of an address only the password is one."""
    env = settings.env
    fields = {name: getattr(env, name) for name in type(env).model_fields}
    addresses = ("redis_url", "celery_broker_url")
    lists = (*addresses, "meta_app_secrets", "flower_basic_auth")
    found = {plain(value) for name, value in fields.items() if isinstance(value, SecretStr) and name not in lists}
    found |= set(env.app_secrets)
    found |= {pair.partition(":")[2] for pair in plain(env.flower_basic_auth).split(",")}
    stores = [plain(fields[name]) for name in addresses]
    # A password in an address is logged as it was written, and as it is meant.
    for url in [*stores, *getproxies_environment().values()]:
        found |= {password_of(url), url.partition("://")[2].rpartition("@")[0].partition(":")[2]}
    found = found.union(*map(passwords_of, stores))
    found |= {account.token.get_secret_value() for account in settings.config.accounts}
    found.add(settings.config.alerts.heartbeat_url)  # who knows it can keep the bell silent
    # To mask a word that everybody knows would spoil the log and hide nothing.
    return {secret for secret in found if secret and not is_well_known(secret)}
