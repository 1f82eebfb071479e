# SPDX-License-Identifier: Apache-2.0
"""The start of every process: read the configuration, set up logging, report mistakes in one line."""

import fcntl
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from oslo_config import cfg
from oslo_log import log

import manila_lite.conf
from manila_lite import context, encryption, errors, release, thread_reserve, trace
from manila_lite.cmd import log_expected, log_lines, log_outages, log_rate_limit, umask
from manila_lite.db.core import connection_url, engine
from manila_lite.host import configured_files

LOG = log.getLogger(__name__)

#: What is said where no configuration file was found.
NO_FILE = (
    'There is no configuration file, so all options have their defaults: write /etc/manila_lite/manila_lite.conf, or '
    'name a file with --config-file.'
)
_QUIET = [
    'sqlalchemy=WARNING',
    'stevedore=WARNING',
    'oslo_messaging=INFO',
    'oslo_policy=WARNING',
    'cheroot=WARNING',
    'keystonemiddleware=WARNING',
    'keystoneauth.identity=ERROR',
    'futurist=WARNING',
    'urllib3=WARNING',
    'osprofiler.notifier=CRITICAL',
]  # it would log its connection string, which may hold a password

#: Prefix of a line that is logged during a request or an operation: its request id, project and resource.
_LINE = '%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s [%(request_id)s %(user_identity)s] %(message)s'
_WHOSE = '%(project)s %(resource_uuid)s'

#: What SQLAlchemy adds to each error of a database.
_ADVERT = re.compile(r'\(Background on this error at: \S+\)')
#: How oslo.config names the file with a wrong value.
_WHERE = re.compile(r"from LocationInfo\(location=<[^<>]*>, detail='([^']*)'\)")

#: Errors of libraries that cannot work as configured, and the option concerned (most errors name it themselves).
_MISTAKES: dict[type[Exception], str] = {
    errors.BadConfig: '',
    cfg.Error: '',
    **dict.fromkeys(engine.UNUSABLE, '[database] connection: '),
}


def configure(
    argv: Sequence[str],
    *,
    transport_url: str | None = None,
    conf: cfg.ConfigOpts | None = None,
    more: Callable[[cfg.ConfigOpts], None] | None = None,
    database: str = 'manila_lite',
    logged: bool = True,
    messages: bool = True,
    program: str | None = None,
) -> cfg.ConfigOpts:
    """Read the configuration and set up logging. ``transport_url``: the default for a process that runs alone.

    ``program`` names its file in ``log_dir``, unless ``log_file`` does.
    ``more`` registers the options of a sibling; ``database`` is the name of its database where none is configured.
    ``logged``: write the log as configured; otherwise no log is opened, and warnings go to stderr.
    ``messages``: the process may send and receive messages; otherwise it has no services.

    :raises errors.BadConfig: the configuration files, the arguments or the log cannot be used, or this process is root's, and
        another user could replace one of its files.
    """
    conf = manila_lite.conf.register(conf or cfg.CONF)
    if more is not None:
        more(conf)
    log.register_options(conf)
    log.set_defaults(
        logging_context_format_string=_LINE, default_log_levels=log.get_default_log_levels() + _QUIET
    )
    conf.set_default('logging_user_identity_format', _WHOSE)
    if messages:
        from manila_lite.rpc import transport  # oslo.messaging is slow to import

        transport.set_defaults(conf, transport_url)
    try:
        conf(list(argv), project='manila_lite', version=release.FULL, default_config_files=None)
    except (cfg.Error, OSError, UnicodeDecodeError) as bad:
        raise errors.BadConfig(_line(bad)) from None
    if not conf.database.connection:
        conf.set_default('connection', f'sqlite:///{conf.state_path}/{database}.sqlite', 'database')
    if trace.is_on(conf) and conf.profiler.hmac_keys in trace.NO_KEYS:
        raise errors.BadConfig(
            '[profiler] hmac_keys: choose a secret key; anyone who knows it can trace requests'
        )
    encryption.use(conf)
    if program and conf.log_dir:
        conf.set_default('log_file', f'{program}.log')  # oslo.log would name it after a module of Python
    configured_files.check(conf)
    if logged:
        _open_log(conf)
        umask.restrict_modes(conf)
        if not conf.config_file and not conf.config_dirs:
            LOG.warning(NO_FILE)
    else:
        log_lines.escape_all()
    return conf


