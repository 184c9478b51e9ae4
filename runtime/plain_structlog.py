"""structlog without rich, which it takes along wherever it finds it.

That would be 4 MB in every process, for tracebacks that show local variables: customers' numbers, our keys.
"""

import sys

_hidden = "rich" not in sys.modules
if _hidden:
    sys.modules["rich"] = None  # type: ignore[assignment]  # Python's own way to say that there is no such module
try:
    import structlog
finally:
    if _hidden:
        del sys.modules["rich"]

__all__ = ["structlog"]
