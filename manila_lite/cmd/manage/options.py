# SPDX-License-Identifier: Apache-2.0
"""``manila-manage config``: the options in force on this host; and ``version``: the installed release."""

from collections.abc import Iterator, Sequence
from typing import Any

from oslo_config import cfg

from manila_lite import release
from manila_lite.cmd import settings
from manila_lite.cmd.manage.command import FORMAT, GOOD, Call, Command, argument


def config_list(call: Call) -> int:
    """List the options with their present values. Secrets are hidden."""
    call.show(
        ('option', 'value', 'set by'),
        [line for line in _lines(call.conf) if not call.args.changed or line['changed']],
    )
    return GOOD


def _lines(conf: cfg.ConfigOpts) -> Iterator[dict[str, Any]]:
    for group, opt in sorted(
        settings.registered(conf), key=lambda pair: (pair[0] != 'DEFAULT', pair[0], pair[1].dest)
    ):
        yield {'option': f'[{group}] {opt.name}', **_value(conf, group, opt)}


def _value(conf: cfg.ConfigOpts, group: str, opt: cfg.Opt) -> dict[str, Any]:
    section = conf if group == 'DEFAULT' else conf[group]
    try:
        value = getattr(section, opt.dest)
    except (cfg.Error, ValueError) as bad:
        return {'value': f'cannot be read: {bad}', 'set by': 'a file', 'changed': True}
    where = conf.get_location(opt.dest, None if group == 'DEFAULT' else group)
    changed = where is not None and where.location.is_user_controlled
    shown = '****' if opt.secret and value else value
    return {
        'value': shown,
        'set by': (where.detail or where.location.name) if where is not None and changed else 'default',
        'changed': changed,
    }


def version_list(call: Call) -> int:
    """Print the version of this release and its commit, as --version does."""
    print(release.FULL)
    return GOOD


COMMANDS: Sequence[Command] = (
    Command(
        'config',
        'list',
        config_list,
        [
            argument(
                '--changed', action='store_true', help='only options set in files or in the environment'
            ),
            FORMAT,
        ],
        logged=False,
    ),
    Command('version', '', version_list, logged=False),
    Command('version', 'list', version_list, logged=False),
)
