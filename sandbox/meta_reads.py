"""The reading side of the Meta stand-in: conversations, messages, profiles, and Graph's nested `fields`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import JSONResponse, Response

from bot.messages import Channel
from runtime.settings import Account
from sandbox.meta_errors import refusal
from sandbox.meta_store import READABLE_MESSAGES, MetaStore, StoredMessage, Thread

_PROFILE_FIELDS = {
    Channel.INSTAGRAM: {"id", "name", "username", "profile_pic", "follower_count", "is_verified_user"},
    Channel.MESSENGER: {"id", "name", "first_name", "last_name", "profile_pic"},
}
_MESSAGE_FIELDS = {"id", "created_time", "from", "to", "message"}
_FIELD = re.compile(r"(?P<name>\w+)(?:\.limit\((?P<limit>\d+)\))?(?P<nested>\{)?")


class UnknownField(Exception):
    """The answer to it is code 100."""


def parse_fields(text: str) -> dict[str, tuple[int, str]]:
    """`a,b.limit(5){c,d}` as name -> (limit, nested fields)."""
    fields: dict[str, tuple[int, str]] = {}
    position = 0
    while position < len(text):
        match = _FIELD.match(text, position)
        if match is None:
            raise UnknownField(text)
        position, nested = match.end(), ""
        if match["nested"]:
            end, depth = position, 1
            while depth:
                if end >= len(text):
                    raise UnknownField(text)
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            nested, position = text[position : end - 1], end
        fields[match["name"]] = (int(match["limit"] or 25), nested)
        if position < len(text) and text[position] != ",":
            raise UnknownField(text)
        position += 1
    return fields


def read_conversations(
    store: MetaStore, account: Account, query: Mapping[str, str], headers: Mapping[str, str]
) -> Response:
    if query.get("platform") not in {None, account.channel.value}:
        return JSONResponse({"data": []})
    try:
        fields = parse_fields(query.get("fields", "id,updated_time"))
        threads = store.threads_of(account, query.get("user_id"))
        return JSONResponse({"data": [_conversation(thread, fields) for thread in threads]}, headers=dict(headers))
    except UnknownField:
        return refusal(100, message="(#100) Tried accessing nonexisting field")


def read_node(store: MetaStore, accounts: Sequence[Account], node: str, query: Mapping[str, str]) -> Response:
    """A conversation, a message or a customer, whichever the id names."""
    try:
        if (thread := store.find_thread(node)) and thread.account in accounts:
            return JSONResponse(_conversation(thread, parse_fields(query.get("fields", "id,updated_time"))))
        if (found := store.find_message(node)) and found[0].account in accounts:
            thread, message = found
            if message not in thread.messages[-READABLE_MESSAGES:]:
                return refusal(9000001)
            return JSONResponse(_message(message, parse_fields(query.get("fields", "id,created_time"))))
        return _profile(store, accounts, node, parse_fields(query.get("fields", "id,name")))
    except UnknownField:
        return refusal(100, message="(#100) Tried accessing nonexisting field")


def _conversation(thread: Thread, fields: Mapping[str, tuple[int, str]]) -> dict[str, Any]:
    answer: dict[str, Any] = {"id": thread.id}
    for name, (limit, nested) in fields.items():
        match name:
            case "id":
                pass
            case "updated_time":
                answer[name] = thread.messages[-1].as_json()["created_time"]
            case "participants":
                answer[name] = {"data": [{"id": thread.account.id}, {"id": thread.customer_id}]}
            case "messages":
                newest = thread.messages[-READABLE_MESSAGES:][::-1][:limit]
                wanted = parse_fields(nested or "id,created_time")
                answer[name] = {"data": [_message(message, wanted) for message in newest]}
            case _:
                raise UnknownField(name)
    return answer


def _message(message: StoredMessage, fields: Mapping[str, object]) -> dict[str, Any]:
    if unknown := set(fields) - _MESSAGE_FIELDS:
        raise UnknownField(unknown)
    whole = message.as_json()
    return {name: whole[name] for name in {"id": None} | dict(fields)}


def _profile(store: MetaStore, accounts: Sequence[Account], node: str, fields: Mapping[str, object]) -> Response:
    account = next((account for account in accounts if store.knows(account, node)), None)
    if account is None:
        return refusal(230)  # Consent exists only once the customer has written.
    if set(fields) - _PROFILE_FIELDS[account.channel]:
        raise UnknownField(node)
    profile = store.profiles.get(node, {})
    return JSONResponse({name: profile[name] for name in fields if name in profile} | {"id": node})
