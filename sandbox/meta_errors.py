"""How Meta words its refusals: error bodies, their usual HTTP status, and the usage headers."""

from typing import Any

from starlette.responses import JSONResponse

# Seen in the field; Meta does not document a status for each code.
_STATUS = {10: 403, 200: 403, 230: 403, 4: 403, 17: 403, 32: 403, 613: 403, 1: 500, 2: 500, -1: 500, -2: 500}


def error_body(code: int, subcode: int | None = None, message: str = "") -> dict[str, Any]:
    error: dict[str, Any] = {
        # Localised on purpose: whoever reads the words instead of the numbers fails here and not in production.
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


def throttling_headers(account_id: str, channel: str, *, percent: int, minutes: int) -> dict[str, str]:
    return {
        "X-App-Usage": f'{{"call_count":{percent},"total_time":0,"total_cputime":0}}',
        "X-Business-Use-Case-Usage": (
            f'{{"{account_id}":[{{"type":"{channel}","call_count":{percent},"total_cputime":1,"total_time":1,'
            f'"estimated_time_to_regain_access":{minutes}}}]}}'
        ),
    }
