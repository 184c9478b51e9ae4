import asyncio
import shutil
from importlib import resources
from pathlib import Path

import pytest

from sandbox.patience import PATIENCE_SECONDS
from store.scripts import Scripts, read_scripts

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kind", ["script", "command"])
async def test_a_cancellation_is_never_swallowed(scripts: Scripts, kind: str) -> None:
    async def ask_for_ever() -> None:
        while True:
            if kind == "script":
                await scripts.run("sums", 0)
            else:
                await scripts.command("GET", "nothing")
            await asyncio.sleep(60)

    for ticks in list(range(12)) * 10:
        asking = asyncio.create_task(ask_for_ever())
        for _ in range(ticks):
            await asyncio.sleep(0)
        asking.cancel()

        done, _ = await asyncio.wait({asking}, timeout=PATIENCE_SECONDS)

        assert done
        assert asking.cancelled()


def test_files_that_change_under_a_running_process_do_not_reach_it(tmp_path: Path) -> None:
    with resources.as_file(resources.files("store") / "lua") as folder:
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    scripts = read_scripts(tmp_path)
    before = dict(scripts)

    for file in tmp_path.rglob("*.lua"):
        file.write_text("return 'another version'", encoding="utf-8")

    assert "receive" in scripts
    assert dict(scripts) == before
