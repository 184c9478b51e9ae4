"""Which proxy a call goes through: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, as curl and Python read them.

This machine is never asked for through a proxy: models and stand-ins on it would be out of reach.
"""

import urllib.request

import httpx

from runtime.checks.urls import is_on_this_machine


class Proxies:
    """`found` maps a scheme, or "all", to a proxy's address, and "no" to the hosts that are asked for directly."""

    def __init__(self, found: dict[str, str]) -> None:
        self._found = found
        self._of: dict[tuple[str, str, int | None], str | None] = {}

    @classmethod
    def from_environment(cls) -> "Proxies":
        return cls(urllib.request.getproxies_environment())

    def of(self, url: httpx.URL) -> str | None:
        """The proxy for this address; None for a call that goes there by itself."""
        if not self._found:
            return None
        origin = (url.scheme, url.host, url.port)
        if origin not in self._of:  # a handful of hosts are ever asked
            self._of[origin] = self._choose(*origin)
        return self._of[origin]

    def _choose(self, scheme: str, host: str, port: int | None) -> str | None:
        proxy = self._found.get(scheme) or self._found.get("all")
        if not proxy or is_on_this_machine(host):
            return None
        asked = f"{host}:{port}" if port else host
        if urllib.request.proxy_bypass_environment(asked, self._found):  # type: ignore[attr-defined]  # not in typeshed
            return None
        return proxy if "://" in proxy else f"http://{proxy}"
