"""The fields of an event on its way into receive.lua: how Python writes them and the script reads them.

The values go over the wire in this order, the kind first; the script gets `read_event`, which is made from these very
classes, and knows each value by its name. All are text. What a field means stands in `store/lua/receive/`, in the file
of its kind. Names on the wire, too, made each event a tenth dearer (DECISIONS.md).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class MessageFields(NamedTuple):
    kind: str
    cid: str
    channel: str
    account_id: str
    customer_id: str
    key: str
    at: str
    reason: str
    deletion_key: str
    found: str
    body: bytes


class EchoFields(NamedTuple):
    kind: str
    cid: str
    channel: str
    account_id: str
    customer_id: str
    key: str
    at: str
    likeness: str
    is_ours: str
    tag: str
    line: bytes


class EditFields(NamedTuple):
    kind: str
    cid: str
    channel: str
    account_id: str
    customer_id: str
    key: str
    original: str
    number: str
    text: bytes


class DeletionFields(NamedTuple):
    kind: str
    cid: str
    channel: str
    account_id: str
    customer_id: str
    key: str
    original: str


class ActionFields(NamedTuple):
    kind: str
    cid: str
    at: str
    counted_as: str


class ThreadControlFields(NamedTuple):
    kind: str
    cid: str
    channel: str
    account_id: str
    customer_id: str
    key: str
    action: str
    is_ours: str


class PolicyFields(NamedTuple):
    kind: str
    channel: str
    account_id: str
    key: str
    action: str
    longest_ms: str
    alert: str


class UnreadFields(NamedTuple):
    kind: str
    cid: str
    key: str
    counted_as: str
    record: bytes
    alert_id: str
    alert: str


class NotedFields(NamedTuple):
    kind: str
    counted_as: str
    alert_id: str
    alert: str


Fields = (
    MessageFields
    | EchoFields
    | EditFields
    | DeletionFields
    | ActionFields
    | ThreadControlFields
    | PolicyFields
    | UnreadFields
    | NotedFields
)

FIELDS_OF_KIND: Final[Mapping[str, type[Fields]]] = {
    "message": MessageFields,
    "echo": EchoFields,
    "late_echo": EchoFields,
    "edit": EditFields,
    "deletion": DeletionFields,
    "action": ActionFields,
    "thread_control": ThreadControlFields,
    "policy": PolicyFields,
    "unread": UnreadFields,
    "noted": NotedFields,
}


def lua_reader() -> str:
    """The include `read_event`: a constructor for each kind, which is what costs the script least."""
    cases = "".join(
        f"  if kind == '{kind}' then\n    return {_constructor(fields._fields)}, i + {len(fields._fields)}\n  end\n"
        for kind, fields in FIELDS_OF_KIND.items()
    )
    return f"""-- Returns the event that begins at ARGV[i], by the names of its fields, and where the next one begins.
local function read_event(i)
  local values = ARGV
  local kind = values[i]
{cases}  error('no kind of event: ' .. kind)
end
"""


def _constructor(names: tuple[str, ...]) -> str:
    rest = (f"{name} = values[i + {place}]" for place, name in enumerate(names) if place)
    return "{" + ", ".join(["kind = kind", *rest]) + "}"
