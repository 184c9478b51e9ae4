"""A catalogue of the ways a model or its server leaves a turn without usable text, each by name."""

from collections.abc import Mapping

from sandbox.model.broken_bodies import BODIES, TRANSPORT
from sandbox.model.broken_calls import CALLS
from sandbox.model.fault import GOOD_TEXT, TAGS, Fault
from sandbox.model.refusals import REFUSALS
from sandbox.model.unusable_answers import SILENT, UNFIT

FAULTS: Mapping[str, Fault] = {
    fault.name: fault for group in (SILENT, UNFIT, CALLS, BODIES, TRANSPORT, REFUSALS) for fault in group
}

__all__ = ["FAULTS", "GOOD_TEXT", "TAGS", "Fault"]
