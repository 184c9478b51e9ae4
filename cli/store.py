"""Which Redis a command talks to: REDIS_URL, or the embedded server of a running `nightshift up`."""

from pydantic import SecretStr

from runtime.settings import Settings, SettingsInvalid, load_settings


def settings_with_store() -> Settings:
    """Of the environment and `.env`; `SettingsInvalid` when there is no store to ask."""
    from cli.env_file import adopt_env_file

    adopt_env_file()
    settings = load_settings(redis_required=False)
    if settings.env.redis_url:
        return settings
    from cli.up import VALKEY_DIRECTORY
    from runtime.embedded import url_of_running

    url = url_of_running(VALKEY_DIRECTORY)
    if url is None:
        raise SettingsInvalid("REDIS_URL is not set, and no `nightshift up` is running here")
    return settings.model_copy(update={"env": settings.env.model_copy(update={"redis_url": SecretStr(url)})})
