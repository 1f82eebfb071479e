# SPDX-License-Identifier: Apache-2.0
"""Private PostgreSQL, MariaDB and RabbitMQ for tests, on free ports of the loopback.

As fixtures (``PostgreSQL``, ``MariaDB``, ``RabbitMQ``), or around any command::

    python -m manila_lite.tests.services --database postgresql --transport rabbit -- COMMAND...

The command finds their URLs in its environment: see :mod:`manila_lite.tests.services.places`. A server is ended by its
process id when the command has ended, when we are interrupted, and by the kernel should we die. What runs already is
not touched.
"""
