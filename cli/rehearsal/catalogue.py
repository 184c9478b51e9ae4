"""Every fault of the rehearsal, by name."""

from collections.abc import Mapping

from cli.rehearsal.customer_faults import CUSTOMER_FAULTS
from cli.rehearsal.fault import Fault
from cli.rehearsal.graph_faults import GRAPH_FAULTS
from cli.rehearsal.house_faults import HOUSE_FAULTS
from cli.rehearsal.model_faults import MODEL_FAULTS

CATALOGUE: Mapping[str, Fault] = {
    fault.name: fault for fault in (*MODEL_FAULTS, *GRAPH_FAULTS, *CUSTOMER_FAULTS, *HOUSE_FAULTS)
}
