"""Ids of webhooks and the accounts they mean, in particular the two ids of Instagram Login."""

import pytest

from bot.incoming.events import Channel, CustomerMessage, Echo, Event, Noted
from bot.outcome import SilenceReason
from runtime.settings import Account, Config
from store.accounts.ids import AccountIds
from tests.webhooks.support import ACCOUNTS, IGSID, INSTAGRAM, PAGE, RECEIVED_MS
from webhooks.accounts import Accounts
from webhooks.translate import translate

APP_SCOPED, PROFESSIONAL = "26000000000000099", "17841400000000099"
BY_APP_SCOPED = Account(channel=Channel.INSTAGRAM, login="instagram", id=APP_SCOPED)
BY_PROFESSIONAL = BY_APP_SCOPED.model_copy(update={"id": PROFESSIONAL})
PAIR = AccountIds(APP_SCOPED, PROFESSIONAL)


def configured() -> Accounts:
    return Accounts([*ACCOUNTS, BY_APP_SCOPED.model_copy(update={"user_id": PROFESSIONAL})])


def learned(account: Account) -> Accounts:
    accounts = Accounts([*ACCOUNTS, account])
    accounts.learn({account.id: PAIR})
    return accounts


def event(accounts: Accounts, sender: str, recipient: str, entry_id: str) -> Event:
    item = {"sender": {"id": sender}, "recipient": {"id": recipient}, "timestamp": 1790000000500}
    entry = {"id": entry_id, "time": 1790000000600, "messaging": [item | {"message": {"mid": "m1", "text": "Hi"}}]}
    [only] = translate({"object": "instagram", "entry": [entry]}, accounts, RECEIVED_MS)
    return only


KNOWN = [
    (configured(), APP_SCOPED),
    (learned(BY_APP_SCOPED), APP_SCOPED),
    (learned(BY_PROFESSIONAL), PROFESSIONAL),
]


@pytest.mark.parametrize("by", [APP_SCOPED, PROFESSIONAL])
@pytest.mark.parametrize(("accounts", "name"), KNOWN, ids=["configured", "learned", "learned the other way"])
def test_both_ids_are_the_configured_account(accounts: Accounts, name: str, by: str) -> None:
    incoming = event(accounts, IGSID, by, by)
    ours = event(accounts, by, IGSID, PROFESSIONAL)

    assert isinstance(incoming, CustomerMessage)
    assert incoming.contact.account_id == name
    assert isinstance(ours, Echo)  # without a flag: known by its sender alone
    assert (ours.contact.account_id, ours.contact.customer_id) == (name, IGSID)


@pytest.mark.parametrize(("accounts", "name"), KNOWN, ids=["configured", "learned", "learned the other way"])
def test_from_one_id_to_the_other_is_to_oneself(accounts: Accounts, name: str) -> None:
    to_self = event(accounts, APP_SCOPED, PROFESSIONAL, PROFESSIONAL)

    assert isinstance(to_self, CustomerMessage)
    assert (to_self.contact.account_id, to_self.closed_as) == (name, SilenceReason.SELF)


def test_an_id_that_is_not_known_yet_is_a_stranger() -> None:
    accounts = Accounts([*ACCOUNTS, BY_APP_SCOPED])

    assert event(accounts, IGSID, PROFESSIONAL, PROFESSIONAL) == Noted("unknown_account", PROFESSIONAL)
    assert accounts.awaits_ids


@pytest.mark.parametrize(
    "ids",
    [
        {APP_SCOPED: AccountIds("1", "2")},  # a token of another account
        {"26000000000000000": AccountIds("26000000000000000", PROFESSIONAL)},  # an account we do not have
        {INSTAGRAM: AccountIds(INSTAGRAM, PROFESSIONAL)},  # no Instagram Login
    ],
)
def test_what_names_none_of_our_accounts_is_not_learned(ids: dict[str, AccountIds]) -> None:
    accounts = Accounts([*ACCOUNTS, BY_APP_SCOPED])

    accounts.learn(ids)

    assert PROFESSIONAL not in accounts.on(Channel.INSTAGRAM)
    assert accounts.awaits_ids


def test_an_id_of_its_own_wins_over_another_accounts_alias() -> None:
    accounts = Accounts([*ACCOUNTS, BY_APP_SCOPED])

    accounts.learn({APP_SCOPED: AccountIds(APP_SCOPED, INSTAGRAM)})

    assert accounts.on(Channel.INSTAGRAM)[INSTAGRAM] == INSTAGRAM
    assert accounts.on(Channel.INSTAGRAM)[PAGE] == INSTAGRAM


def test_nothing_is_awaited_where_no_account_has_two_ids() -> None:
    assert not Accounts(ACCOUNTS).awaits_ids
    assert not configured().awaits_ids


def test_one_id_for_two_accounts_is_refused() -> None:
    other = BY_APP_SCOPED.model_copy(update={"id": "26000000000000011", "user_id": APP_SCOPED})

    with pytest.raises(ValueError, match="listed twice"):
        Config(accounts=(BY_APP_SCOPED, other))
