import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.patience import PATIENCE_SECONDS
from tests.rooms import ROOT

NIGHTSHIFT = [sys.executable, "-m", "cli.main"]


def nightshift(*arguments: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NIGHTSHIFT, *arguments],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_help_lists_the_commands() -> None:
    result = nightshift("--help")

    assert result.returncode == 0
    assert all(name in result.stdout for name in ("demo", "up", "ledger"))


def test_help_imports_nothing_heavy() -> None:
    """Importing these takes longer than everything else that `--help` does."""
    heavy = {"pydantic", "celery", "redis", "httpx", "honcho", "sandbox"}
    script = f"import sys, cli.main; print({heavy} & set(sys.modules))"

    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
    )

    assert result.stdout == "set()\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["up", "--nonsense"], ["ledger", "extra"]])
def test_wrong_usage_is_2(arguments: list[str]) -> None:
    assert nightshift(*arguments).returncode == 2


def test_a_wrong_environment_is_2_and_named(tmp_path: Path) -> None:
    (tmp_path / "Procfile").write_text("web: exec sleep 60\n")

    result = nightshift("up", cwd=tmp_path, PORT="eighty", NIGHTSHIFT_CONFIG=str(ROOT / "nightshift.toml"))

    assert result.returncode == 2
    assert "PORT" in result.stderr
    assert "Traceback" not in result.stderr
