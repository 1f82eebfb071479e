# SPDX-License-Identifier: Apache-2.0
"""The walk of tools/quickstart: a share's life on real storage, shown step by step. Start it by tools/quickstart."""

import argparse
import concurrent.futures
import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import bcrypt

import manila_lite.cmd  # noqa: F401 - threads, not eventlet
from manila_lite import errors
from manila_lite.cmd import setup
from manila_lite.drivers import load

TOP = Path(__file__).resolve().parent.parent
V4, V6 = '127.0.0.1', '::1'
USER, PROJECT = 'demo', 'demo'

CONFIG = """# Written by tools/quickstart. A real installation looks much the same.
[DEFAULT]
state_path = {state}/lib
log_file = {state}/manila-lite.log
host = quickstart
auth_strategy = http_basic
default_share_type = default
enabled_share_protocols = NFS
enabled_share_backends = storage
osapi_share_listen = {v4}
osapi_share_listen_port = {port}
report_interval = 2
capability_interval = 10

[api]
http_basic_auth_user_file = {state}/htpasswd
http_basic_accounts = {user}:{project}:admin+member+reader

[storage]
driver = {driver}
{options}
"""

OPTIONS = {
    'linux': 'linux_pool_path = {state}/pool.img\nlinux_pool_size_gb = 10\nlinux_export_ips = {v4},{v6}\n'
             'linux_graceless = true\n',
    'directory': 'linux_pool_path = {state}/pool\nlinux_pool_type = directory\nlinux_export_ips = {v4},{v6}\n'
                 'linux_graceless = true\n',
    'dummy': '',
}

CLOUDS = """clouds:
  manila-lite:
    auth_type: http_basic
    auth:
      endpoint: {url}/identity
      username: {user}
      password: {password}
    shared_file_system_endpoint_override: {url}/v2
    shared_file_system_default_microversion: '2.82'
"""

BOLD, GREEN, RED, DIM, PLAIN = ('\033[1m', '\033[32m', '\033[31m', '\033[2m', '\033[0m') if sys.stdout.isatty() else [''] * 5


class Trouble(Exception):
    """A step did not do what it should; the message says what to look at."""


