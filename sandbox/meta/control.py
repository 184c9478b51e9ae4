"""Orders for the Meta stand-in from other processes: what people do, what goes wrong, and what has been sent."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sandbox.meta.faults import Faults
from sandbox.meta.limits import Limits
from sandbox.meta.routing import Routing
from sandbox.meta.webhooks import WebhookItem

_ITEMS = {
    "text",
    "attachment",
    "postback",
    "comment",
    "ghost_edit",
    "human",
    "read",
    "pass_thread",
    "take_thread",
    "release_thread",
    "request_thread",
    "policy",
}
_ORDERS = {
    "refuse_next",
    "refuse_as",
    "throttle_next",
    "lose_answer_next",
    "drop_before_next",
    "answer_garbage_next",
    "hang_next",
    "customer_wrote",
    "close_window",
    "set_profile",
    "refuse_profile",
    "set_usage",
    "set_limits",
    "set_wraps_me",
    "reset",
}


class Control(Routing, Faults, Limits):
    async def _control(self, request: Request) -> Response:
        """`{"do": "<method>", ...its keyword arguments}`.

        What makes a webhook (text, policy...) is delivered; its account is the first, of a `channel` or with an
        `account_id` if one is given. `lose` makes one (named by `what`) that never is. `batch` posts `events` messages
        of `customers` at once; `disorder` delivers the `items` (orders of the first kind) as `seed` has it.
        """
        order = await request.json()
        name = order.pop("do", "")
        if name in _ITEMS:
            item = self._item(name, order)
            return JSONResponse({"statuses": await self.deliver(item), "item": dict(item.item)})
        if name == "lose":
            item = self._item(order.pop("what"), order)
            self.lose(item)
            return JSONResponse({"item": dict(item.item)})
        if name == "batch":
            account = self.account(order.pop("channel", None), order.pop("account_id", None))
            items = self.crowd(order.pop("customers"), order.pop("events"), account=account, **order)
            return JSONResponse({"statuses": [await self.deliver_batch(*items)]})
        if name == "disorder":
            items = [self._item(each.pop("do"), each) for each in order.pop("items")]
            return JSONResponse({"statuses": await self.deliver_in_disorder(*items, **order)})
        if name in _ORDERS:
            getattr(self, name)(**order)
            return JSONResponse({"done": name})
        return JSONResponse({"unknown": name}, status_code=400)

    def _item(self, name: str, order: dict[str, Any]) -> WebhookItem:
        if name not in _ITEMS:
            raise ValueError(f"{name} makes no webhook")
        account = self.account(order.pop("channel", None), order.pop("account_id", None))
        item: WebhookItem = getattr(self, name)(account=account, **order)
        return item

    async def _sent(self, _: Request) -> Response:
        return JSONResponse(
            {
                "sent": self.store.sent,
                "actions": self.store.actions,
                "lost_webhooks": len(self.lost_webhooks),
                "throttled": self.throttled,
            }
        )
