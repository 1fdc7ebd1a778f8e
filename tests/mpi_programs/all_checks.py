"""All checks, on two or more processes: ``mpirun -n 4 python -m mpi4py all_checks.py FOLDER [CHECK...]``."""

from __future__ import annotations

import checks
import jax

jax.config.update("jax_num_cpu_devices", 2)  # one to use, and one that a sharded operand may lie on as well

for module in ("messages", "collectives", "derivatives"):
    __import__(module)

if __name__ == "__main__":
    checks.run()
