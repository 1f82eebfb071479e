# SPDX-License-Identifier: Apache-2.0
"""Simulation of the engine of durable work: one thread at a time, a clock that nobody waits for, faults by a seed.

The product's code runs: ``engine/runner.py``, ``engine/executor.py``, ``db/queries/operation_claims.py``, on a real SQLite
file. Only the machine is simulated: see ``baton``.
"""
