# SPDX-License-Identifier: Apache-2.0
"""``manila-status upgrade check``: check whether this version can run here. Exit status 0 yes, 1 with warnings, 2 no."""

import manila_lite.cmd  # noqa: I001 - must come first: threads, not eventlet

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from oslo_config import cfg
from oslo_upgradecheck import upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result

import manila_lite.conf
from manila_lite import context, encryption, errors, key_manager, policies, release
from manila_lite.api.http import auth
from manila_lite.cmd import log_lines, settings, setup, umask
from manila_lite.db.maintenance import schema_revisions
from manila_lite.db.queries import hosts, services
from manila_lite.db.core import database_clock
from manila_lite.db.core.engine import Database
from manila_lite.encryption import renewal
from manila_lite.host import configured_files, ownership
from manila_lite.manager.runtime.service import check as check_backends
from manila_lite.network import load as plugins
from manila_lite import doctor
from manila_lite.rpc import transport

CONF = cfg.CONF

#: Findings that are listed in the details of a check.
_NAMED = 5
_SKIPPED = 'Not checked: '


def _said(code: Code, problems: list[str]) -> Result:
    """Return a result that lists the findings; success if there are none."""
    if not problems:
        return Result(Code.SUCCESS)
    rest = f' ... and {len(problems) - _NAMED} more' if len(problems) > _NAMED else ''
    return Result(code, '; '.join(problems[:_NAMED]) + rest)


def _with_schema(check: Callable[['Checks', Database], Result]) -> Callable[['Checks'], Result]:
    """Return a check that succeeds without looking where the schema is older than this release: another check reports that."""

    def guarded(checks: 'Checks') -> Result:
        try:
            db = checks.database()
            if schema_revisions.is_older(db):
                return Result(Code.SUCCESS, f'{_SKIPPED}the schema is not the newest.')
        except Exception:
            return Result(Code.SUCCESS, f'{_SKIPPED}the database cannot be reached.')
        return check(checks, db)

    return guarded


def _safe(check: Callable[['Checks'], Result]) -> Callable[['Checks'], Result]:
    """Return a check for which a wrong value of an option that it reads is a failure, and no traceback."""

    def guarded(checks: 'Checks') -> Result:
        try:
            return check(checks)
        except (cfg.Error, errors.BadConfig, ValueError) as bad:
            return Result(Code.FAILURE, setup.told(bad))

    return guarded


def _is_skipped(result: Result) -> bool:
    return bool(result.details and result.details.startswith(_SKIPPED))


