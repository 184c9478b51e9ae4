"""How many files and connections this process may have open: as many as the system grants, not the 1024 of a shell."""

import resource

WANTED = 65_536
"""More than any of our processes could use; beyond it some systems keep tables that cost memory."""


def raise_open_files(wanted: int = WANTED) -> int:
    """Raise the soft limit towards the hard one, and return what holds now; where that is refused nothing changes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if soft == resource.RLIM_INFINITY or soft >= limit:
        return wanted if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    except (OSError, ValueError):  # macOS grants less than it calls its hard limit
        return soft
    return limit
