"""How Meta words its refusals: error bodies, their usual HTTP status, and the usage headers."""

import json
from typing import Any

from starlette.responses import JSONResponse

from bot.incoming.events import Channel
from runtime.settings import Account

# Seen in the field; Meta does not document a status for each code.
_STATUS = {10: 403, 200: 403, 230: 403, 4: 403, 17: 403, 32: 403, 613: 403, 1: 500, 2: 500, -1: 500, -2: 500}


def error_body(code: int, subcode: int | None = None, message: str = "") -> dict[str, Any]:
    error: dict[str, Any] = {
        # Localised on purpose: code that reads the words instead of the numbers fails here and not in production.
        "message": message or f"(#{code}) Запрос отклонён.",
        "type": "OAuthException",
        "code": code,
    }
    if subcode is not None:
        error["error_subcode"] = subcode
    return {"error": error | {"fbtrace_id": "AInventedTraceId0"}}


def refusal(
    code: int,
    subcode: int | None = None,
    status: int | None = None,
    *,
    message: str = "",
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    return JSONResponse(
        error_body(code, subcode, message), status_code=status or _STATUS.get(code, 400), headers=headers
    )


def throttling_headers(account: Account, *, percent: int, minutes: int) -> dict[str, str]:
    """Both usage headers; graph.instagram.com names the numbers of the first differently."""
    app = {"call_count": percent, "total_time": 0, "total_cputime": 0}
    if account.channel == Channel.INSTAGRAM and account.login == "instagram":
        app = {"call_volume": percent, "cpu_time": 0}
    business = {
        "type": account.channel.value,
        "call_count": percent,
        "total_cputime": 1,
        "total_time": 1,
        "estimated_time_to_regain_access": minutes,
    }
    return {
        "X-App-Usage": json.dumps(app, separators=(",", ":")),
        "X-Business-Use-Case-Usage": json.dumps({account.id: [business]}, separators=(",", ":")),
    }
