"""The ladder of nightshift.toml: its shorthand, its long form, and what is refused before anything starts."""

from pathlib import Path

import pytest

from bot.agent.ladder import Kick, Rung
from runtime.settings import Settings, SettingsInvalid, load_settings

STUB = "[[ladder]]\nstub = true\n"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "nightshift.toml"
    monkeypatch.setenv("NIGHTSHIFT_CONFIG", str(path))
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    return path


def load(config: Path, text: str) -> Settings:
    config.write_text(text, encoding="utf-8")
    return load_settings()


def test_the_shorthand_is_a_ladder(config: Path) -> None:
    settings = load(config, '[model]\nname = "a/main"\nfallback = "b/other"\nmax_kicks = 1\nsalvage = true\n')

    names = [(rung.name, rung.model) for rung in settings.config.rungs("a/main")]
    assert names == [("main", "a/main"), ("kick_1", "a/main"), ("fallback", "b/other"), ("salvage", "b/other")]


def test_a_declared_ladder_takes_the_place_of_the_shorthand(config: Path) -> None:
    settings = load(
        config,
        """
        [model]
        name = "a/main"
        fallback = "b/other"

        [[ladder]]
        name = "first"
        model = "main"
        max_tokens = 4000
        provider = { order = ["one", "two"] }

        [[ladder]]
        name = "nudged"
        model = "main"
        kick = "system"
        thinking = "low"

        [[ladder]]
        name = "second"
        model = "fallback"
        thinking = "off"
        tools = false

        [[ladder]]
        name = "third"
        model = "c/last"

        [[ladder]]
        stub = true
        """,
    )

    assert [finding.check for finding in settings.findings] == ["config.model.max_cost_per_day"]
    assert settings.config.rungs("a/main") == (
        Rung("first", "a/main", max_tokens=4000, provider={"order": ["one", "two"]}),
        Rung("nudged", "a/main", kick=Kick.SYSTEM, thinking="low"),
        Rung("second", "b/other", thinking="off", tools=False, flatten=True, is_fallback=True),
        Rung("third", "c/last", flatten=True, is_fallback=True),
    )


@pytest.mark.parametrize(
    ("ladder", "why"),
    [
        ('[[ladder]]\nmodel = "main"\n', "the last entry must be the stub"),
        (STUB, "no entry asks a model"),
        (f'{STUB}[[ladder]]\nmodel = "main"\n', "the stub comes last"),
        (f"[[ladder]]\nname = 'x'\n{STUB}", "x: model is missing"),
        (f'[[ladder]]\nmodel = "main"\nthinking = "deep"\n{STUB}', "thinking is one of"),
        (f'[[ladder]]\nmodel = "main"\nkick = "loud"\n{STUB}', "kick"),
        (f'[[ladder]]\nmodel = "main"\nmax_tokens = 20\n{STUB}', "leaves no room"),
        (f'[[ladder]]\nmodel = "main"\nsalvage = true\n{STUB}', "no entry asks a model"),
        ('[[ladder]]\nmodel = "main"\nkick = "user"\n' * 3 + STUB, "at most 2 entries may kick"),
        ('[[ladder]]\nname = "x"\nmodel = "main"\n' * 2 + STUB, "two entries are called x"),
        ("[model]\nmax_cost_per_day = -1\n", "max_cost_per_day"),
        ('[model]\nprovider = { data_collection = "allow" }\n', "is a key of [model] itself"),
    ],
)
def test_a_ladder_that_could_end_in_silence_is_refused_at_start(config: Path, ladder: str, why: str) -> None:
    with pytest.raises(SettingsInvalid) as refused:
        load(config, ladder)

    assert why in str(refused.value)


def test_a_slip_in_a_rung_is_named(config: Path) -> None:
    settings = load(config, f'[[ladder]]\nmodel = "main"\nthinkin = "off"\n{STUB}')

    assert any(
        "ladder.thinkin is not a setting; did you mean thinking?" in str(finding) for finding in settings.findings
    )
