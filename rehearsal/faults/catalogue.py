"""Every fault of the rehearsal, by name."""

from collections.abc import Mapping

from rehearsal.faults.customers import CUSTOMER_FAULTS
from rehearsal.faults.fault import Fault
from rehearsal.faults.graph import GRAPH_FAULTS
from rehearsal.faults.model import MODEL_FAULTS
from rehearsal.faults.system import SYSTEM_FAULTS

CATALOGUE: Mapping[str, Fault] = {
    fault.name: fault for fault in (*MODEL_FAULTS, *GRAPH_FAULTS, *CUSTOMER_FAULTS, *SYSTEM_FAULTS)
}
