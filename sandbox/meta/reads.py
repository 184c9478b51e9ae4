"""The reading side of the Meta stand-in: conversations, messages, profiles, and Graph's nested `fields`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import JSONResponse, Response

from bot.incoming.events import Channel
from runtime.settings import Account
from sandbox.meta.callers import uses_instagram_login
from sandbox.meta.errors import refusal
from sandbox.meta.store import READABLE_MESSAGES, MetaStore, StoredMessage, Thread

_PROFILE_FIELDS = {
    Channel.INSTAGRAM: {
        "id",
        "name",
        "username",
        "profile_pic",
        "follower_count",
        "is_user_follow_business",
        "is_business_follow_user",
        "is_verified_user",
    },
    Channel.MESSENGER: {"id", "name", "first_name", "last_name", "profile_pic"},
}
_NEEDS_APPROVAL = {Channel.INSTAGRAM: frozenset[str](), Channel.MESSENGER: frozenset({"locale", "timezone", "gender"})}
_MESSAGE_FIELDS = {"id", "created_time", "from", "to", "message", "attachments", "shares", "story", "reactions"}
_MESSAGE_FIELDS |= {"reply_to", "is_unsupported"}
_CONVERSATION_FIELDS = "id,updated_time"
_PAGE_SIZE = 25
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
        fields[match["name"]] = (int(match["limit"] or _PAGE_SIZE), nested)
        if position < len(text) and text[position] != ",":
            raise UnknownField(text)
        position += 1
    return fields


def is_of_a_conversation(store: MetaStore, accounts: Sequence[Account], node: str) -> Account | None:
    """Whose conversation or message this id names, since reading these is limited; None for all else."""
    thread = store.find_thread(node)
    if thread is None:
        found = store.find_message(node)
        thread = found[0] if found else None
    return thread.account if thread is not None and thread.account in accounts else None


def read_conversations(
    store: MetaStore, account: Account, query: Mapping[str, str], headers: Mapping[str, str]
) -> Response:
    """A page of them, newest first; `after` is the cursor of the page before."""
    if query.get("platform") not in {None, account.channel.value}:
        return JSONResponse({"data": []})
    limit, after = query.get("limit", str(_PAGE_SIZE)), query.get("after", "0")
    if not limit.isdecimal() or not after.isdecimal():
        return refusal(100, message="(#100) Invalid cursor or limit")
    try:
        fields = parse_fields(query.get("fields", _CONVERSATION_FIELDS))
        threads = store.threads_of(account, query.get("user_id"))
        threads.sort(key=lambda thread: thread.messages[-1].at, reverse=True)
        first, past = int(after), int(after) + int(limit)
        answer: dict[str, Any] = {"data": [_conversation(thread, fields) for thread in threads[first:past]]}
    except UnknownField:
        return refusal(100, message="(#100) Tried accessing nonexisting field")
    if past < len(threads):
        answer["paging"] = {"cursors": {"before": after, "after": str(past)}}
    return JSONResponse(answer, headers=dict(headers))


def read_node(
    store: MetaStore, accounts: Sequence[Account], node: str, query: Mapping[str, str], headers: Mapping[str, str]
) -> Response:
    """A conversation, a message or a customer, whichever the id names."""
    try:
        if (thread := store.find_thread(node)) and thread.account in accounts:
            answer = _conversation(thread, parse_fields(query.get("fields", _CONVERSATION_FIELDS)))
        elif (found := store.find_message(node)) and found[0].account in accounts:
            thread, message = found
            if message not in thread.messages[-READABLE_MESSAGES:]:
                return refusal(9000001)
            answer = _message(thread, message, parse_fields(query.get("fields", "id,created_time")))
        else:
            return _profile(store, accounts, node, parse_fields(query.get("fields", "id,name")), headers)
    except UnknownField:
        return refusal(100, message="(#100) Tried accessing nonexisting field")
    return JSONResponse(answer, headers=dict(headers))


def _conversation(thread: Thread, fields: Mapping[str, tuple[int, str]]) -> dict[str, Any]:
    answer: dict[str, Any] = {"id": thread.id}
    for name, (limit, nested) in fields.items():
        match name:
            case "id":
                pass
            case "updated_time":
                answer[name] = thread.messages[-1].as_json()["created_time"]
            case "participants":
                answer[name] = {"data": [_party(thread, thread.account.id), _party(thread, thread.customer_id)]}
            case "is_owner":
                answer[name] = not thread.owner_app_id
            case "messages":
                answer[name] = {"data": _messages(thread, limit, nested)}
            case _:
                raise UnknownField(name)
    return answer


def _messages(thread: Thread, limit: int, nested: str) -> list[dict[str, Any]]:
    """With details on Pages, the readable ones; Instagram Login documents bare ids with their time, and no more."""
    if uses_instagram_login(thread.account):
        whole = [message.as_json() for message in thread.messages[::-1][:limit]]
        return [{"id": message["id"], "created_time": message["created_time"]} for message in whole]
    wanted = parse_fields(nested or "id,created_time")
    return [_message(thread, message, wanted) for message in thread.messages[-READABLE_MESSAGES:][::-1][:limit]]


def _message(thread: Thread, message: StoredMessage, fields: Mapping[str, object]) -> dict[str, Any]:
    if unknown := set(fields) - _MESSAGE_FIELDS:
        raise UnknownField(unknown)
    whole = message.as_json()
    whole["from"] = _party(thread, message.from_id)
    whole["to"] = {"data": [_party(thread, message.to_id)]}
    return {name: whole[name] for name in {"id": None} | dict(fields) if name in whole}


def _party(thread: Thread, party_id: str) -> dict[str, str]:
    """On Instagram people have a username, on Messenger a name."""
    is_shop = party_id == thread.account.id
    if thread.account.channel == Channel.INSTAGRAM:
        return {"username": "invented_shop" if is_shop else "invented_user", "id": party_id}
    return {"name": "Invented Shop" if is_shop else "Invented Name", "id": party_id}


def _profile(
    store: MetaStore,
    accounts: Sequence[Account],
    node: str,
    fields: Mapping[str, object],
    headers: Mapping[str, str],
) -> Response:
    account = next((account for account in accounts if store.knows(account, node)), None)
    if refused := store.profile_refusals.get(node):
        return refusal(*refused)
    if account is None:
        return refusal(230)  # Consent exists only once the customer has written.
    if set(fields) & _NEEDS_APPROVAL[account.channel]:
        return refusal(10)
    if set(fields) - _PROFILE_FIELDS[account.channel]:
        raise UnknownField(node)
    profile = store.profiles.get(node, {})
    answer = {name: profile[name] for name in fields if name in profile} | {"id": node}
    return JSONResponse(answer, headers=dict(headers))
