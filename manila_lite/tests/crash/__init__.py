# SPDX-License-Identifier: Apache-2.0
"""The crash matrix: every operation, at each place where something can die, with everything that can die.

One deployment (API, scheduler, two backends, each a process of its own, on PostgreSQL and RabbitMQ of its own) serves
many cells. Each cell is a project, so that its quota, resources and orders are its own.

* ``places``: computed from the plans that scheduler and share manager register.
* ``subjects``: how each kind of operation is brought about; a plan without one fails the tests.
* ``victim``: the product's commands, which stop at ordered places: there they wait, to be killed.
* ``faulty``: the dummy driver, which also answers what it must not.
* ``matrix``: waves of cells; ``truth``: what must hold when all is quiet; ``page``: the table.
* ``soak``: random kills under a mixed load.
"""
