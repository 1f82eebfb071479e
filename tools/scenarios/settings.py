# SPDX-License-Identifier: Apache-2.0
"""Files that the scenarios write before the service starts."""

import dataclasses
import hashlib

V4, V6 = '127.0.0.1', '::1'
#: The user is a member of the project: what it shows is what a tenant may do.
USER, PROJECT = 'demo', 'demo'
#: The administrator, and the administrator's project.
ADMIN = 'admin'
#: The user of services that use shares, at the share service.
SERVICE = 'nova'
#: Names of the service in ``clouds.yaml``, for the user and for the administrator.
CLOUD, ADMIN_CLOUD = 'manila-lite', 'manila-lite-admin'

CONFIG = """# Written by tools/quickstart. A real installation looks much the same.
[DEFAULT]
state_path = {state}/lib
log_file = {state}/manila-lite.log
host = quickstart
auth_strategy = {strategy}
default_share_type = default
enabled_share_protocols = {protocols}
enabled_share_backends = {backends}
osapi_share_listen = {v4}
osapi_share_listen_port = {port}
report_interval = 2
capability_interval = {interval}

{section}
[console]
enabled = {console}
{options}
"""

_BASIC = """[api]
http_basic_auth_user_file = {state}/htpasswd
http_basic_accounts = {user}:{project}:member+reader,{admin}:{admin}:admin+member+reader,{service}:service:service
"""
#: Begin of the configuration of a service beside.
BESIDE = """# Written by tools/quickstart. A real installation looks much the same.
[DEFAULT]
state_path = {place}
log_file = {log}
host = quickstart
auth_strategy = http_basic
{section}
[share_service]
auth_type = http_basic
endpoint = {shares}/v2
username = {user}
password = {password}
"""
COMPUTE = """[compute]
listen = {v4}
listen_port = {port}
driver = qemu
state = {sockets}
images = {state}/images
my_shared_fs_storage_ip = {v4}
reconcile_interval = 5
[compute_qemu]
power_off_timeout = 3
"""
DATAPROC = """[dataproc]
listen = {v4}
listen_port = {port}
infra = inventory
[dataproc_nodes]
inventory_file = {state}/inventory.yaml
ssh_proxy_command = nsenter --net=/run/netns/{netns} busybox nc {{host}} {{port}}
"""

#: The linux backend with share servers.
DUAL_STACK = 'dual-stack'
#: The linux backend, whose share manager does not check it for a while.
ENSURE = 'ensure'
#: The linux backend, and a compute service with a guest.
VM = 'vm'
#: The linux backend with share servers, a data-processing service, and nodes.
CLUSTER = 'cluster'
#: Two linux backends with share servers, and one fabric.
MIGRATION = 'migration'
#: The linux backend, and another that is not among its peers, to which only the host can copy shares.
ANY = 'any'
#: The linux backend, which is measured every two seconds, and schedules that are looked for each second.
SCHEDULE = 'schedule'
#: Two backends on one file system of a private Ceph cluster, one for each protocol.
CEPH = 'ceph'
#: Where the services beside keep their files, in the scenario's directory; they are deleted at the end of the scenario.
BESIDE_FOLDER = 'beside'
#: The cluster's configuration as the share service uses it, and as its administrator does, in the scenario's directory.
CEPH_CONF, CEPH_ADMIN_CONF = 'ceph.conf', 'ceph-admin.conf'
FILESYSTEM = 'cephfs'
#: The data pools of the file system: that which it always has, and a second one.
NATIVE_POOL, NFS_POOL = f'{FILESYSTEM}.data', f'{FILESYSTEM}.nfs'
#: The backend with an NFS gateway.
GATEWAY = 'gateway'
_ONE = '[storage]\ndriver = {driver}\n'
_LINUX = (
    _ONE + 'linux_pool_path = {state}/pool.img\nlinux_pool_size_gb = 10\nlinux_export_ips = {v4},{v6}\n'
    'linux_graceless = true\n'
)
#: A second backend, which has nothing to do with the changes of the first. Its NFS server is in a network of its own.
_BESIDE_IT = (
    '[other]\ndriver = linux\nlinux_pool_path = {state}/other.img\nlinux_pool_size_gb = 2\n'
    'linux_export_ips = 127.0.0.1\nlinux_netns = {prefix}-other\nlinux_graceless = true\n'
)
#: A second backend, which knows nothing of the first. Shares are copied to it while clients write.
_STRANGER = (
    '[other]\ndriver = linux\nlinux_pool_path = {state}/other.img\nlinux_pool_size_gb = 10\n'
    'linux_export_ips = 127.0.0.2\nlinux_netns = {prefix}-other\nlinux_graceless = true\n'
    'migration_keep_writable = true\nmigration_driver_continue_update_interval = 0.2\n'
    '[DEFAULT]\ndata_node_access_ips = 127.0.0.3\ndata_node_local_exports = '
    '127.0.0.1:/shares={state}/lib/storage/pool/shares, 127.0.0.2:/shares={state}/lib/other/pool/shares\n'
)
_OFTEN = '[DEFAULT]\nshare_usage_interval = 2\n[scheduler]\nschedule_interval = 1\n'
_SERVERS = (
    _ONE
    + 'driver_handles_share_servers = true\nlinux_pool_path = {state}/pool.img\nlinux_pool_size_gb = 10\n'
    'linux_graceless = true\nlinux_fabric_netns = {prefix}-fabric\n'
    '\n[standalone_network]\nfile = {state}/networks.yaml\n'
)
_PAIR = """[NAME]
driver = linux
driver_handles_share_servers = true
linux_pool_path = {state}/NAME.img
linux_pool_size_gb = 10
linux_graceless = true
linux_fabric_netns = {prefix}-fabric
linux_peers = quickstart@OTHER:{state}/manila_lite.conf
server_migration_driver_continue_update_interval = 0.2
"""
_ON_CEPH = f"""driver = cephfs
cephfs_conf_path = {{state}}/{CEPH_CONF}
cephfs_filesystem_name = {FILESYSTEM}
"""
_CEPH = (
    f'[native]\n{_ON_CEPH}cephfs_data_pools = {NATIVE_POOL}\n\n[{GATEWAY}]\n{_ON_CEPH}cephfs_data_pools = {NFS_POOL}\n'
    'cephfs_protocol_helper_type = NFS\ncephfs_ganesha_export_ips = {v4},{v6}\ncephfs_nfs_graceless = true\n'
)
#: Options in the section of a backend, by its kind.
OPTIONS = {
    'linux': _LINUX,
    ENSURE: _LINUX + _BESIDE_IT,
    VM: _LINUX,
    SCHEDULE: _LINUX + _OFTEN,
    'dummy': _ONE,
    DUAL_STACK: _SERVERS,
    CLUSTER: _SERVERS,
    MIGRATION: ''.join(
        _PAIR.replace('NAME', name).replace('OTHER', other)
        for name, other in (('alpha', 'beta'), ('beta', 'alpha'))
    )
    + '[standalone_network]\nfile = {state}/networks.yaml\n',
    ANY: _LINUX + _STRANGER,
    CEPH: _CEPH,
}

