"""GET /webhooks/meta: Meta's check that the address is ours."""

import hmac
import re

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from runtime.clock import monotonic
from runtime.logging import get_logger
from webhooks.guards.throttle import Throttle

log = get_logger(__name__)

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{1,256}")
_LOG_AGAIN_SECONDS = 30.0


class Verification:
    """Answers the challenge of a caller that knows our token. Needs neither Redis nor a worker."""

    def __init__(self, verify_token: str) -> None:
        self._token = _bytes(verify_token)
        self._throttle = Throttle(_LOG_AGAIN_SECONDS, monotonic)

    async def answer(self, request: Request) -> Response:
        query = request.query_params
        known = hmac.compare_digest(_bytes(query.get("hub.verify_token", "")), self._token) and bool(self._token)
        challenge = query.get("hub.challenge", "")
        # Sending back whatever was asked for would be a way to put markup on our address.
        if query.get("hub.mode") == "subscribe" and known and _CHALLENGE.fullmatch(challenge):
            log.info("webhook_verified")
            return PlainTextResponse(challenge, headers={"X-Content-Type-Options": "nosniff"})
        reason = "mode, token or challenge does not match" if self._token else "META_VERIFY_TOKEN is missing"
        if (held_back := self._throttle.passes(reason)) is not None:  # the whole internet may ask
            log.warning("webhook_verification_refused", reason=reason, held_back=held_back)
        return PlainTextResponse("Forbidden", status_code=403)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