def say_start(program: str) -> None:
    """Log that a program of this release starts. For after the checks: a mistake in the configuration is one line alone."""
    LOG.info('%s of release %s starts', program, release.VERSION)


def _open_log(conf: cfg.ConfigOpts) -> None:
    try:
        log_lines.setup(conf)
        log_rate_limit.install(conf)
        log_outages.install(conf)
        log_expected.install()
    except (OSError, RuntimeError, log.LogConfigError) as bad:
        raise errors.BadConfig(
            f'the log cannot be written, see log_file, log_dir, use_journal: {_line(bad)}'
        ) from None


def services(
    conf: cfg.ConfigOpts, rules: Iterable[Any] | None = None, migrations: Path | None = None
) -> context.Services:
    """Return the services of this process. ``rules`` and ``migrations``: those of a sibling."""
    from manila_lite.rpc.clients import Bus

    return context.Services(
        conf=conf,
        db=engine.Database(conf, migrations),
        bus=Bus(conf),
        make_enforcer=lambda: _enforcer(conf, rules),
        turns=thread_reserve.ThreadReserve(conf.api.threads, conf.api.waiters, conf.api.waiters_per_project),
    )


def _enforcer(conf: cfg.ConfigOpts, rules: Iterable[Any] | None) -> Any:
    """Return the policy enforcer.

    :raises errors.BadConfig: the policy file cannot be read, or root may not use it.
    """
    from manila_lite import policies  # schedulers and share managers ask for none

    try:
        enforcer = policies.make_enforcer(conf, rules)
    except ValueError as bad:
        raise errors.BadConfig(f'[oslo_policy] policy_file: {_line(bad)}') from None
    configured_files.check(conf)  # the library has its options only now
    return enforcer


def make_state_path(state_dir: Path) -> None:
    """Make the state directory, if it is missing.

    :raises errors.BadConfig: it cannot be made.
    """
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as bad:
        raise _unusable(state_dir, bad) from None


def _unusable(state_dir: Path, bad: OSError) -> errors.BadConfig:
    return errors.BadConfig(
        f'state_path: {state_dir}: {bad.strerror}; name a directory that the user {os.geteuid()} may write to'
    )


def lock_state_path(state_dir: Path) -> None:
    """Make the state directory and lock it for this process.

    :raises errors.BadConfig: another process has the lock, or the directory cannot be used.
    """
    make_state_path(state_dir)
    try:
        lock = os.open(state_dir / 'lock', os.O_RDWR | os.O_CREAT, 0o600)  # held until the process ends
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise errors.BadConfig(f'state_path: another process of manila-lite uses {state_dir}') from None
    except OSError as bad:
        raise _unusable(state_dir, bad) from None


def run(body: Callable[[Sequence[str]], int]) -> int:
    """Run a command; for a mistake in the configuration print one clear line on stderr and return exit status 1.

    Files that the process makes are private to its user.
    """
    umask.set_umask()
    try:
        return body(sys.argv[1:])
    except tuple(_MISTAKES) as bad:
        option = next(said for kind, said in _MISTAKES.items() if isinstance(bad, kind))
        lines = str(bad) if isinstance(bad, errors.BadConfig) else told(bad)
        print(f'manila_lite: {option}{lines}', file=sys.stderr)
        return 1


def told(error: Exception) -> str:
    """Return one line about an error of a database or of an option, with the cure where one is known."""
    url = (
        (cfg.CONF.database.connection or '')
        if isinstance(error, engine.UNUSABLE) and 'database' in cfg.CONF
        else ''
    )
    return (connection_url.explain(error, url) if url else '') or _line(error)


def _line(error: Exception) -> str:
    return log_lines.escaped(_WHERE.sub(r'in \1', ' '.join(_ADVERT.sub('', str(error)).split())))