#: Networks of scenarios with share servers, in place of Neutron.
NETWORKS = """networks:
- id: red
  network_type: vlan
  segmentation_id: 10
  subnets:
  - {id: red-v4, cidr: 10.77.1.0/24, gateway: 10.77.1.1, ranges: [[10.77.1.10, 10.77.1.99]]}
- id: blue
  network_type: vlan
  segmentation_id: 20
  subnets:
  - {id: blue-v6, cidr: 'fd77:2::/64', gateway: 'fd77:2::1', ranges: [['fd77:2::10', 'fd77:2::99']]}
- id: green
  network_type: vlan
  segmentation_id: 30
  subnets:
  - {id: green-v4, cidr: 10.77.3.0/24, gateway: 10.77.3.1, ranges: [[10.77.3.10, 10.77.3.99]]}
"""

_ENTRY = """  {cloud}:
    auth_type: http_basic
    auth:
      endpoint: {url}/identity
      username: {user}
      password: {password}
    shared_file_system_endpoint_override: {url}/v2
    shared_file_system_default_microversion: '2.82'
"""


def other(state):
    """Return the network namespace of the second backend of the scenarios ENSURE and ANY."""
    return f'{prefix(state)}-other'


def prefix(state):
    """Return the prefix of the names of a scenario's network namespaces."""
    return f'mlq-{hashlib.sha256(str(state).encode()).hexdigest()[:6]}'


def backends(kind):
    """Return the names of the backends of a scenario."""
    return {
        MIGRATION: ('alpha', 'beta'),
        ENSURE: ('storage', 'other'),
        ANY: ('storage', 'other'),
        CEPH: ('native', GATEWAY),
    }.get(kind, ('storage',))


@dataclasses.dataclass(frozen=True)
class Login:
    """Settings for logins: the API's strategy, its section of the configuration, and ``clouds.yaml``."""

    strategy: str
    section: str
    clouds: str


def basic(state, url, password):
    """Return the settings for a name and a password in each request."""
    clouds = (
        _ENTRY.format(cloud=cloud, url=url, user=user, password=password)
        for cloud, user in ((CLOUD, USER), (ADMIN_CLOUD, ADMIN))
    )
    return Login('http_basic', accounts(state), f'clouds:\n{"".join(clouds)}')


def accounts(state):
    """Return the section with the users that may log in with a password, and their roles."""
    return _BASIC.format(state=state, user=USER, project=PROJECT, admin=ADMIN, service=SERVICE)


def files(state, backend, port, login, *, console=False):
    """Return the text of each file by its name; all for their owner alone."""
    names = {
        'state': state,
        'v4': V4,
        'v6': V6,
        'port': port,
        'prefix': prefix(state),
        'strategy': login.strategy,
        'section': login.section,
        'driver': 'dummy' if backend == 'dummy' else 'linux',
        'protocols': 'NFS, CEPHFS' if backend == CEPH else 'NFS',
        'interval': 600 if backend == ENSURE else 10,
        'backends': ', '.join(backends(backend)),
        'console': str(console).lower(),
    }
    return {
        'manila_lite.conf': CONFIG.format(options=OPTIONS[backend].format(**names), **names),
        'clouds.yaml': login.clouds,
        **({'networks.yaml': NETWORKS} if backend in (DUAL_STACK, MIGRATION, CLUSTER) else {}),
    }
