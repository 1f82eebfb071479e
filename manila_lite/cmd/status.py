# SPDX-License-Identifier: Apache-2.0
"""``manila-status upgrade check``: can this version run here? Exit status 0 yes, 1 with warnings, 2 no."""

import manila_lite.cmd  # noqa: I001 - must come first: threads, not eventlet

import sys

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck

import manila_lite.conf
from manila_lite import errors
from manila_lite.db import migrate
from manila_lite.db.engine import Database
from manila_lite.manager.service import check as check_backends
from manila_lite.rpc import transport

CONF = cfg.CONF


class Checks(upgradecheck.UpgradeCommands):
    """What must be so before a start of this version."""

    def _schema(self) -> upgradecheck.Result:
        """The database can be reached and has the newest schema."""
        if not CONF.database.connection:
            CONF.set_default('connection', f'sqlite:///{CONF.state_path}/manila_lite.sqlite', 'database')
        try:
            db = Database(CONF)
            now, newest = migrate.current(db), migrate.head(db)
        except Exception as bad:
            return upgradecheck.Result(upgradecheck.Code.FAILURE, f'The database cannot be reached: {bad}')
        if now != newest:
            return upgradecheck.Result(upgradecheck.Code.FAILURE,
                                       f'The schema is at {now or "nothing"}, not {newest}: run manila-manage db sync')
        return upgradecheck.Result(upgradecheck.Code.SUCCESS)

    def _backends(self) -> upgradecheck.Result:
        """Every enabled backend can be started as configured."""
        if not CONF.enabled_share_backends:
            return upgradecheck.Result(upgradecheck.Code.WARNING, 'enabled_share_backends names no backend on this host')
        try:
            check_backends(CONF)
        except errors.BadConfig as bad:
            return upgradecheck.Result(upgradecheck.Code.FAILURE, str(bad))
        return upgradecheck.Result(upgradecheck.Code.SUCCESS)

    def _default_type(self) -> upgradecheck.Result:
        """Clients that name no share type get one."""
        if not CONF.default_share_type:
            return upgradecheck.Result(upgradecheck.Code.WARNING, 'default_share_type is not set: "openstack share create" '
                                                                  'without a type will be refused')
        return upgradecheck.Result(upgradecheck.Code.SUCCESS)

    _upgrade_checks = (('database schema', _schema), ('share backends', _backends), ('default share type', _default_type))


def main() -> int:
    """Run the command."""
    manila_lite.conf.register(CONF)
    transport.set_defaults(CONF)
    return upgradecheck.main(CONF, project='manila_lite', upgrade_command=Checks())


if __name__ == '__main__':
    sys.exit(main())
