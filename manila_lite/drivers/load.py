# SPDX-License-Identifier: Apache-2.0
"""Loading of drivers by entry point, and their creation from a backend's section of the configuration."""

from collections.abc import Iterable
from pathlib import Path

from oslo_config import cfg

from manila_lite import entry_points, errors
from manila_lite.conf import backend as backend_conf
from manila_lite.drivers.interface import Backend, ShareDriver

NAMESPACE = 'manila_lite.share.drivers'


def names() -> list[str]:
    """Return the names of all installed drivers, in order."""
    return entry_points.names(NAMESPACE)


def load_class(name: str) -> type[ShareDriver]:
    """Return the driver class behind an entry point. Makes no instance of it.

    :raises errors.BadConfig: there is no such driver, it cannot be imported, or it is no ShareDriver.
    """
    cls: type[ShareDriver] = entry_points.load(NAMESPACE, name, ShareDriver, f'driver = {name}')
    return cls


def make(name: str, backend_name: str, host: str, conf: cfg.ConfigOpts, state_dir: Path) -> ShareDriver:
    """Return a driver for the backend, with its options registered and read and the machine's requirements checked.

    The driver's ``setup`` has not been called yet.

    :raises errors.BadConfig: with one line for each problem and a hint how to solve it.
    """
    cls = load_class(name)
    return cls(check(cls, backend_name, host, conf, state_dir))


def check(
    cls: type[ShareDriver], backend_name: str, host: str, conf: cfg.ConfigOpts, state_dir: Path
) -> Backend:
    """Register and read the options of a driver, and check the machine's requirements. Return the backend for it.

    :raises errors.BadConfig: with one line for each problem and a hint how to solve it.
    """
    backend_conf.register_backend(conf, backend_name)
    conf.register_opts(cls.OPTIONS, group=backend_name)
    wrong = _unreadable((*backend_conf.BACKEND, *cls.OPTIONS), backend_name, conf)
    if not wrong:
        backend = Backend(backend_name, host, conf[backend_name], state_dir)
        wrong = [f'[{backend_name}] {problem.what}: {problem.hint}' for problem in cls.check(backend)]
    if wrong:
        raise errors.BadConfig('\n'.join(wrong))
    return backend


def _unreadable(options: Iterable[cfg.Opt], backend_name: str, conf: cfg.ConfigOpts) -> list[str]:
    """Return a line for each option whose value cannot be read; oslo.config would report it only at first use."""
    wrong = []
    for option in options:
        try:
            value = conf[backend_name][option.dest]
        except ValueError as refused:
            # oslo.config puts the location before the reason, as Python shows it.
            reason = str(refused).rpartition(' is not valid: ')[2]
            wrong.append(f'[{backend_name}] {option.name}: {reason}')
        else:
            if option.required and value is None:
                wrong.append(f'[{backend_name}] {option.name}: missing; {option.help}')
    return wrong
