# SPDX-License-Identifier: Apache-2.0
"""The test of the packages inside of a machine with systemd, in stages: in_guest.py installed|rebooted|purged

It runs on Debian's Python, without manila_lite. tests/functional/installation/test_packages.py runs it in namespaces of
the running kernel, and mounts the shares from outside.
"""

import json
import shutil
import subprocess
import sys
import threading
import time
import traceback
import urllib.error
import urllib.request
from pathlib import Path

_EXPORT = Path('/test/export')
#: doc/source/admin/packages.rst, whose commands are typed here.
_PAGE = Path('/test/page')
#: The disk for shares.
_DISK = Path('/dev/disk/by-id/pool')
_CONF = Path('/etc/manila_lite/manila_lite.conf')
_STATE, _LOGS, _KEY = (
    Path('/var/lib/manila_lite'),
    Path('/var/log/manila_lite'),
    Path('/etc/manila_lite/secrets.key'),
)
_MODES = ('root:root:700', 'root:manila_lite:750')
_REPOSITORY = Path('/test/repository')
_SOURCE = Path('/etc/apt/sources.list.d/manila-lite.sources')
_README = Path('/usr/share/doc/manila-lite-common/README.Debian')
_SQLITE = 'sqlite:////var/lib/manila_lite/manila_lite.sqlite'
_POSTGRESQL = 'postgresql+psycopg2://manila_lite:secret@127.0.0.1/'
_UNITS = (
    'manila-lite',
    'manila-api',
    'manila-scheduler',
    'manila-share',
    'mlite-compute-agent',
    'mlite-compute-api',
    'mlite-dataproc-api',
    'mlite-dataproc-engine',
)
_SETTINGS = """
[DEFAULT]
state_path = /var/lib/manila_lite
host = guest
auth_strategy = noauth
default_share_type = default
enabled_share_protocols = NFS
enabled_share_backends = fast
log_dir = /var/log/manila_lite
[secrets]
key_file = /etc/manila_lite/secrets.key
[database]
connection = {database}
[operations]
poll_interval = 1
[scheduler]
restart_wait = 0
[fast]
driver = linux
linux_pool_path = {disk}
linux_export_ips = 127.0.0.1
linux_graceless = true
"""
_TYPE = {'share_type': {'name': 'default', 'extra_specs': {'driver_handles_share_servers': 'False'}}}
#: Seconds for a state of the machine.
_PATIENCE = 200


def run(*words, folder='/', statuses=(0,)):
    """Run a command, which must end with one of the statuses, if there are any; return its output."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if statuses and done.returncode not in statuses:
        raise AssertionError(f'{words}: exit status {done.returncode}\n{done.stdout}')
    return done.stdout.strip()


def check(truth, text):
    """Report a fact that must be true."""
    if not truth:
        raise AssertionError(f'not true: {text}')
    print(f'ok: {text}')


def until(what, found):
    """Wait until ``found`` returns a true value; return it."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if seen := found():
            return seen
        time.sleep(0.5)  # sleeps: between two looks
    raise AssertionError(f'not within {_PATIENCE} s: {what}')


