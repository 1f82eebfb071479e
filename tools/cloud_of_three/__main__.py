# SPDX-License-Identifier: Apache-2.0
"""The command line of tools/cloud, which starts this."""

import argparse
import contextlib
import fcntl
import os
import random
import subprocess
import sys
from pathlib import Path

import manila_lite.cmd  # noqa: F401 - threads, not eventlet
from cloud_of_three import cloud as clouds
from cloud_of_three import faults
from cloud_of_three.rounds import Rounds
from manila_lite.tests import waiting
from manila_lite.tests.services.daemon import Broken, Missing

_TOP = Path(__file__).parents[2]


def _arguments():
    parser = argparse.ArgumentParser(prog='tools/cloud')
    parser.add_argument('--state', type=Path, default=_TOP / '.cloud')
    commands = parser.add_subparsers(dest='command', required=True)
    up = commands.add_parser('up')
    _add_kind(up)
    commands.add_parser('down')
    commands.add_parser('status')
    commands.add_parser('run').add_argument('words', nargs=argparse.REMAINDER)
    on = commands.add_parser('on')
    on.add_argument('host')
    on.add_argument('words', nargs=argparse.REMAINDER)
    rounds = commands.add_parser('rounds')
    rounds.add_argument('count', type=int)
    rounds.add_argument('--seed', type=int, default=random.SystemRandom().randrange(1 << 32))
    rounds.add_argument('--only', choices=faults.FAULTS, action='append')
    _add_kind(rounds)
    return parser.parse_args()


def _add_kind(command):
    command.add_argument('--database', choices=clouds.DATABASES)
    command.add_argument('--earlier', action='store_true')


def _started(state, args):
    """Start the cloud of the arguments; return it, or None if they do not fit the one that is there."""
    state.mkdir(0o711, exist_ok=True)
    is_new = not (state / 'password').exists()
    with (state / 'lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cloud = clouds.Cloud(state, *filter(None, [args.database]))
        if args.database not in (None, cloud.kind):
            print(
                f'This cloud has the database {cloud.kind}; for another one: tools/cloud down, then up.',
                file=sys.stderr,
            )
            return None
        if args.earlier and not is_new:
            print('--earlier changes nothing: this cloud is there already.', file=sys.stderr)
        cloud.up(clouds.timed, args.earlier and is_new)
    print('\n'.join(['It works.', *clouds.usage(cloud)]))
    return cloud


def _up(state, args):
    return 0 if _started(state, args) else 1


def _down(state, args):
    clouds.down(state)
    print(f'The hosts, their processes and {state} are gone.')
    return 0


def _status(state, args):
    cloud = clouds.Cloud(state)
    for host, program, pid in cloud.status():
        print(f'{host:10} {program:18} {pid or ("off" if pid == 0 else "does not run")}')
    if not cloud.client.is_up():
        return 1
    cloud.enter()
    problems = cloud.problems()
    print(*problems, sep='\n', end='\n' * bool(problems))
    return 1 if problems else 0


def _run(state, args):
    cloud = clouds.Cloud(state)
    cloud.enter()
    return subprocess.run(args.words, env=clouds.environment(cloud)).returncode


def _on(state, args):
    cloud = clouds.Cloud(state)
    host = next((host for host in cloud.hosts if host.name == args.host), None)
    if host is None or not host.is_up():
        print(f'There is no host {args.host} that is up.', file=sys.stderr)
        return 1
    return subprocess.run(host.inside(*args.words), env=clouds.administration(cloud, host)).returncode


def _rounds(state, args):
    is_ours = not state.exists()
    if not (cloud := _started(state, args)):
        return 1
    print(f'seed {args.seed}')
    run = Rounds(cloud, args.seed)
    run.run(args.count, args.only)
    if is_ours and not run.found:
        _down(state, args)
    return 1 if run.found else 0


@contextlib.contextmanager
def _no_rounds(state):
    """Keep other runs of rounds away, and the end of the cloud. :raises BlockingIOError: there is such a run."""
    with Path(f'{state}.rounds').open('w') as lock:  # outside of what "down" deletes
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


_COMMANDS = {'on': _on, 'rounds': _rounds, 'up': _up, 'down': _down, 'status': _status, 'run': _run}


def main():
    """Run a command; return its exit status."""
    args = _arguments()
    state = args.state.resolve()
    if os.geteuid():
        print('Network namespaces, loop devices and mounts need root: run this as root.', file=sys.stderr)
        return 1
    if args.command not in ('up', 'rounds') and not state.exists():
        print('There is no cloud. tools/cloud up makes one.', file=sys.stderr)
        return 0 if args.command == 'down' else 1
    try:
        with _no_rounds(state) if args.command in ('rounds', 'down') else contextlib.nullcontext():
            return _COMMANDS[args.command](state, args)
    except BlockingIOError:
        print('tools/cloud rounds goes on in this cloud: end that process first.', file=sys.stderr)
        return 1
    except (waiting.Late, Broken, Missing, OSError, subprocess.SubprocessError) as bad:
        said = getattr(bad, 'stderr', '') or ''
        print(
            f'It did not work: {bad} {said}\nLogs: {state}/hosts. Clean up with tools/cloud down',
            file=sys.stderr,
        )
        return 1


if __name__ == '__main__':
    sys.exit(main())
