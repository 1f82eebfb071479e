# SPDX-License-Identifier: Apache-2.0
"""Everything moves off a backend with one command, while a client writes; drawn at the end."""

from scenarios.kept import Kept
from scenarios.service import Trouble
from scenarios.settings import ADMIN

#: Seconds between files of the client, so that the machine has time to move things.
_PAUSE = 0.02


class Evacuating(Kept):
    """The scenario, with its steps in their order."""

    NETWORKS = {'office': ('docs', 'photos'), 'studio': ('music',), 'archive': ('films',)}

    def make(self):
        """Make shares in three share networks, and so on three share servers."""
        demo = self.demo
        with demo.step('Four shares on three share servers; a second backend stands by'):
            self.prepare()
            hints = {}
            for network, names in self.NETWORKS.items():
                for name in names:
                    self.shares[name] = demo.share(
                        name=name, size=self.size, share_network_id=self.networks[network], **hints
                    )
                    hints = {'scheduler_hints': {'same_host': self.shares[self.names[0]]}}
            self.find()
            if (count := len(set(self.servers.values()))) != len(self.NETWORKS):
                raise Trouble(f'share servers: {count}')

    def grant(self, name):
        """Let the client mount the share. Asks the API: the openstack client takes seconds for each command."""
        demo, share = self.demo, self.shares[name]
        rule = demo.ask(
            'POST',
            f'/shares/{share}/action',
            {
                'allow_access': {
                    'access_type': 'ip',
                    'access_to': self.wire.friend.address,
                    'access_level': 'rw',
                }
            },
        )['id']
        demo.wait(
            'the client may mount the share',
            lambda: demo.api('GET', f'/share-access-rules/{rule}')[1]['access']['state'] == 'active',
        )

    def move(self):
        """Show the plan, then move everything."""
        demo, left = self.demo, self.home
        with demo.step('Where would everything go? The plan changes nothing'):
            demo.manage('evacuate', 'start', left, '--writable', '--dry-run')
            (service,) = demo.api('GET', f'/services?host={left}', user=ADMIN)[1]['services']
            if service['status'] != 'enabled':
                raise Trouble(f'the plan has changed something: {service}')
        with demo.step('All of it moves, two servers at a time, while the client writes'):
            self.write_on(_PAUSE)
            demo.manage('evacuate', 'start', left, '--writable', '--at-once', '2', '--every', '0.2', '--yes')
            self.written()
        self._must_be_empty(left)

    def _must_be_empty(self, host):
        """Show that the backend has no share servers, and gets none."""
        demo = self.demo
        with demo.step(f'{host} is empty, and gets no new shares'):
            # What has moved leaves a share server behind, whose deletion may end after the move.
            demo.wait(
                'the former share servers are deleted',
                lambda: not demo.api('GET', f'/share-servers?host={host}', user=ADMIN)[1]['share_servers'],
            )
            demo.say(
                f'share servers on {host}: {len(demo.show(*demo.as_operator, "share", "server", "list", "--host", host))}'
            )
            (service,) = demo.show(
                *demo.as_operator,
                '--os-share-api-version',
                '2.83',
                'share',
                'service',
                'list',
                '--host',
                host,
            )
            if service['Status'] != 'disabled':
                raise Trouble(f'{host} may get new shares: {service}')
            demo.say(f'{host} is disabled; the reason: {service["Disabled Reason"]}')

    def again(self, away=()):
        """Check that nothing is lost, and draw the backend that is empty."""
        super().again(away or ['disabled: evacuated', 'nothing is here'])