class Checks(upgradecheck.UpgradeCommands):
    """Checks before a start of this version."""

    _db: Database | None = None

    def check(self) -> Code:
        """Print the results that are not well, the worst first, and all others in one line. Return the worst code."""
        if CONF.command.json:
            return super().check()
        results = [(name, look(self)) for name, look in self._upgrade_checks if callable(look)]
        for name, result in sorted(results, key=lambda one: -one[1].code):
            if result.code != Code.SUCCESS:
                print(f'{result.code.name.capitalize()}: {name}: {log_lines.escaped(result.details or "")}')
        well = [name for name, result in results if result.code == Code.SUCCESS and not _is_skipped(result)]
        skipped = [name for name, result in results if _is_skipped(result)]
        print(
            f'Well: {", ".join(well) or "nothing"}{"; not checked: " if skipped else ""}{", ".join(skipped)}'
        )
        return Code(max(result.code for _, result in results))

    def database(self) -> Database:
        """Return the database as configured."""
        if self._db is None:
            if not CONF.database.connection:
                CONF.set_default('connection', f'sqlite:///{CONF.state_path}/manila_lite.sqlite', 'database')
            self._db = Database(CONF, hurried=True)
        return self._db

    def _reachable(self) -> Result:
        """Check that the database answers."""
        try:
            with self.database().reader():
                return Result(Code.SUCCESS)
        except errors.BadConfig as bad:
            return Result(Code.FAILURE, str(bad))
        except Exception as bad:
            return Result(Code.FAILURE, f'[database] connection: cannot be reached: {setup.told(bad)}')

    def _schema(self) -> Result:
        """Check that the database has the newest schema."""
        try:
            now, newest = schema_revisions.current(self.database()), schema_revisions.head(self.database())
        except Exception:
            return Result(Code.FAILURE, 'The revision of the schema cannot be read.')
        if schema_revisions.is_newer(self.database()):
            return Result(
                Code.SUCCESS, f'The schema is at {now}, of a later release; this one needs {newest}.'
            )
        if now != newest:
            return Result(
                Code.FAILURE, f'The schema is at {now or "nothing"}, not {newest}: run manila-manage db sync'
            )
        return Result(Code.SUCCESS)

    @_with_schema
    def _services(self, db: Database) -> Result:
        """Check that every service is up or disabled or stopped, and that no old version of the bus is pinned."""
        with db.reader() as conn:
            known = [
                (row, services.is_up(row, CONF.service_down_time)) for row in services.list_services(conn)
            ]
            renamed = [row for row in hosts.list_backends(conn) if _is_renamed(row)]
        down = [
            f'{row.binary} on {row.host}'
            for row, is_up in known
            if not (is_up or row.disabled or row.stopped)
        ]
        has_scheduler = any(is_up for row, is_up in known if row.binary == 'manila-scheduler')
        problems = [
            f'{row.host} has {errors.count(row.shares, "share")}, its service is down, and this host is {CONF.host}: '
            f'set [DEFAULT] host = {row.host.partition("@")[0]}, or see manila-manage share update_host'
            for row in renamed
        ]
        faults = [
            (row, services.clock_fault(row, CONF.service_down_time, CONF.operations.max_clock_difference))
            for row, _ in known
        ]
        problems += [f'{row.binary} on {row.host} claims no work: {fault}' for row, fault in faults if fault]
        problems += (
            []
            if has_scheduler or not down
            else ['No scheduler is up, and new shares wait: start manila-scheduler']
        )
        problems += (
            [f'Down: {", ".join(down[:_NAMED])}. Start them, or run manila-manage service cleanup']
            if down
            else []
        )
        if CONF.upgrade_levels.operations != 'auto':
            problems.append(
                f'[upgrade_levels] operations is pinned to {CONF.upgrade_levels.operations}: set it to auto once '
                f'all processes are of one release'
            )
        return _said(Code.WARNING, problems)

    @_with_schema
    def _clock(self, db: Database) -> Result:
        """Check that the clock of this host agrees with that of the database."""
        with db.reader() as conn:
            ahead = database_clock.compare(conn)[1]
        if abs(ahead) <= CONF.operations.max_clock_difference:
            return Result(Code.SUCCESS)
        return Result(
            Code.FAILURE,
            f'The clock of this host is {services.clock_words(ahead)} that of the database, more than '
            '[operations] max_clock_difference: its services would claim no work. Set the clock',
        )

    @_with_schema
    def _releases(self, db: Database) -> Result:
        """Check that all services that are up run the same release. Before an upgrade that is another than this one."""
        running: dict[str, list[str]] = {}
        with db.reader() as conn:
            for row in services.list_services(conn):
                if services.is_up(row, CONF.service_down_time):
                    told = services.release_of(row) or f'before {release.FIRST_TOLD}'
                    running.setdefault(told, []).append(f'{row.binary} on {row.host}')
        if len(running) <= 1:
            return Result(Code.SUCCESS)
        which = [
            f'{told}: {", ".join(names[:_NAMED])}{" ..." if len(names) > _NAMED else ""}'
            for told, names in sorted(running.items())
        ]
        return Result(
            Code.WARNING,
            f'Services of different releases run: restart those of the old one. {"; ".join(which)}',
        )

    @_with_schema
    def _damage(self, db: Database) -> Result:
        """Check that no resource is stuck."""
        wrong = [
            f'{one.what} {one.id} {one.state}: {one.why}'
            for one in doctor.list_findings(context.Services(conf=CONF, db=db))
            if one.wrong and one.what != 'service'
        ]
        if wrong:
            wrong[0] = 'See manila-manage doctor. ' + wrong[0]
        return _said(Code.WARNING, wrong)

    @_with_schema
    def _one_host(self, db: Database) -> Result:
        """Check that an SQLite file is not the database of several hosts."""
        if not CONF.database.connection.startswith('sqlite'):
            return Result(Code.SUCCESS)
        with db.reader() as conn:
            rows = services.list_services(conn)
        hosts = {row.host.partition('@')[0] for row in rows}
        living = {row.host.partition('@')[0] for row in rows if services.is_up(row, CONF.service_down_time)}
        if len(hosts) <= 1:
            return Result(Code.SUCCESS)
        return Result(
            Code.FAILURE if len(living) > 1 else Code.WARNING,
            f'[database] connection: SQLite is for one host, and there are {", ".join(sorted(hosts))}: use '
            f'PostgreSQL or MariaDB, or run manila-manage service cleanup if only one is left',
        )

    @_with_schema
    def _secrets(self, db: Database) -> Result:
        """Check that secrets in the database are encrypted with keys of this host, and that a key manager can be loaded."""
        counts = renewal.count_secrets(CONF, db)
        encryption.check(CONF)
        key_manager.check(CONF)
        lost, plain = (
            sum(counted[state] for counted in counts.values()) for state in (renewal.LOST, renewal.PLAIN)
        )
        if lost:
            return Result(
                Code.FAILURE,
                f'{lost} secrets are encrypted with a key that is not here: manila-manage secret list',
            )
        if plain:
            return Result(
                Code.WARNING,
                f'{plain} secrets are not encrypted: run manila-manage secret reencrypt once all '
                'processes are of this release',
            )
        return Result(Code.SUCCESS)

    def _privacy(self) -> Result:
        """Check that other users of this machine cannot open the service's files, nor replace those that root uses."""
        if ownership.applies() and (flaws := configured_files.find_flaws(CONF)):
            return _said(Code.FAILURE, flaws)
        return _said(Code.WARNING, umask.list_open_paths(CONF))

    def _policy(self) -> Result:
        """Check that the rules in the policy file exist and are not deprecated."""
        try:
            enforcer = policies.make_enforcer(CONF)
        except Exception as bad:
            return Result(Code.FAILURE, f'[oslo_policy] policy_file: {" ".join(str(bad).split())}')
        known = {rule.name: rule for rule in enforcer.registered_rules.values()}
        old = {rule.deprecated_rule.name: rule.name for rule in known.values() if rule.deprecated_rule}
        problems = []
        for name, used in _policy_file().items():
            if name in known:
                if known[name].deprecated_for_removal:
                    problems.append(f'Rule {name} will be removed')
            elif name in old:
                problems.append(f'Rule {name} is called {old[name]} now')
            elif not used:
                problems.append(f'Rule {name}: there is no such rule')
        return _said(Code.WARNING, problems)

    def _logins(self) -> Result:
        """Check that nobody is an administrator without a login from other machines."""
        auth.check_listener(CONF, CONF.osapi_share_listen, 'osapi_share_listen')
        return Result(Code.SUCCESS)

    def _options(self) -> Result:
        """Check that there is a configuration file, and that the options in it exist, have values, and are not deprecated."""
        if not CONF.config_file and not CONF.config_dirs:
            return Result(Code.WARNING, setup.NO_FILE)
        if bad := settings.find_wrong(CONF):
            return _said(Code.FAILURE, bad)
        return _said(Code.WARNING, [str(doubt) for doubt in settings.find_doubtful(CONF)])

    def _backends(self) -> Result:
        """Check that every enabled backend can be started as configured."""
        if not CONF.enabled_share_backends:
            return Result(Code.WARNING, 'enabled_share_backends names no backend on this host')
        check_backends(CONF)
        return Result(Code.SUCCESS)

    def _network_plugin(self) -> Result:
        """Check that the network plugin can work as configured. No network service is contacted."""
        plugins.make(CONF)
        return Result(Code.SUCCESS)

    def _default_type(self) -> Result:
        """Check that there is a default share type for clients that name none."""
        if not CONF.default_share_type:
            return Result(
                Code.WARNING,
                'default_share_type is not set: "openstack share create" without a type will be refused',
            )
        return Result(Code.SUCCESS)

    _upgrade_checks = tuple(
        (name, _safe(look))
        for name, look in (
            ('database', _reachable),
            ('database schema', _schema),
            ('database for several hosts', _one_host),
            ('services', _services),
            ('clock', _clock),
            ('releases of services', _releases),
            ('nothing stuck', _damage),
            ('secrets', _secrets),
            ('files of the service', _privacy),
            ('logins', _logins),
            ('policy file', _policy),
            ('options', _options),
            ('share backends', _backends),
            ('network plugin', _network_plugin),
            ('default share type', _default_type),
        )
    )


