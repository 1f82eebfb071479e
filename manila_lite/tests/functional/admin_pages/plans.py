# SPDX-License-Identifier: Apache-2.0
"""Which pages are read on which machine, in which order; and the blocks that nobody can type, with the reason."""

from manila_lite.tests.functional.admin_pages.reader import Step

#: Pages whose every block is typed.
PAGES = (
    'install-debian',
    'installation',
    'backup',
    'moving-shares',
    'authentication',
    'wsgi',
    'scale-out',
    'upgrade',
)

_POSTGRESQL = (
    'runuser -u postgres -- pg_dump --format=custom manila_lite >/var/backups/manila_lite/postgresql.dump',
    'runuser -u postgres -- dropdb manila_lite',
)
_MARIADB = (
    'mariadb-dump --single-transaction --quick manila_lite >/var/backups/manila_lite/mariadb.sql',
    "mariadb --execute 'DROP DATABASE manila_lite'",
)
_SQLITE = (
    'apt install sqlite3',
    'rm -f /var/lib/manila_lite/manila_lite.sqlite-wal /var/lib/manila_lite/manila_lite.sqlite-shm',
)
#: With the database in a file the one service is ``manila-lite``; the test starts it there.
_SERVICES = ('systemctl start manila-share', 'systemctl start manila-scheduler manila-api')
#: Blocks that are not typed, by page and name, with the reason.
ILLUSTRATIONS = {
    (
        'authentication',
        './tools/quickstart --keystone --stay',
    ): 'functional/installation/test_quickstart.py runs it',
    (
        'moving-shares',
        'openstack share migration start first store2@other#pool',
    ): 'it needs a second machine; functional/linux/test_host_assisted.py starts such migrations',
    ('authentication', 'nova.conf'): 'functional/clients/test_nova.py starts a Nova with it',
    **{
        ('upgrade', name): 'the machine has no layout of before 0.2.0; tests/packages/in_guest.py types them'
        for name in (
            'install -m 0640 -g manila_lite /var/lib/manila_lite/secrets.key /etc/manila_lite/',
            'systemctl stop manila-lite manila-share mlite-compute-agent',
            'rm /var/lib/manila_lite/secrets.key',
        )
    },
}
_NOT_TYPED = tuple(name for _, name in ILLUSTRATIONS)

#: Commands of the page about packages that are not typed there, with the reason.
WITHOUT_PACKAGES = {
    'tools/package': 'functional/installation/test_packages.py has run it',
    'apt install python3-venv': 'a step of install-debian',
    **dict.fromkeys(
        (
            "gpg --batch --passphrase '' --quick-generate-key packages@example.org ed25519 sign never",
            'tools/package --repository /srv/manila-lite --key packages@example.org',
        ),
        'contract/test_package_tools.py makes a key and a repository',
    ),
    **dict.fromkeys(
        ('apt update', 'apt install manila-lite-api manila-lite-scheduler manila-lite-share'),
        'in_guest.py upgrades from a repository, with options: the machine reaches no other one',
    ),
    'podman load -i dist/manila-lite_VERSION.oci.tar': 'the image is loaded where there is podman',
}

#: One machine with everything: the pages that follow the installation on Debian.
ONE_HOST = (
    Step('install-debian'),
    Step('upgrade', without=_NOT_TYPED),
    Step('moving-shares', without=_NOT_TYPED),
    Step('backup', without=_MARIADB + _SQLITE),
    Step('wsgi'),
)
#: A machine that is every host of an installation on many, with a Keystone; it gets a database in a file, and leaves it.
MANY_HOSTS = (
    Step('installation', sections=('Packages', 'Storage', 'Database', 'Broker', 'Configuration', 'Start')),
    Step('authentication', sections=('keystone',), without=_NOT_TYPED),
    Step('installation', sections=('Check the installation',)),
    Step('scale-out', sections=('From one host to two',)),
    Step('authentication', sections=('http_basic', 'noauth', 'Policy')),
)
#: The same machine, from SQLite to MariaDB.
OTHER_DATABASES = (
    Step('backup', without=_POSTGRESQL + _MARIADB + _SERVICES),
    Step('scale-out', sections=('From SQLite to PostgreSQL or MariaDB',)),
    Step('backup', without=_POSTGRESQL + _SQLITE),
)