def call(method, path, body=None, port=8786, prefix='/v2'):
    """Send a request to the API; return (status, document), or (0, None) if nothing answers."""
    request = urllib.request.Request(
        f'http://127.0.0.1:{port}{prefix}{path}',
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            'X-Auth-Token': 'u:p:admin,member,reader',
            'X-OpenStack-Manila-API-Version': '2.82',
            'Content-Type': 'application/json',
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text[:1] == b'{' else None
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()
    except OSError:
        return 0, None


def serving(port=8786):
    """Wait until an API answers."""
    until(f'an answer on port {port}', lambda: call('GET', '/healthcheck', port=port, prefix='')[0] == 200)


def create(name):
    """Create a share with access for this machine; return where to mount it."""
    until('a pool', lambda: call('GET', '/scheduler-stats/pools')[1]['pools'])
    status, made = call('POST', '/shares', {'share': {'name': name, 'share_proto': 'NFS', 'size': 1}})
    check(status in {200, 202}, f'a share is created ({status})')
    share = made['share']['id']
    found = until(
        f'{name} is created', lambda: {call('GET', f'/shares/{share}')[1]['share']['status']} - {'creating'}
    )
    check(found == {'available'}, f'{name} is {found}')
    status, _ = call(
        'POST',
        f'/shares/{share}/action',
        {'allow_access': {'access_type': 'ip', 'access_to': '127.0.0.1', 'access_level': 'rw'}},
    )
    check(status in {200, 202}, f'access is allowed ({status})')
    until(
        'the rule is active',
        lambda: (
            call('GET', f'/share-access-rules?share_id={share}')[1]['access_list'][0]['state'] == 'active'
        ),
    )
    return call('GET', f'/shares/{share}/export_locations')[1]['export_locations'][0]['path']


def pid(unit):
    """Return the main process of a unit."""
    return run('systemctl', 'show', '--property=MainPID', '--value', unit)


def is_active(unit):
    """Say whether a unit runs."""
    return run('systemctl', 'is-active', unit, statuses=()) == 'active'


def mode(path):
    """Return owner, group and mode of a file."""
    return run('stat', '--format=%U:%G:%a', path)


def typed(begin, folder='/', statuses=(0,)):
    """Type the command of the page that begins so, as root in a shell; return its output."""
    command = next(
        line.strip()[2:] for line in _PAGE.read_text().splitlines() if line.strip().startswith(f'# {begin}')
    )
    return run('bash', '-c', command, folder=folder, statuses=statuses)


def limited(*units):
    """Check that systemd, and the kernel for all processes of these units, know the limits that the units have."""
    for unit in units:
        text = Path(f'/lib/systemd/system/{unit}.service').read_text()
        wanted = {
            word.lower()
            for line in text.splitlines()
            if line.startswith('CapabilityBoundingSet=')
            for word in line.partition('=')[2].split()
        }
        shown = run('systemctl', 'show', '--property=CapabilityBoundingSet', '--value', unit).split()
        check(wanted == {*shown} and wanted, f'{unit} is limited to {len(wanted)} capabilities')
        group = run('systemctl', 'show', '--property=ControlGroup', '--value', unit)
        for process in Path(f'/sys/fs/cgroup{group}/cgroup.procs').read_text().split():
            status = dict(
                line.split(':\t', 1) for line in Path(f'/proc/{process}/status').read_text().splitlines()
            )
            has = int(status['CapBnd'], 16).bit_count()
            check(
                has == len(wanted) and status['NoNewPrivs'] == '1',
                f'{status["Name"]} of {unit} has {has} of them',
            )


def install(folder):
    """Install the packages of a folder; return what was said."""
    return run(
        'apt-get',
        'install',
        '--yes',
        '-o',
        'Dpkg::Options::=--force-confold',
        *Path('/test', folder).glob('*.deb'),
    )


def installed():
    """First boot: install, configure, start, and create a share."""
    Path('/etc/apt/apt.conf.d/yes').write_text('APT::Get::Assume-Yes "true";\n')
    out = typed('apt install ./manila-lite-{common', '/test/old')
    typed('apt install ./manila-lite{-common', '/test/old')
    install('old')
    check('Nothing was started' in out and 'README.Debian' in out, 'the installation names the next step')
    packaged = run('dpkg-query', '--show', '--showformat', '${Version}', 'manila-lite-common')
    said = run('manila-manage', '--version')
    check(said.split()[0] == packaged.replace('~', '.'), 'the commands say the version of the package')
    check('(commit ' in said, f'and the commit that it was built from: {said}')
    for unit in _UNITS:
        check(
            run('systemctl', 'is-enabled', unit, statuses=()) == 'disabled' and not is_active(unit),
            f'{unit} is neither enabled nor started',
        )
    check(not list(_STATE.iterdir()), 'the installation has made no database')
    run('runuser', '-u', 'manila_lite', '--', 'manila-manage', 'config', 'list')
    kept = [mode(path) for path in Path('/usr/lib/manila-lite/cache').iterdir()]
    check(
        kept == ['root:root:644'],
        f'the commands read the list of entry points that the installation made: {kept}',
    )
    units = [
        *(f'/lib/systemd/system/{unit}.service' for unit in _UNITS),
        '/lib/systemd/system/manila-api.socket',
    ]
    run('systemd-analyze', 'verify', *units)
    print('ok: systemd finds no mistake in the units')
    run('mkfs.btrfs', '--quiet', _DISK)
    _CONF.write_text(_SETTINGS.format(disk=_DISK, database=_SQLITE))
    check(mode(_CONF) == 'root:manila_lite:640', 'the configuration is for root and the group')
    check((mode(_STATE), mode(_LOGS)) == _MODES, 'state and logs are in directories of root')
    typed('systemctl disable --now nfs-ganesha')
    typed('manila-manage db sync')
    check(mode(_KEY) == 'root:manila_lite:640', 'db sync has made the key')
    run('systemctl', 'enable', '--now', 'manila-lite')
    serving()
    call('POST', '/types', _TYPE)
    _EXPORT.write_text(create('first'))


def rebooted():
    """Second boot: the share is served again. Then upgrade, and run the services one by one."""
    serving()
    check(is_active('manila-lite'), 'manila-lite has started by itself')
    limited('manila-lite')
    upgraded()
    old_layout()
    _EXPORT.write_text(separate(_EXPORT.read_text()))
    siblings()


def upgrade():
    """Install the newest packages of the repository, as the page says; return what was said."""
    text = _PAGE.read_text().partition(f':caption: {_SOURCE}')[2].partition('.. code-block')[0]
    source = '\n'.join(line.strip() for line in text.strip().splitlines())
    address = 'http://packages.example.org/manila-lite'
    check(address in source, 'the page says where packages come from')
    _SOURCE.write_text(source.replace(address, f'file://{_REPOSITORY}') + '\n')
    typed('install -D -m 0644 manila-lite.asc', _REPOSITORY)
    # This machine reaches no other source.
    run(
        'apt-get',
        'update',
        '-o',
        f'Dir::Etc::sourcelist={_SOURCE}',
        '-o',
        'Dir::Etc::sourceparts=-',
        '-o',
        'APT::Get::List-Cleanup=0',
    )
    check('+next' in run('apt-cache', 'policy', 'manila-lite-common'), 'the repository has a newer package')
    names = run('dpkg-query', '--show', '--showformat', '${Package}\n', 'manila-lite*').split()
    return run(
        'apt-get', 'install', '--yes', '--only-upgrade', '-o', 'Dpkg::Options::=--force-confold', *names
    )


def upgraded():
    """Upgrade while the service runs, and restart it."""
    before, settings = pid('manila-lite'), _CONF.read_text()
    compute, dataproc = (_CONF.with_name(f'{name}.conf') for name in ('compute', 'dataproc'))
    compute.chmod(0o600)  # the administrator's choice
    out = upgrade()
    check('manila-manage db sync' in out, 'the upgrade names the steps')
    check(pid('manila-lite') == before and is_active('manila-lite'), 'the upgrade has restarted nothing')
    check(_CONF.read_text() == settings, 'the changed configuration is kept')
    check(Path(f'{_CONF}.dpkg-dist').exists(), 'the new one is beside it')
    check(
        'A line of the next release' in dataproc.read_text(),
        'a configuration that nobody changed is the new one',
    )
    check(
        mode(_CONF) == 'root:manila_lite:640' and mode(compute) == 'root:manila_lite:600',
        'owner and mode are kept',
    )
    check(run('systemctl', 'is-enabled', 'manila-lite') == 'enabled', 'the unit is still enabled')
    servers = run('pgrep', 'ganesha')
    run('systemctl', 'restart', 'manila-lite')
    serving()
    check(run('pgrep', 'ganesha') == servers, 'the NFS server has survived the restart')


def old_layout():
    """A host as before 0.2, with state and logs of the API's user: refused, until the steps of README.Debian are done."""
    run('systemctl', 'stop', 'manila-lite')
    settings, before = _CONF.read_text(), _STATE / 'secrets.key'
    shutil.move(_KEY, before)
    before.chmod(0o600)
    _CONF.write_text(settings.replace(f'key_file = {_KEY}\n', ''))
    for path in (_STATE, _LOGS, *_STATE.glob('*.*')):
        shutil.chown(path, 'manila_lite', 'manila_lite')
    (_LOGS / 'manila-api.log').unlink()
    refusal = f'state_path: {_STATE} belongs to the user manila_lite'
    check(
        refusal
        in ' '.join(
            run('manila-status', '--config-file', _CONF, 'upgrade', 'check', '--json', statuses=()).split()
        ),
        'the check before an upgrade finds the old layout',
    )
    run('systemctl', 'start', 'manila-lite')
    until(
        'the refusal is in the journal', lambda: refusal in run('journalctl', '--unit=manila-lite', '--boot')
    )
    run('systemctl', 'stop', 'manila-lite')
    _CONF.write_text(settings)
    text = _README.read_text().partition('Directories of root\n---')[2].partition('Removal\n---')[0]
    commands = [line.strip() for line in text.splitlines() if line.startswith('     ')]
    check(len(commands) > 5, 'README.Debian says the way from it')
    for command in commands:
        run('sh', '-c', command, statuses=() if 'systemctl' in command else (0,))
    check((mode(_STATE), mode(_LOGS)) == _MODES, 'state and logs are of root now')
    check(mode(_LOGS / 'manila-api.log') == 'manila_lite:manila_lite:640', 'the API has its log')
    run('systemctl', 'start', 'manila-lite')
    serving()


def new_database(name):
    """Make a database of PostgreSQL, for services of several users; return its URL."""
    run('runuser', '-u', 'postgres', '--', 'createdb', '--owner', 'manila_lite', name)
    return f'{_POSTGRESQL}{name}'


def separate(export):
    """The services one by one, those without root in the sandbox of their units, on another database."""
    run('systemctl', 'disable', '--now', 'manila-lite')
    run('runuser', '-u', 'postgres', '--', 'psql', '--command', "CREATE USER manila_lite PASSWORD 'secret'")
    settings, new = _CONF.read_text(), _CONF.with_name('new.conf')
    new.write_text(settings.replace(_SQLITE, new_database('manila_lite')))
    run('manila-manage', 'db', 'copy', '--to-config', new)
    _CONF.write_text(new.read_text())
    new.unlink()
    typed('systemctl enable --now manila-api')
    serving()
    second = create('second')
    check(second != export, 'the separate services have created another share')
    limited('manila-share')
    for unit in ('manila-api', 'manila-scheduler', 'manila-share'):
        check(is_active(unit), f'{unit} is active')
    check(
        run('ps', '-o', 'user=', '-p', pid('manila-api')).startswith('manila_'),
        'the API does not run as root',
    )
    run('systemctl', 'reload', 'manila-api')
    serving()
    typed('manila-status upgrade check', statuses=(0, 1))  # 1: look at the warnings
    typed('manila-manage db sync')
    typed('systemctl restart manila-api')
    serving()
    run('logrotate', '--force', '/etc/logrotate.d/manila_lite')
    for name in ('manila-api', 'manila-share'):
        check(Path(f'/var/log/manila_lite/{name}.log.1').exists(), f'the log of {name} is rotated')
    log = _LOGS / 'manila-api.log'
    check(mode(log) == 'manila_lite:manila_lite:640', 'the new log belongs to the API')
    call('GET', '/shares')
    until('the API writes to it', lambda: 'GET /v2/shares' in log.read_text())
    with_socket()
    return second


def with_socket():
    """The address of the API is systemd's: restarts refuse no connection."""
    typed('systemctl stop manila-api')
    typed('systemctl enable --now manila-api.socket')
    typed('systemctl start manila-api')
    check(is_active('manila-api.socket'), 'systemd has the address of the API')
    serving()
    seen, over = [], threading.Event()

    def ask():
        while not over.is_set():
            seen.append(call('GET', '/types')[0])

    clients = [threading.Thread(target=ask) for _ in range(4)]
    for client in clients:
        client.start()
    for _ in range(3):
        run('systemctl', 'restart', 'manila-api')
        serving()
    over.set()
    for client in clients:
        client.join()
    refused = len(seen) - seen.count(200)
    check(
        len(seen) > len(clients) and not refused,
        f'of {len(seen)} requests during three restarts, {refused} had no answer',
    )


def siblings():
    """The APIs of the siblings, and the compute agent, start in the sandbox of their units."""
    for name, port, database in (('compute', 8774, new_database('mlite_compute')), ('dataproc', 8386, '')):
        settings = _CONF.with_name(f'{name}.conf')
        settings.chmod(0o640)
        with settings.open('a') as file:
            file.write(
                '\n[DEFAULT]\nauth_strategy = noauth\n[share_service]\nauth_type = none\n'
                'endpoint = http://127.0.0.1:8786/v2\n'
                + (f'[database]\nconnection = {database}\n' if database else '')
            )
        run('systemctl', 'start', f'mlite-{name}-api')
        serving(port)
        check(is_active(f'mlite-{name}-api'), f'mlite-{name}-api is active')
    with _CONF.with_name('compute.conf').open('a') as file:
        file.write('\n[compute]\ndriver = fake\nmy_shared_fs_storage_ip = 127.0.0.1\n')
    run('systemctl', 'start', 'mlite-compute-agent')
    body = {'server': {'name': 'one', 'kernel': 'vmlinuz', 'memory': 64}}
    made = until(
        'the agent is up, and a server is created',
        lambda: (
            asked[1]
            if (asked := call('POST', '/servers', body, port=8774, prefix='/v2.1'))[0] in {200, 202}
            else None
        ),
    )
    path = f'/servers/{made["server"]["id"]}'
    until(
        'the agent has started it',
        lambda: call('GET', path, port=8774, prefix='/v2.1')[1]['server']['status'] == 'ACTIVE',
    )
    limited('mlite-compute-agent')


def purged():
    """Purge stops the services, and keeps the state."""
    passwords = _CONF.with_name('htpasswd')
    passwords.write_text('of the administrator')
    names = [path.name.partition('_')[0] for path in Path('/test/new').glob('*.deb')]
    out = run('dpkg', '--purge', *names)
    for path in (_STATE, _CONF.parent):
        check(f'{path} is not empty, and is kept' in out, f'purging says that {path} is kept')
    for unit in _UNITS:
        check(
            not is_active(unit) and not Path(f'/lib/systemd/system/{unit}.service').exists(),
            f'{unit} is gone',
        )
    check(not is_active('manila-api.socket'), 'the socket is gone')
    check(
        {*_CONF.parent.iterdir()} == {passwords, _KEY},
        'of the configuration only the password file and the key are kept',
    )
    left = run('find', '/usr', '/lib/systemd', '/var/log', '/etc', '-name', '*manila*').split()
    kept = {str(_CONF.parent), str(_SOURCE), '/etc/apt/keyrings/manila-lite.asc'}
    check({*left} == kept, f'nothing else is left but the source of packages and its key: {left}')
    caches = [str(path) for path in Path('/root').glob('.cache/*')]
    check(not caches, f'nothing was left in the home directory of root: {caches}')


def main():
    """Run the stage of a boot; the exit status is 0 if all of it worked."""
    stage = sys.argv[1]
    print(f'boot: {stage}')
    try:
        {'installed': installed, 'rebooted': rebooted, 'purged': purged}[stage]()
    except Exception:
        traceback.print_exc(file=sys.stdout)
        print(run('journalctl', '--no-pager', '--lines=30', '--boot', statuses=()))
        print(run('sh', '-c', 'tail --lines=20 /var/log/manila_lite/*.log', statuses=()))
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
