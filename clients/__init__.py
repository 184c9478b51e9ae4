"""The only modules that speak to the world: Graph API, the model, Telegram."""

from runtime.lean_imports import hidden

# httpx would take the library of its command line along.
with hidden("rich"):
    import httpx  # noqa: F401
