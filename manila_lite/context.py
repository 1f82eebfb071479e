# SPDX-License-Identifier: Apache-2.0
"""Who asks, on whose behalf, under which request id; and the process's services to answer with."""

import dataclasses
from typing import Any

from oslo_context import context


@dataclasses.dataclass(frozen=True)
class Services:
    """What one process gives to every request in it: configuration, database, bus and policy enforcer."""

    conf: Any
    db: Any = None
    bus: Any = None
    enforcer: Any = None


class RequestContext(context.RequestContext):
    """A caller with roles in a project, or the product itself (``admin``)."""

    def __init__(self, *args: Any, services: Services | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.services = services

    @property
    def conf(self) -> Any:
        """The configuration object of this process."""
        return self.services.conf

    @property
    def db(self) -> Any:
        """The database: ``with ctx.db.writer() as conn``."""
        return self.services.db

    @property
    def bus(self) -> Any:
        """The bus that carries wake-ups."""
        return self.services.bus

    def can(self, rule: str, target: dict | None = None) -> bool:
        """Say whether policy allows ``rule`` on ``target`` (default: something of the caller's own project)."""
        target = target or {'project_id': self.project_id, 'user_id': self.user_id}
        return bool(self.services.enforcer.enforce(rule, target, self.to_policy_values()))

    def elevated(self) -> 'RequestContext':
        """Return the same caller as administrator, for the product's own reads."""
        return RequestContext(user_id=self.user_id, project_id=self.project_id, roles=['admin', 'member', 'reader'],
                              is_admin=True, request_id=self.request_id, services=self.services, overwrite=False)


def admin(services: Services) -> RequestContext:
    """Return the product's own context, for timers and start-up."""
    return RequestContext(is_admin=True, roles=['admin', 'member', 'reader'], services=services, overwrite=False)
