"""What the names of our keys in Redis begin with: all of them, and those that Celery makes."""

from typing import Final

PREFIX: Final = "ns:"
"""An ACL user needs no more than `ns:*`."""

CELERY_PREFIX: Final = "ns:celery:"
