# SPDX-License-Identifier: Apache-2.0
"""The crash matrix: every operation, killed or failed at each of its places, in every way.

One deployment (API, scheduler and two backends in processes of their own, on private PostgreSQL and RabbitMQ) serves
many cells. Each cell is a project, with its own quota, resources and orders.

* ``places``: computed from the plans that scheduler and share manager register.
* ``subjects``: requests for each kind of operation; a plan without one fails the tests.
* ``victim``: the product's commands, which stop at ordered places, and wait there to be killed.
* ``faulty``: the dummy driver, which also gives forbidden answers.
* ``matrix``: waves of cells; ``truth``: invariants when all is quiet; ``run``: the tables;
  ``results``: those of the last whole run.
* ``soak``: random kills under a mixed load.
"""