class Walk:
    """What the steps share, and how long each took."""

    def __init__(self, state, backend):
        self.state = state
        self.backend = backend
        self.process = None
        self.timings = []
        self.port = 8786

    # Showing ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def step(self, title):
        """Time one step and say how it went."""
        print(f'{BOLD}==> {title}{PLAIN}', flush=True)
        began = time.monotonic()
        yield
        took = time.monotonic() - began
        self.timings.append((title, took))
        print(f'    {GREEN}done{PLAIN} {DIM}in {took:.1f} s{PLAIN}', flush=True)

    def say(self, text):
        """Show a line of a step."""
        print(f'    {text}', flush=True)

    # The service ------------------------------------------------------------------------------

    @property
    def config(self):
        """The configuration file."""
        return self.state / 'manila_lite.conf'

    @property
    def url(self):
        """Where the API is."""
        return f'http://{V4}:{self.port}'

    def configure(self):
        """Everything that the service reads is written."""
        self.state.mkdir(parents=True, exist_ok=True)
        (self.state / 'lib').mkdir(exist_ok=True)
        self.port = free_port(8786)
        clouds = self.state / 'clouds.yaml'
        password = secrets.token_urlsafe(12)
        hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(10)).decode()
        write_private(self.state / 'htpasswd', f'{USER}:{hashed}\n')
        write_private(clouds, CLOUDS.format(url=self.url, user=USER, password=password))
        names = {'state': self.state, 'v4': V4, 'v6': V6, 'port': self.port, 'user': USER, 'project': PROJECT,
                 'driver': 'dummy' if self.backend == 'dummy' else 'linux'}
        self.config.write_text(CONFIG.format(options=OPTIONS[self.backend].format(**names), **names))

    def start(self):
        """The service answers and its backend has reported."""
        with (self.state / 'console.log').open('ab') as log:
            self.process = subprocess.Popen(['manila-lite', f'--config-file={self.config}'], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)
        (self.state / 'pid').write_text(f'{self.process.pid}\n')
        wait('the API answers', self._answers, 60, self)
        wait('the backend is ready', lambda: json.loads(self.openstack('share', 'pool', 'list', '-f', 'json')), 60, self)

    def _answers(self):
        if self.process.poll() is not None:
            raise Trouble(f'manila-lite ended with status {self.process.returncode}:\n{self.logs()}')
        try:
            with urllib.request.urlopen(f'{self.url}/healthcheck', timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def stop(self):
        """Nothing runs and nothing is mounted any more; what was stored is kept until --down."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=70)
        (self.state / 'pid').unlink(missing_ok=True)
        release(self.state, remove_data=False)

    def logs(self):
        """The last lines of the logs."""
        found = []
        for name in ('console.log', 'manila-lite.log'):
            with contextlib.suppress(OSError):
                found += (self.state / name).read_text(errors='replace').splitlines()[-15:]
        return '\n'.join(found)

    # The client -------------------------------------------------------------------------------

    def openstack(self, *words, check=True):
        """Run the openstack client; returns what it prints."""
        env = {**os.environ, 'OS_CLIENT_CONFIG_FILE': str(self.state / 'clouds.yaml'), 'OS_CLOUD': 'manila-lite'}
        done = subprocess.run(['openstack', *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120)
        if check and done.returncode:
            raise Trouble(f'openstack {" ".join(words)}: {done.stderr.strip() or done.stdout.strip()}')
        return done.stdout

    def show(self, *words):
        """Run the openstack client, shown as a person would type it; returns the object it prints."""
        self.say(f'{DIM}$ openstack {" ".join(words)}{PLAIN}')
        return json.loads(self.openstack(*words, '-f', 'json') or 'null')

    def run(self, *words):
        """Run a command of the openstack client that prints nothing."""
        self.say(f'{DIM}$ openstack {" ".join(words)}{PLAIN}')
        self.openstack(*words)


def wait(what, ready, patience, walk):
    """Wait until ``ready`` gives something true; returns it."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if found := ready():
            return found
        time.sleep(0.2)
    raise Trouble(f'not within {patience} s: {what}\n{walk.logs()}')


def free_port(wanted):
    """Return the port, or another if somebody listens on it."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((V4, port))
                return probe.getsockname()[1]
    raise Trouble('no free port')


def write_private(path, text):
    """The file holds the text, and only its owner reads it."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w') as out:
        out.write(text)


# NFS ----------------------------------------------------------------------------------------------

def nfs(address, path, action, *words):
    """Do something on a mounted share with a real NFS client in a process of its own; returns (worked, what it says)."""
    done = subprocess.run([sys.executable, '-m', 'manila_lite.tests.nfs_client', address, path, action, *words],
                          capture_output=True, text=True, timeout=120, cwd=TOP, stdin=subprocess.DEVNULL)
    return done.returncode == 0, (done.stdout.strip() or done.stderr.strip())


def must(result):
    """The NFS client succeeded; returns what it said."""
    worked, said = result
    if not worked:
        raise Trouble(f'the NFS client says: {said}')
    return said


def must_not(result, *reasons):
    """The NFS client was refused, for one of these reasons; returns what it said."""
    worked, said = result
    if worked or not any(reason in said for reason in reasons):
        raise Trouble(f'expected {" or ".join(reasons)}, the NFS client says: {said or "it worked"}')
    return said


def overfill(remote):
    """Two clients write more than fits; returns what the one says that was refused."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda name: nfs(V4, remote, 'fill', name, '600'), ('big', 'bigger')))
    return must_not(min(results), 'DQUOT', 'quota')


# The walk -----------------------------------------------------------------------------------------

def walk_through(walk):
    """Every step of a share's life. Returns the mount line."""
    real = walk.backend != 'dummy'
    limited = walk.backend == 'linux'
    with walk.step('A share type and a share, through API, scheduler and share manager'):
        specs = [] if walk.backend == 'directory' else [
            '--snapshot-support', 'True', '--create-share-from-snapshot-support', 'True',
            '--revert-to-snapshot-support', 'True']
        known = {kind['Name'] for kind in walk.show('share', 'type', 'list')}
        if 'default' not in known:
            walk.show('share', 'type', 'create', 'default', 'False', *specs)
        share = walk.show('share', 'create', 'NFS', '1', '--name', 'demo', '--wait')
        ident = share['id']
        locations = walk.show('share', 'export', 'location', 'list', ident)
        path = locations[0]['Path']
        walk.say(f'{ident} is {share["status"]}, exported as {", ".join(place["Path"] for place in locations)}')
    remote = path.partition(':')[2] if not path.startswith('[') else path.partition(']:')[2]
    with walk.step(f'Access for {V4}, and for nobody else'):
        walk.show('share', 'access', 'create', ident, 'ip', V4, '--wait')
        if real:
            must(nfs(V4, remote, 'write', 'hello.txt', 'hello from manila_lite'))
            walk.say(f'mounted by {V4}, wrote hello.txt, read back: {must(nfs(V4, remote, "read", "hello.txt"))!r}')
            refused = must_not(nfs(V6, remote, 'read', 'hello.txt'), 'NOENT', 'ACCES', 'PERM', 'No such file')
            walk.say(f'{V6} was granted nothing and is refused: {refused}')
    if limited:
        with walk.step('The size is a limit, and extending lifts it'):
            refused = overfill(remote)
            walk.say(f'two clients writing 1.2 GiB into 1 GiB are refused: {refused}')
            walk.run('share', 'resize', ident, '2', '--wait')
            must(nfs(V4, remote, 'fill', 'more', '64'))
            walk.say('extended to 2 GiB while mounted, and written to again')
    if walk.backend != 'directory':
        with walk.step('A snapshot, a change, and back again'):
            snapshot = walk.show('share', 'snapshot', 'create', ident, '--name', 'before', '--wait')
            if real:
                must(nfs(V4, remote, 'write', 'hello.txt', 'changed by mistake'))
            walk.run('share', 'revert', snapshot['id'], '--wait')
            if real:
                found = must(nfs(V4, remote, 'read', 'hello.txt'))
                if found != 'hello from manila_lite':
                    raise Trouble(f'after the revert the file reads {found!r}')
                walk.say(f'reverted: the file reads {found!r} again')
            walk.run('share', 'snapshot', 'delete', snapshot['id'], '--wait')
    return ident, path, remote


def delete(walk, ident):
    """The share is gone, and no client can read it."""
    with walk.step('Delete: nothing is left'):
        walk.run('share', 'delete', ident, '--wait')
        walk.say(f'shares left: {len(walk.show("share", "list"))}')


def summary(walk, setup_seconds, path):
    """Print what was shown, how long it took, and how to go on."""
    print(f'\n{BOLD}It works.{PLAIN}')
    for title, took in [('Packages and virtual environment', setup_seconds), *walk.timings]:
        print(f'  {GREEN}✓{PLAIN} {title:68} {took:6.1f} s')
    print(f'  {"in all":70} {setup_seconds + sum(took for _, took in walk.timings):6.1f} s\n')
    print('Use it from a shell while it runs (tools/quickstart --stay):')
    print(f'  export OS_CLIENT_CONFIG_FILE={walk.state}/clouds.yaml OS_CLOUD=manila-lite')
    print(f'  export PATH={Path(sys.executable).parent}:$PATH')
    print('  openstack share list')
    if walk.backend != 'dummy':
        print(f'  mount -t nfs4 {path} /mnt')
    print(f'Logs, pool and database: {walk.state}. Remove every trace: tools/quickstart --down')


def stay(walk):
    """Serve until Ctrl-C."""
    print(f'\n{BOLD}Staying{PLAIN}; Ctrl-C stops it; what was stored is kept until --down.', flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        walk.process.wait()


# Taking down --------------------------------------------------------------------------------------

def down(state):
    """No trace of an earlier run is left."""
    if not state.exists():
        print('Nothing to take down.')
        return
    pid = state / 'pid'
    if pid.exists():
        end_process(int(pid.read_text()))
    release(state, remove_data=True)
    shutil.rmtree(state)
    print(f'Processes, mounts, loop devices and {state} are gone.')


def release(state, *, remove_data):
    """The NFS server has ended, and shares and pool are unmounted."""
    config = state / 'manila_lite.conf'
    if not config.exists() or 'driver = linux' not in config.read_text():
        return
    conf = setup.configure([f'--config-file={config}'], transport_url='inproc://')
    load.make('linux', 'storage', 'quickstart@storage', conf, Path(conf.state_path) / 'storage').teardown(
        remove_data=remove_data)
    conf.reset()
    conf.clear()


def end_process(pid):
    """The service of an earlier run has ended; a stranger that has its pid now is let be."""
    with contextlib.suppress(OSError):
        if b'manila-lite' not in Path(f'/proc/{pid}/cmdline').read_bytes():
            return
        os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + 70
        while time.monotonic() < end and Path(f'/proc/{pid}').exists():
            time.sleep(0.1)


def arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='tools/quickstart')
    parser.add_argument('--stay', action='store_true')
    parser.add_argument('--down', action='store_true')
    parser.add_argument('--backend', choices=sorted(OPTIONS), default='linux')
    parser.add_argument('--state', type=Path, default=TOP / '.quickstart')
    parser.add_argument('--setup-seconds', type=float, default=0.0, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    """Run the walk; the exit status says whether all of it worked."""
    args = arguments()
    state = args.state.resolve()
    if args.down:
        down(state)
        return 0
    if os.geteuid() and args.backend != 'dummy':
        print('Real storage needs root (loop devices, mounts, NFS-Ganesha). Either run this as root, or try the API '
              'without storage: tools/quickstart --backend dummy', file=sys.stderr)
        return 1
    if state.exists():
        down(state)
    walk = Walk(state, args.backend)
    try:
        with walk.step(f'manila-lite starts in one process, with backend {args.backend}'):
            walk.configure()
            walk.start()
            walk.say(f'API at {walk.url}/v2')
        ident, path, _ = walk_through(walk)
        if not args.stay:
            delete(walk, ident)
        summary(walk, args.setup_seconds, path)
        if args.stay:
            stay(walk)
    except (Trouble, errors.ManilaLiteError, subprocess.TimeoutExpired) as trouble:
        print(f'{RED}It did not work:{PLAIN} {trouble}\nLogs: {state}. Clean up with tools/quickstart --down', file=sys.stderr)
        return 1
    finally:
        walk.stop()
    return 0


if __name__ == '__main__':
    sys.exit(main())
