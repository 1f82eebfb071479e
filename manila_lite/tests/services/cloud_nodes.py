# SPDX-License-Identifier: Apache-2.0
"""Nodes that are servers of the compute service: a guest that obeys its metadata, as cloud-init would.

It has an NFS client only after ``apt-get install nfs-common``.
Its user is not root, and becomes root by ``sudo -n --``.
"""

from pathlib import Path

from manila_lite.tests.services import initramfs, nodes

USER = 'admin'
CMDLINE = 'console=ttyS0 quiet panic=-1 no_timer_check random.trust_cpu=on'
#: Makes the metadata the node's name, key, user and address.
_TOLD = r"""mkdir /var/cache
mv /usr/sbin/mount.nfs /var/cache/mount.nfs
rm /sbin/mount.nfs /sbin/mount.nfs4
ip link set eth0 up
ip address add 169.254.0.15/16 dev eth0
told() { wget -q -O /tmp/$1 http://169.254.169.254/openstack/latest/$1; }
until told user_data && told network_data.json; do sleep 0.2; done
value() { sed -n 's/^ *"'$1'": "\(.*\)",\{0,1\}$/\1/p' /tmp/user_data; }
name=$(value hostname)
[ "$(head -n 1 /tmp/user_data)" = '#cloud-config' ] || name=strange
hostname $name
printf '%b' "$(value ed25519_private)" > /etc/ssh/host_key
sed -n 's/^ *"\(ssh-ed25519 [^"]*\)".*/\1/p' /tmp/user_data > /etc/ssh/authorized_keys
chmod 600 /etc/ssh/host_key
echo "$(value name):x:1000:1000::/tmp:/bin/sh" >> /etc/passwd
first() { sed 's/.*"'$1'":"//; s/".*//' /tmp/network_data.json; }
for card in eth0 eth1; do
  [ "$(cat /sys/class/net/$card/address)" = "$(first ethernet_mac_address)" ] || continue
  ifconfig $card "$(sed 's/"netmask".*//; s/.*"ip_address":"//; s/".*//' /tmp/network_data.json)" \
    netmask "$(sed 's/.*"netmask":"//; s/".*//' /tmp/network_data.json)" up
done
"""
_APT = """#!/bin/sh
echo "$@" >> /var/cache/asked
case " $* " in
  *' update '*) ;;
  *' install '*' nfs-common '*)
    cp /var/cache/mount.nfs /usr/sbin/mount.nfs
    ln -s /usr/sbin/mount.nfs /sbin/mount.nfs
    ln -s /usr/sbin/mount.nfs /sbin/mount.nfs4;;
  *) exit 100;;
esac
"""
_SUDO = """#!/bin/sh
[ "$1 $2" = '-n --' ] || exit 1
shift 2
exec su -s /bin/sh -c 'exec "$@"' -- root sudo "$@"
"""


def make(images):
    """Make ``kernel`` and ``initrd`` of such a node in the directory."""
    accounts = nodes.ACCOUNTS.replace('root:x:', 'root::')
    plain = {
        'etc/ssh/sshd_config': nodes.SSHD,
        'etc/passwd': accounts,
        'etc/group': f'root:x:0:\n{USER}:x:1000:\n',
        'etc/fstab': nodes.FSTAB,
        'etc/netconfig': Path('/etc/netconfig').read_text(),
        'etc/os-release': 'ID=debian\n',
    }
    programs = {'usr/bin/apt-get': _APT, 'usr/bin/sudo': _SUDO}
    kernel, initrd = initramfs.build(
        nodes.MODULES,
        nodes.BEGIN + _TOLD + nodes.END,
        {
            **initramfs.with_libraries(*nodes.PROGRAMS),
            **{path: (0o100644, text.encode()) for path, text in plain.items()},
            **{path: (0o100755, text.encode()) for path, text in programs.items()},
            # setuid: of its commands only su keeps root's rights.
            'bin/busybox': (0o104755, Path(initramfs.program('busybox')).read_bytes()),
        },
    )
    (images / 'kernel').write_bytes(kernel.read_bytes())
    (images / 'initrd').write_bytes(initrd)
