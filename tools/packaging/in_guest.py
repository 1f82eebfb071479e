# SPDX-License-Identifier: Apache-2.0
"""The test of the packages inside of a virtual machine, one stage for each of its boots: see guest.py.

It runs on Debian's Python, without manila_lite.
"""

import json
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request
from pathlib import Path

_STAGE = Path('/test/stage')
_CONF = Path('/etc/manila_lite/manila_lite.conf')
_STATE = Path('/var/lib/manila_lite')
_UNITS = ('manila-lite', 'manila-api', 'manila-scheduler', 'manila-share', 'mlite-compute-agent', 'mlite-compute-api',
          'mlite-dataproc-api', 'mlite-dataproc-engine')
_SETTINGS = """
[DEFAULT]
state_path = /var/lib/manila_lite
host = guest
auth_strategy = noauth
default_share_type = default
enabled_share_protocols = NFS
enabled_share_backends = fast
log_dir = /var/log/manila_lite
[operations]
poll_interval = 1
[scheduler]
restart_wait = 0
[fast]
driver = linux
linux_pool_path = /srv/pool.img
linux_pool_size_gb = 3
linux_export_ips = 127.0.0.1
linux_graceless = true
"""
_TYPE = {'share_type': {'name': 'default', 'extra_specs': {'driver_handles_share_servers': 'False'}}}
#: Seconds for a state of the machine. An emulated one is slow.
_PATIENCE = 600


def run(*words, ok=True):
    """Run a command; return its output."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if ok and done.returncode:
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
        time.sleep(0.5)
    raise AssertionError(f'not within {_PATIENCE} s: {what}')


def call(method, path, body=None, port=8786, prefix='/v2'):
    """Send a request to the API; return (status, document), or (0, None) if nothing answers."""
    request = urllib.request.Request(
        f'http://127.0.0.1:{port}{prefix}{path}', method=method, data=None if body is None else json.dumps(body).encode(),
        headers={'X-Auth-Token': 'u:p:admin,member,reader', 'X-OpenStack-Manila-API-Version': '2.82',
                 'Content-Type': 'application/json'})
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
    found = until(f'{name} is created', lambda: {call('GET', f'/shares/{share}')[1]['share']['status']} - {'creating'})
    check(found == {'available'}, f'{name} is {found}')
    status, _ = call('POST', f'/shares/{share}/action', {'allow_access': {'access_type': 'ip', 'access_to': '127.0.0.1',
                                                                         'access_level': 'rw'}})
    check(status in {200, 202}, f'access is allowed ({status})')
    until('the rule is active', lambda: call('GET', f'/share-access-rules?share_id={share}')[1]['access_list'][0]['state']
          == 'active')
    return call('GET', f'/shares/{share}/export_locations')[1]['export_locations'][0]['path']


def mount(export):
    """Mount a share by the kernel's NFS client at /mnt."""
    until(f'{export} can be mounted', lambda: not run('mount', '-t', 'nfs', '-o', 'vers=4.1,soft', export, '/mnt', ok=False))


def pid(unit):
    """Return the main process of a unit."""
    return run('systemctl', 'show', '--property=MainPID', '--value', unit)


def is_active(unit):
    """Say whether a unit runs."""
    return run('systemctl', 'is-active', unit, ok=False) == 'active'


def mode(path):
    """Return owner, group and mode of a file."""
    return run('stat', '--format=%U:%G:%a', path)


def installed():
    """First boot: install, configure, start, create a share, and reboot."""
    out = run('dpkg', '--install', *Path('/test/old').glob('*.deb'))
    check('Nothing was started' in out and 'README.Debian' in out, 'the installation names the next step')
    for unit in _UNITS:
        check(run('systemctl', 'is-enabled', unit, ok=False) == 'disabled' and not is_active(unit),
              f'{unit} is neither enabled nor started')
    check(not list(_STATE.iterdir()), 'the installation has made no database')
    run('systemd-analyze', 'verify', *(f'/lib/systemd/system/{unit}.service' for unit in _UNITS))
    print('ok: systemd finds no mistake in the units')
    _CONF.write_text(_SETTINGS)
    check(mode(_CONF) == 'root:manila_lite:640', 'the configuration is for root and the group')
    check(mode(_STATE) == 'manila_lite:manila_lite:700', 'the state is for the user of the services')
    run('systemctl', 'disable', '--now', 'nfs-ganesha')
    run('runuser', '-u', 'manila_lite', '--', 'manila-manage', 'db', 'sync')
    check(mode(_STATE / 'secrets.key') == 'manila_lite:manila_lite:600', 'db sync has made the key')
    run('systemctl', 'enable', '--now', 'manila-lite')
    serving()
    call('POST', '/types', _TYPE)
    export = create('first')
    mount(export)
    Path('/mnt/file').write_text('written before the reboot')
    run('umount', '/mnt')
    Path('/test/export').write_text(export)
    _STAGE.write_text('rebooted')
    run('systemctl', 'reboot')


