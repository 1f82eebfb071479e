# SPDX-License-Identifier: Apache-2.0
"""The scenarios of tools/quickstart, which starts this."""

import argparse
import contextlib
import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from keystoneauth1.exceptions import ClientException
from scenarios.any_to_any import AnyToAny
from scenarios.cephfs import CephFs
from scenarios.cluster import Cluster
from scenarios.demo import TOP, Demo
from scenarios.down import down
from scenarios.dual_stack import DualStack
from scenarios.evacuating import Evacuating
from scenarios.identity import Identity, LoggedIn
from scenarios.moving import Moving
from scenarios.one_share import OneShare
from scenarios.repair import Repair
from scenarios.scheduled import Scheduled
from scenarios.service import BOLD, GREEN, PLAIN, RED, Trouble
from scenarios.settings import (
    ADMIN,
    ADMIN_CLOUD,
    ANY,
    CEPH,
    CLOUD,
    CLUSTER,
    DUAL_STACK,
    ENSURE,
    MIGRATION,
    OPTIONS,
    SCHEDULE,
    USER,
    VM,
)
from scenarios.vm import Vm

import manila_lite.cmd  # noqa: F401 - threads, not eventlet
from manila_lite import errors
from manila_lite.host import ownership
from manila_lite.tests import waiting
from manila_lite.tests.services.daemon import Broken, Missing

#: Scenarios other than the life of one share.
SCENARIOS = {
    DUAL_STACK: DualStack,
    ENSURE: Repair,
    MIGRATION: Moving,
    ANY: AnyToAny,
    SCHEDULE: Scheduled,
    VM: Vm,
    CLUSTER: Cluster,
    CEPH: CephFs,
}
#: Errors whose message says all.
_TROUBLES = (
    Trouble,
    waiting.Late,
    Broken,
    Missing,
    errors.ManilaLiteError,
    ClientException,
    subprocess.SubprocessError,
    OSError,
)
#: What becomes of the data after a stay, by the scenario.
_KEPT = {
    '': 'what was stored is kept until --down',
    CEPH: 'the cluster ends with it, and has its data in memory',
}


def summary(demo, setup_seconds, mount):
    """Print the steps with their times, and how to go on."""
    print(f'\n{BOLD}It works.{PLAIN}')
    for title, took in [('Packages and virtual environment', setup_seconds), *demo.timings]:
        print(f'  {GREEN}✓{PLAIN} {title:68} {took:6.1f} s')
    print(f'  {"in all":70} {setup_seconds + sum(took for _, took in demo.timings):6.1f} s\n')
    print('Use it from a shell while it runs (tools/quickstart --stay):')
    print(f'  export OS_CLIENT_CONFIG_FILE={demo.state}/clouds.yaml OS_CLOUD={CLOUD}')
    print(f'  export PATH={Path(sys.executable).parent}:$PATH')
    print('  openstack share list')
    if mount:
        print(f'  {mount}')
    if demo.console:
        print(
            f'The console for browsers: {demo.url}/console/ as {USER} or {ADMIN}, with the password of clouds.yaml'
        )
    print(
        f'The user is a member of a project. The administrator: openstack --os-cloud {ADMIN_CLOUD} share service list'
    )
    print(f'Logs, pool and database: {demo.state}. Remove every trace: tools/quickstart --down')


def stay(demo):
    """Keep the service running until Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        print(f'\n{BOLD}Staying{PLAIN}; Ctrl-C stops it; {_KEPT.get(demo.backend, _KEPT[""])}.', flush=True)
        demo.process.wait()


def _state():
    """Return the default directory: in this checkout, unless root would use files there that another user can change."""
    here = TOP / '.quickstart'
    if os.geteuid() or not ownership.find_flaw(here):
        return here
    return Path(f'/var/lib/manila_lite-quickstart-{hashlib.sha256(bytes(TOP)).hexdigest()[:8]}')


def arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='tools/quickstart')
    what = parser.add_mutually_exclusive_group()
    what.add_argument('--backend', choices=sorted(set(OPTIONS) - set(SCENARIOS)), default='linux')
    for kind in SCENARIOS.keys() - {ANY}:
        what.add_argument(f'--{kind}', dest='backend', action='store_const', const=kind)
    for name in ('evacuate', 'any', 'keystone', 'console', 'stay', 'down'):
        parser.add_argument(f'--{name}', action='store_true')
    parser.add_argument('--mebibytes', type=int, default=100)
    parser.add_argument('--state', type=Path, default=_state())
    parser.add_argument('--setup-seconds', type=float, default=0.0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.keystone and args.backend in SCENARIOS:
        parser.error('--keystone goes with a --backend')
    args.stay = args.stay or args.console
    if (args.evacuate or args.any) and (args.backend != MIGRATION or (args.evacuate and args.any)):
        parser.error('--evacuate is a part of --migration, and so is --any: add --migration, and one of them')
    if args.any:
        args.backend = ANY
    return args


def show(demo, args):
    """Run all steps of the scenario. Return a command to try by hand."""
    kind = (
        Evacuating if args.evacuate else SCENARIOS.get(demo.backend, LoggedIn if demo.identity else OneShare)
    )
    scenario = kind(demo)
    for server in demo.needs:
        with demo.step(server.STEP):
            server.start()
            demo.say(server.told())
    with demo.step(f'manila-lite starts in one process, with backend {demo.backend}'):
        demo.configure()
        demo.start()
        demo.say(f'API at {demo.url}/v2')
    mount = scenario.through()
    if not args.stay:
        scenario.delete()
    for line in getattr(scenario, 'drawn', ()):
        print(line)
    return mount


@contextlib.contextmanager
def noted(troubles):
    """Add an error to the list."""
    try:
        yield
    except _TROUBLES as trouble:
        troubles.append(trouble)


def play(demo, args, troubles):
    """Run the scenario, and clean up whatever happens. It works if the clean-up does, too."""
    mount = None
    with noted(troubles), contextlib.ExitStack() as there:
        there.callback(demo.stop)
        with noted(troubles):
            mount = show(demo, args)
            if args.stay:
                summary(demo, args.setup_seconds, mount)
                stay(demo)
    if not troubles and not args.stay:
        summary(demo, args.setup_seconds, mount)


def main():
    """Run the scenario; the exit status is 0 if all of it worked."""
    args = arguments()
    state = args.state.resolve()
    if os.geteuid() and args.backend != 'dummy' and not args.down:
        print(
            'Real storage needs root (loop devices, mounts, NFS-Ganesha). Either run this as root, or try the API '
            'without storage: tools/quickstart --backend dummy',
            file=sys.stderr,
        )
        return 1
    troubles = []
    with noted(troubles):
        if args.down or state.exists():
            down(state)
    if not args.down and not troubles:
        demo = Demo(state, args.backend, args.mebibytes, Identity(state) if args.keystone else None)
        demo.console = args.console
        play(demo, args, troubles)
    for trouble in troubles:
        print(
            f'{RED}It did not work:{PLAIN} {trouble}\nLogs: {state}. Clean up with tools/quickstart --down',
            file=sys.stderr,
        )
    return 1 if troubles else 0


if __name__ == '__main__':
    sys.exit(main())
