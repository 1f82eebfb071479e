# SPDX-License-Identifier: Apache-2.0
"""Simulation of the engine of durable work: one thread at a time, a clock that nobody waits for, faults by a seed.

The product's code runs: ``operations/runner.py``, ``operations/executor.py``, ``db/operations.py``, on a real SQLite
file. Only the machine is simulated: see ``baton``.
"""