def rebooted():
    """Second boot: the share is served again. Then upgrade, run the services one by one, and purge."""
    serving()
    check(is_active('manila-lite'), 'manila-lite has started by itself')
    export = Path('/test/export').read_text()
    mount(export)
    check(Path('/mnt/file').read_text() == 'written before the reboot', 'the share is served again, with its data')
    upgraded()
    separate(export)
    siblings()
    run('umount', '/mnt')
    purged()


def upgraded():
    """Upgrade while the service runs, and restart it."""
    before, settings = pid('manila-lite'), _CONF.read_text()
    out = run('dpkg', '--install', '--force-confold', *Path('/test/new').glob('*.deb'))
    check('manila-manage db sync' in out, 'the upgrade names the steps')
    check(pid('manila-lite') == before and is_active('manila-lite'), 'the upgrade has restarted nothing')
    check(_CONF.read_text() == settings, 'the changed configuration is kept')
    check(Path(f'{_CONF}.dpkg-dist').exists(), 'the new one is beside it')
    check(mode(_CONF) == 'root:manila_lite:640', 'owner and mode are kept')
    check(run('systemctl', 'is-enabled', 'manila-lite') == 'enabled', 'the unit is still enabled')
    servers = run('pgrep', 'ganesha')
    run('systemctl', 'restart', 'manila-lite')
    serving()
    check(run('pgrep', 'ganesha') == servers, 'the NFS server has survived the restart')
    check(Path('/mnt/file').read_text() == 'written before the reboot', 'the client has noticed nothing')


def separate(export):
    """The services one by one, those without root in the sandbox of their units."""
    run('systemctl', 'disable', '--now', 'manila-lite')
    run('systemctl', 'enable', '--now', 'manila-api', 'manila-scheduler', 'manila-share')
    serving()
    check(create('second') != export, 'the separate services have created another share')
    for unit in ('manila-api', 'manila-scheduler', 'manila-share'):
        check(is_active(unit), f'{unit} is active')
    check(run('ps', '-o', 'user=', '-p', pid('manila-api')).startswith('manila_'), 'the API does not run as root')
    run('systemctl', 'reload', 'manila-api')
    serving()
    run('logrotate', '--force', '/etc/logrotate.d/manila_lite')
    for name in ('manila-api', 'manila-share'):
        check(Path(f'/var/log/manila_lite/{name}.log.1').exists(), f'the log of {name} is rotated')


def siblings():
    """The APIs of the siblings start in the sandbox of their units."""
    for name, port in (('compute', 8774), ('dataproc', 8386)):
        with Path(f'/etc/manila_lite/{name}.conf').open('a') as file:
            file.write('\n[DEFAULT]\nauth_strategy = noauth\n[share_service]\nauth_type = none\n'
                       'endpoint = http://127.0.0.1:8786/v2\n')
        run('systemctl', 'start', f'mlite-{name}-api')
        serving(port)
        check(is_active(f'mlite-{name}-api'), f'mlite-{name}-api is active')


def purged():
    """Purge stops the services, and keeps the state."""
    names = [path.name.partition('_')[0] for path in Path('/test/new').glob('*.deb')]
    out = run('dpkg', '--purge', *names)
    check('/var/lib/manila_lite is not empty, and is kept' in out, 'purging names what is kept')
    for unit in _UNITS:
        check(not is_active(unit) and not Path(f'/lib/systemd/system/{unit}.service').exists(), f'{unit} is gone')
    check((_STATE / 'secrets.key').exists() and Path('/srv/pool.img').exists(), 'the key and the pool are kept')
    for path in ('/etc/manila_lite', '/var/log/manila_lite', '/usr/lib/manila-lite', '/usr/bin/manila-manage'):
        check(not Path(path).exists(), f'{path} is gone')


def main():
    """Run the stage of this boot; the machine is powered off after the last one."""
    stage = _STAGE.read_text() if _STAGE.exists() else 'installed'
    print(f'boot: {stage}')
    try:
        {'installed': installed, 'rebooted': rebooted}[stage]()
    except Exception:
        traceback.print_exc(file=sys.stdout)
        print(run('journalctl', '--no-pager', '--lines=30', '--boot', ok=False))
        print(run('sh', '-c', 'tail --lines=20 /var/log/manila_lite/*.log', ok=False))
        print('ENDED badly')
    else:
        if stage == 'installed':
            return      # the machine reboots
        print('ENDED well')
    run('systemctl', 'poweroff')


if __name__ == '__main__':
    main()
