"""The limit of open files, each time in a process of its own, since it cannot be raised again."""

import resource
import subprocess
import sys

import pytest

from tests.rooms import ROOT

ASK = "from runtime.open_files import raise_open_files as r; import resource; print(r(300), *resource.getrlimit(7))"


@pytest.mark.parametrize(
    ("soft", "hard", "holds"),
    [(100, 200, 200), (100, 400, 300), (350, 400, 350), (100, 100, 100)],
    ids=["to the hard one", "no more than wanted", "never lowered", "as it is"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_NOFILE has another number elsewhere")
def test_the_limit_is_raised_as_far_as_it_goes(soft: int, hard: int, holds: int) -> None:
    set_limit = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))"
    done = subprocess.run([sys.executable, "-c", f"{set_limit}; {ASK}"], cwd=ROOT, capture_output=True, check=True)

    assert resource.RLIMIT_NOFILE == 7
    assert done.stdout.split() == [str(n).encode() for n in (holds, holds, hard)]
