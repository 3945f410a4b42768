"""OpenMM beside a record: a system and its force field to simulate, and a running simulation streamed into a record.

```python
from molrec.interop.openmm import RecordReporter, to_openmm, to_openmm_topology

record = molrec.open("water.mrec")
system = to_openmm(record.system, record.forcefield)
topology = to_openmm_topology(record.system, record.forcefield.units)
```

The box is the frame's: where a run has boxes of its own, set the system's to the one to start from,
``record.system.box = record.trajectory.box_at(-1)``.

Needs the extra ``molrec[openmm]``, which is imported when it is used.
"""

from __future__ import annotations

from molrec.interop.openmm_reporter import RecordReporter
from molrec.interop.openmm_system import to_openmm
from molrec.interop.openmm_topology import from_openmm_topology, to_openmm_topology

__all__ = ["RecordReporter", "from_openmm_topology", "to_openmm", "to_openmm_topology"]
