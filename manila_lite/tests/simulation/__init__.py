# SPDX-License-Identifier: Apache-2.0
"""The engine of durable work in a world of its own: one thread at a time, a clock that nobody waits for, faults by a seed.

What runs is the product's: ``operations/runner.py``, ``operations/executor.py``, ``db/operations.py``, on a real SQLite
file. What is ours is the machine: see ``baton``.
"""
