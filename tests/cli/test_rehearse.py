import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bot.incoming.events import Channel
from bot.outcome import Outcome
from cli.rehearse import Options, rehearse, tell
from rehearsal import checker as promises
from rehearsal.checker import check
from rehearsal.customers import CustomerRun, Post, reply_with
from rehearsal.evidence import Evidence, Read
from rehearsal.faults.catalogue import CATALOGUE
from rehearsal.faults.fault import ANSWERED, Fault
from rehearsal.workload import make_workload
from runtime.settings import Account
from sandbox.patience import PATIENCE_SECONDS
from store.ledger import Step, Sums
from tests.rooms import ROOT

LONGEST_SECONDS = 40
ACCOUNT = Account(channel=Channel.INSTAGRAM, id="17841400000000042")
SUMS = Sums(
    received=1,
    answered=1,
    handed_over=0,
    silenced=0,
    undeliverable=0,
    expired=0,
    open=0,
    balanced=True,
    oldest_open_seconds=0.0,
)


def nightshift_rehearse(*arguments: str, seconds: float = 4 * PATIENCE_SECONDS) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cli.main", "rehearse", *arguments],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def processes_of(directory: str) -> list[str]:
    """Command lines of processes that were started for this rehearsal: its folder is in their environment or words."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            surroundings = (process / "environ").read_bytes()
        except OSError:  # it ended meanwhile, or belongs to somebody else
            continue
        if directory.encode() in words + surroundings:
            found.append(words.replace(b"\0", b" ").decode())
    return found


@pytest.mark.slow
def test_a_short_rehearsal_keeps_every_promise_and_leaves_nothing_behind() -> None:
    names = ("worker_killed", "model_reasoning_lock_for_good", "graph_recipient_gone")
    only = [word for name in names for word in ("--only", name)]

    result = nightshift_rehearse(*only, "--conversations", "5", "--seed", "3", "--json")

    assert result.returncode == 0, result.stdout + result.stderr
    report = json.loads(result.stdout)
    assert report["broken"] == []
    assert (report["lost"], report["doubled"]) == (0, 0)
    assert set(report["faults"]) == set(names)
    assert set(report["outcomes"]) == {"answered", "handed_over", "undeliverable"}
    directory = result.stderr.rpartition("logs in ")[2].strip().splitlines()[0]
    assert not Path(directory).exists()
    if sys.platform == "linux":
        assert processes_of(directory) == []


@pytest.mark.slow
def test_a_house_without_a_worker_is_found_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = Options(
        faults=[CATALOGUE["postback"]], seed=1, conversations=1, processes=("web", "dispatcher"), settle_seconds=2
    )

    report = rehearse(options, tmp_path)

    assert {finding.promise for finding in report.broken} == {promises.LOST, promises.CLEAN}
    assert tell(report, json=False) == 1
    said = capsys.readouterr().out
    assert promises.LOST in said
    [finding, *_] = report.broken
    assert finding.conversation in said
    story = Path(report.see(finding)).read_text(encoding="utf-8")
    assert "received" in story
    assert tell(report, json=True) == 1
    assert json.loads(capsys.readouterr().out)["lost"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "no_such_fault"], "no_such_fault"),
        (["--url", "http://127.0.0.1:9"], "GRAPH_API_URL=http://127.0.0.1:9101"),
        (["--serve-sandbox", "9201"], "LLM_API_URL=http://127.0.0.1:9202"),
        (["--url", "http://127.0.0.1:9", "--serve-sandbox", "9201", "--only", "redis_killed"], "redis_killed"),
        (["--conversations", "0"], "conversations"),
    ],
)
def test_wrong_usage_is_2_and_says_what_is_right(arguments: list[str], said: str) -> None:
    result = nightshift_rehearse(*arguments)

    assert result.returncode == 2
    assert said in result.stderr


def test_the_list_names_every_fault() -> None:
    result = nightshift_rehearse("--list")

    assert result.returncode == 0
    assert all(name in result.stdout for name in CATALOGUE)


def test_the_catalogue_is_worth_the_name() -> None:
    kinds = [fault.kind for fault in CATALOGUE.values()]

    assert len(CATALOGUE) >= 30
    assert kinds.count("model") >= 12
    assert set(kinds) == {"model", "graph", "customer", "telegram", "process", "store"}
    assert all(fault.ends for fault in CATALOGUE.values())


def test_the_same_seed_makes_the_same_plan_and_another_one_another() -> None:
    faults = list(CATALOGUE.values())

    first, again, other = (make_workload(faults, seed=seed, conversations=100) for seed in (7, 7, 8))

    assert first == again
    assert first.scenes != other.scenes
    assert {scene.fault.name for scene in first.scenes} == set(CATALOGUE)
    markers = [line.marker for scene in first.scenes for person in scene.people for line in person.lines]
    assert len(markers) == len(set(markers))


def test_minutes_repeat_the_play_with_other_customers() -> None:
    workload = make_workload([CATALOGUE["worker_killed"]], seed=1, conversations=2, minutes=0.5)

    people = [person.customer_id for scene in workload.scenes for person in scene.people]
    assert len(workload.scenes) > 3
    assert len(people) == len(set(people))
    assert workload.seconds <= LONGEST_SECONDS


# The checker, on evidence made by hand: one customer, one message, answered.


def a_customer_run(fault: Fault) -> CustomerRun:
    [scene] = make_workload([replace(fault, lines=1)], seed=1, conversations=1).scenes
    person = replace(scene.people[0], channel=Channel.INSTAGRAM)
    post = Post("mid-1", "key-1", person.lines[0].marker, 0, acknowledged=True)
    return CustomerRun(scene.fault, person, ACCOUNT, [post])


def good_evidence(
    *events: tuple[str, str], fault: Fault | None = None, read: list[Read] | None = None, acknowledged: bool = True
) -> Evidence:
    customer = a_customer_run(fault or Fault("a_fault", "customer", "nothing", ANSWERED))
    customer.posts[0].acknowledged = acknowledged
    steps = [
        Step(1_000_000 + 1000 * number, customer.conversation_id, "key-1", event, why)
        for number, (event, why) in enumerate(events or (("received", ""), ("answered", "")))
    ]
    marker = customer.posts[0].marker
    words = reply_with([marker]) if read is None else ""
    return Evidence(
        customer_runs=[customer],
        steps={customer.conversation_id: steps},
        read={customer.person.customer_id: [Read(words, 1000.5)] if read is None else read},
        alerts=[],
        sums=SUMS,
        limit_seconds=40,
    )


def broken_promises(evidence: Evidence) -> set[str]:
    return {finding.promise for finding in check(evidence)}


def test_a_message_answered_once_breaks_nothing() -> None:
    assert check(good_evidence()) == []


def test_an_answer_given_twice_is_found_out() -> None:
    evidence = good_evidence()
    [customer] = evidence.customer_runs
    once = evidence.read[customer.person.customer_id]

    twice = replace(evidence, read={customer.person.customer_id: [*once, *once]})

    assert broken_promises(twice) == {promises.NOT_TWICE}


def test_a_line_of_our_own_said_twice_in_one_burst_is_found_out() -> None:
    stub = Read("Передаю вопрос коллеге", 1000.5)
    fault = Fault("a_fault", "model", "locked", frozenset({Outcome.HANDED_OVER}))
    evidence = good_evidence(("received", ""), ("handed_over", "lock"), fault=fault, read=[stub, stub])

    told = replace(evidence, alerts=[evidence.customer_runs[0].conversation_id])

    assert broken_promises(told) == {promises.NOT_TWICE}


@pytest.mark.parametrize(
    ("events", "promise"),
    [
        ([("claimed", "")], promises.LOST),
        ([("received", ""), ("planned", "")], promises.LOST),
        ([("received", ""), ("answered", ""), ("answered", "")], promises.ONE_OUTCOME),
        ([("received", ""), ("silenced", "flood")], promises.EXPECTED_END),
    ],
)
def test_the_books_of_one_message_are_read(events: list[tuple[str, str]], promise: str) -> None:
    assert promise in broken_promises(good_evidence(*events))


def test_a_webhook_that_was_never_acknowledged_is_lost() -> None:
    assert promises.LOST in broken_promises(good_evidence(acknowledged=False))


@pytest.mark.parametrize("read", [[], [Read("О чём-то другом", 1000.5)], [Read("Рано", 900.0)]])
def test_answered_without_an_answer_is_silence(read: list[Read]) -> None:
    assert broken_promises(good_evidence(read=read)) == {promises.NOT_SILENT}


def test_a_handover_that_no_manager_read_is_found_out() -> None:
    fault = Fault("a_fault", "model", "locked", frozenset({Outcome.HANDED_OVER}))
    stub = [Read("Передаю вопрос коллеге", 1000.5)]

    evidence = good_evidence(("received", ""), ("handed_over", "lock"), fault=fault, read=stub)

    assert broken_promises(evidence) == {promises.TOLD}


def test_a_parked_account_that_nobody_heard_of_is_found_out() -> None:
    evidence = good_evidence(fault=Fault("a_fault", "graph", "throttled", ANSWERED, tells_account=True))
    conversation = evidence.customer_runs[0].conversation_id

    about_a_conversation = replace(evidence, alerts=[f"instagram {ACCOUNT.id}, {conversation}"])
    about_the_account = replace(evidence, alerts=[f"instagram {ACCOUNT.id} is throttled"])

    assert broken_promises(evidence) == {promises.TOLD}
    assert broken_promises(about_a_conversation) == {promises.TOLD}
    assert broken_promises(about_the_account) == set()


def test_a_message_may_wait_longer_only_if_its_worker_died() -> None:
    slow = replace(good_evidence(), limit_seconds=0.5)
    [customer] = slow.customer_runs
    steps = list(slow.steps[customer.conversation_id])
    vanished = Step(1_000_400, customer.conversation_id, "", "vanished", "the lease ran out")

    excused = replace(slow, steps={customer.conversation_id: [*steps, vanished]}, again_seconds=30)

    assert broken_promises(slow) == {promises.IN_TIME}
    assert broken_promises(excused) == set()


def test_sums_that_do_not_hold_and_things_left_behind_are_found_out() -> None:
    evidence = good_evidence()
    [customer] = evidence.customer_runs

    crooked = replace(evidence, unbalanced=[replace(SUMS, received=2, balanced=False)])
    uncounted = replace(evidence, sums=replace(SUMS, received=2, answered=2))
    left = replace(evidence, leftovers={customer.conversation_id: "state held"})

    assert broken_promises(crooked) == {promises.BALANCED}
    assert broken_promises(uncounted) == {promises.BALANCED}
    assert broken_promises(left) == {promises.CLEAN}
