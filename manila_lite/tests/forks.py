# SPDX-License-Identifier: Apache-2.0
"""Commands in processes of their own that need not import their modules: a second of work for each otherwise.

A process that has imported a command's modules, and has done nothing else, is forked for each run. The child runs the
command's ``main``, as if it had been started by its name. That commands start by their names is tested in
test_commands.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from manila_lite.tests import waiting

_PR_SET_PDEATHSIG = 1
#: Preparation for the product and for a module of its own: modules to import, and functions (with arguments) to run once.
_BEFOREHAND = {
    'manila_lite': (
        'manila_lite.cmd.all_in_one',
        'manila_lite.cmd.api',
        'manila_lite.cmd.manage',
        'manila_lite.cmd.scheduler',
        'manila_lite.cmd.share',
        'manila_lite.cmd.status',
        'manila_lite.tests.forks:import_commands',
        'manila_lite.db.maintenance.schema_migrations',
        'manila_lite.drivers.dummy.driver',
        'manila_lite.drivers.cephfs.driver',
        'manila_lite.drivers.linux.driver',
        'manila_lite.tests.compliance.base',
        'manila_lite.tests.crash.victim',
        'manila_lite.tests:take_notes',
        'oslo_messaging.opts',
        'psycopg2',
        'pymysql',
    ),
    'manila_lite.tests.openstack_page': ('openstackclient.shell:main complete', 'openstack.connection'),
}
#: The same for the product in another tree, which may have less in it.
_BEFOREHAND_ELSEWHERE = (
    'manila_lite.cmd.all_in_one',
    'manila_lite.cmd.api',
    'manila_lite.cmd.manage',
    'manila_lite.cmd.scheduler',
    'manila_lite.cmd.share',
    'manila_lite.drivers.dummy.driver',
    'oslo_messaging._drivers.impl_rabbit',
    'psycopg2',
    'pymysql',
)
_LONGEST = 200_000


class Process:
    """A command that runs, or ran. Like ``subprocess.Popen``, without pipes."""

    def __init__(self, args, line):
        self.args = args
        self.returncode = None
        self._line = line
        self.pid = int(line.readline())

    def poll(self):
        """Return the exit status, or None while the command runs."""
        if self.returncode is None and select.select([self._line], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout=None):
        """Wait for the end of the command; return its exit status."""
        if self.returncode is None:
            if not select.select([self._line], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self._end()
        return self.returncode

    def _end(self):
        self.returncode = os.waitstatus_to_exitcode(int(self._line.readline() or signal.SIGKILL))
        self._line.close()

    def send_signal(self, signo):
        """Send the signal if the command still runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signo)

    def kill(self):
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def terminate(self):
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)


class _Mould:
    """The process that is forked for each run."""

    def __init__(self, *modules, tree=None):
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._tree = tree
        # Of another tree this file is no part, and its own folder must not be a place for modules: -P.
        words, env = (
            (['-P', __file__], os.environ | {'PYTHONPATH': str(tree)}) if tree else (['-m', __name__], None)
        )
        self._process = subprocess.Popen([sys.executable, *words, *modules], stdin=theirs, env=env, cwd=tree)
        theirs.close()
        self._guard = threading.Lock()
        atexit.register(self._process.wait)
        atexit.register(self._line.close)

    def start(self, command, args, files, env, new_session):
        """Fork a process that runs ``command``; return it."""
        told, tell = os.pipe()
        asked = {
            'command': command,
            'args': list(map(str, args)),
            'cwd': str(self._tree or os.getcwd()),
            'new_session': new_session,
            'env': dict(os.environ if env is None else env),
        }
        with self._guard:
            socket.send_fds(self._line, [json.dumps(asked).encode()], [tell, *files])
        os.close(tell)
        return Process([command, *args], os.fdopen(told))


_moulds = {}
_guard = threading.Lock()


def start(command, *args, stdin=None, stdout, stderr, env=None, new_session=False, tree=None):
    """Start a command (``module:function``) with these arguments and files for its output; return its process.

    ``tree``: a directory with the package of another release, whose command it is; its process starts there.
    """
    module = command.partition(':')[0]
    kind = tree or (module if module in _BEFOREHAND else 'manila_lite')
    with _guard:
        if kind not in _moulds:
            _moulds[kind] = _Mould(*_BEFOREHAND_ELSEWHERE, tree=tree) if tree else _Mould(*_BEFOREHAND[kind])
    with open(os.devnull, 'rb') as nothing:
        files = [file.fileno() for file in (stdin or nothing, stdout, stderr)]
        return _moulds[kind].start(command, args, files, env, new_session)


def run(command, *args, env=None, timeout=waiting.LIMIT, tree=None):
    """Run a command to its end; return status and output, as ``subprocess.run`` does."""
    with tempfile.TemporaryFile('w+') as out, tempfile.TemporaryFile('w+') as err:
        process = start(command, *args, stdout=out, stderr=err, env=env, tree=tree)
        try:
            status = process.wait(timeout)
        finally:
            process.kill()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(process.args, status, out.read(), err.read())


# In the process that is forked ---------------------------------------------------------------------


def import_commands():
    """Import what manila-manage imports only when a command is used."""
    from manila_lite.cmd.manage import categories

    categories.commands()


def _serve(line):
    """Return in each child, with the command to run; return None at the end of the test's process."""
    while True:
        message, files, _, _ = socket.recv_fds(line, _LONGEST, 4)
        if not message:
            return None
        if not os.fork():
            line.close()
            return _attend(json.loads(message), *files)
        for file in files:
            os.close(file)


def _attend(asked, tell, *files):
    """Return in the child; its parent writes the child's pid on ``tell`` and, in the end, its status."""
    _die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if not pid:
        os.close(tell)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        return asked
    os.write(tell, f'{pid}\n'.encode())
    for file in (0, 1, 2, *files):
        os.close(file)
    os.write(tell, f'{os.waitpid(pid, 0)[1]}\n'.encode())
    os._exit(0)


def _die_with_parent():
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _main(modules):
    for module in modules:
        command, *args = module.split()
        if ':' in command:
            with contextlib.redirect_stdout(io.StringIO()):
                _status_of(command, args)
        else:
            importlib.import_module(command)
    if threading.active_count() > 1:
        raise SystemExit(f'A process with threads cannot be copied: {threading.enumerate()}')
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    with socket.socket(fileno=os.dup(0)) as line:
        asked = _serve(line)
    if asked is None:
        return
    if asked['new_session']:
        os.setsid()
        # Ctrl-C does nothing to a run of the tests in the background, and so to its children.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(asked['env'])
    os.chdir(asked['cwd'])
    _leave(_status_of(asked['command'], asked['args']))


def _status_of(command, args):
    module, _, function = command.partition(':')
    sys.argv = [module, *args]
    try:
        status = getattr(importlib.import_module(module), function)()
    except SystemExit as end:
        status = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    if isinstance(status, str):
        print(status, file=sys.stderr)
        return 1
    return int(status or 0)


def _leave(status):
    """End the process as usual, but without taking down all imported modules, which takes half a second."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == '__main__':
    _main(sys.argv[1:])
