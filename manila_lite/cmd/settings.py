# SPDX-License-Identifier: Apache-2.0
"""All options of the product and its libraries, and the options in the configuration files."""

import contextlib
import dataclasses
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from oslo_config import cfg

from manila_lite import errors, trace
from manila_lite.conf import backend, backup, network
from manila_lite.drivers import load

#: Names under which packages list their options, as in etc/manila_lite/config-generator.conf.
NAMESPACES = (
    'manila_lite',
    'oslo.db',
    'oslo.log',
    'oslo.messaging',
    'oslo.middleware.cors',
    'oslo.middleware.healthcheck',
    'oslo.middleware.http_proxy_to_wsgi',
    'oslo.middleware.sizelimit',
    'oslo.policy',
    'oslo.reports',
    'osprofiler',
    'keystonemiddleware.auth_token',
)
#: Sections whose options depend on the kind of login, or of key manager, chosen in them.
_OPEN = ('keystone_authtoken', 'neutron', 'key_manager', 'barbican', 'vault')
_DEFAULT = 'DEFAULT'

Options = dict[str, list[cfg.Opt]]


def known(conf: cfg.ConfigOpts) -> Options:
    """Return every option by group, those of the enabled backends included."""
    options: Options = {}
    for name in NAMESPACES:
        for point in metadata.entry_points(group='oslo.config.opts', name=name):
            for group, opts in point.load()():
                options.setdefault(str(getattr(group, 'name', group) or _DEFAULT), []).extend(opts)
    options.pop('backend_example', None)
    options.pop('backup_type_example', None)
    for name in conf.enabled_share_backends:
        options[name] = [*backend.BACKEND, *_driver_options(conf, name)]
        if conf[name].admin_network_config_group:
            options[conf[name].admin_network_config_group] = list(network.INSTEAD)
    options.update({name: list(backup.TYPE) for name in conf.enabled_backup_types})
    return options


def _driver_options(conf: cfg.ConfigOpts, name: str) -> list[cfg.Opt]:
    backend.register_backend(conf, name)
    try:
        return list(load.load_class(conf[name].driver).OPTIONS) if conf[name].driver else []
    except errors.BadConfig:
        return []  # a missing driver is reported elsewhere


def registered(conf: cfg.ConfigOpts) -> Iterator[tuple[str, cfg.Opt]]:
    """Yield every option with its group, after its registration in ``conf``."""
    from manila_lite.rpc import transport

    trace.register(conf)
    transport.set_defaults(conf)
    transport.set_rabbit_defaults(conf)
    for group, opts in known(conf).items():
        names = set()
        for opt in opts:
            with contextlib.suppress(cfg.DuplicateOptError):  # the product has set another default
                conf.register_opt(opt, group=None if group == _DEFAULT else group)
            if opt.dest not in names:
                names.add(opt.dest)
                yield group, opt


def find_wrong(conf: cfg.ConfigOpts) -> list[str]:
    """Return a line for each option whose value in a file or in the environment cannot be used."""
    wrong = []
    for group, opt in registered(conf):
        try:
            getattr(conf if group == _DEFAULT else conf[group], opt.dest)
        except cfg.RequiredOptError:
            continue  # the check of what needs it says so
        except (cfg.Error, ValueError) as bad:
            wrong.append(f'[{group}] {opt.name}: {str(bad).rpartition("is not valid: ")[2]}')
    return wrong


@dataclasses.dataclass(frozen=True)
class Doubt:
    """An option in a file that has no effect, or will have none in a later release. Without ``name``: a whole section."""

    group: str
    name: str
    why: str

    def __str__(self) -> str:
        return f'[{self.group}]{" " if self.name else ""}{self.name}: {self.why}'


def find_doubtful(conf: cfg.ConfigOpts) -> list[Doubt]:
    """Return the unknown and deprecated options and sections in the configuration files."""
    options = known(conf)
    current = {
        (group, name): opt for group, opts in options.items() for opt in opts for name in (opt.dest, opt.name)
    }
    old = {
        (one.group or group, one.name or opt.dest): f'is called [{group}] {opt.name} now'
        for group, opts in options.items()
        for opt in opts
        for one in opt.deprecated_opts
    }
    doubts = []
    for group, names in _files(conf).items():
        if group in _OPEN:
            continue
        if group not in options:
            doubts.append(Doubt(group, '', 'is a section that nothing reads' + _perhaps_backend(names)))
            continue
        for name in names:
            opt = current.get((group, name))
            if opt is None:
                doubts.append(Doubt(group, name, old.get((group, name), 'there is no such option')))
            elif opt.deprecated_for_removal:
                doubts.append(
                    Doubt(
                        group,
                        name,
                        'will be removed' + (f': {opt.deprecated_reason}' if opt.deprecated_reason else ''),
                    )
                )
    return doubts


def _perhaps_backend(names: dict[str, list[str]]) -> str:
    return '; is it missing in enabled_share_backends?' if 'driver' in names else ''


def _files(conf: cfg.ConfigOpts) -> dict[str, dict[str, list[str]]]:
    sections: dict[str, dict[str, list[str]]] = {}
    folders = [path for folder in conf.config_dirs for path in sorted(Path(folder).glob('*.conf'))]
    for path in (*conf.config_file, *folders):
        cfg.ConfigParser(str(path), sections).parse()
    return sections
