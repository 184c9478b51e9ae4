"""A copy of the prompts that a test may change."""

import shutil
from pathlib import Path

import pytest

from tests.runtime.files.prompt_copies import PROMPTS


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the real prompts, free to be broken."""
    return Path(shutil.copytree(PROMPTS, tmp_path / "prompts"))