def _is_renamed(row: Any) -> bool:
    """Say whether a backend with shares is down, and this host has one of the same name: the host may have been renamed."""
    host, _, backend = row.host.partition('@')
    return bool(
        row.shares
        and host != CONF.host
        and backend in CONF.enabled_share_backends
        and not services.is_up(row, CONF.service_down_time)
    )


def _policy_file() -> dict[str, bool]:
    """Return the names of the rules in the operator's file, each with whether another rule in the file refers to it."""
    path = CONF.find_file(CONF.oslo_policy.policy_file)
    rules = yaml.safe_load(Path(path).read_text(encoding='utf-8')) if path else None
    rules = rules if isinstance(rules, dict) else {}
    return {
        name: any(
            f'rule:{name}' in str(check).replace('(', ' ').replace(')', ' ').split()
            for check in rules.values()
        )
        for name in rules
    }


def main() -> int:
    """Run the command."""
    if '--version' in sys.argv[1:]:  # oslo.upgradecheck has no way to give it to oslo.config
        print(release.FULL)
        return 0
    umask.set_umask()
    manila_lite.conf.register(CONF)
    transport.set_defaults(CONF)
    return upgradecheck.main(CONF, project='manila_lite', upgrade_command=Checks(), argv=sys.argv[1:])


if __name__ == '__main__':
    sys.exit(main())
