# SPDX-License-Identifier: Apache-2.0
"""Everything moves off a backend with one command, while a client writes; drawn at the end."""

from scenarios.kept import Kept
from scenarios.service import Trouble
from scenarios.settings import ADMIN

#: Seconds between files of the client, so that the machine has time to move things.
_PAUSE = 0.02


class Evacuating(Kept):
    """The scenario, with its steps in their order."""

    AWAY = 'disabled: evacuated', 'nothing is here'
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
        self.fill()

    def move(self):
        """Show the plan, then move everything."""
        demo, left = self.demo, self.home
        with demo.step('Where would everything go? The plan changes nothing'):
            demo.manage('evacuate', 'start', left, '--writable', '--dry-run')
            (service,) = demo.get(f'/services?host={left}', user=ADMIN)
            if service['status'] != 'enabled':
                raise Trouble(f'the plan has changed something: {service}')
        with demo.step('All of it moves, two servers at a time, while the client writes'):
            self.write_on(_PAUSE)
            demo.manage('evacuate', 'start', left, '--writable', '--at-once', '2', '--every', '0.2', '--yes')
            self.written()
        with demo.step(f'{left} is empty, and gets no new shares'):
            # What has moved leaves a share server behind, whose deletion may end after the move.
            demo.wait(
                'the former share servers are deleted',
                lambda: not demo.get(f'/share-servers?host={left}', user=ADMIN),
            )
            servers = demo.show(*demo.as_operator, 'share', 'server', 'list', '--host', left)
            demo.say(f'share servers on {left}: {len(servers)}')
            newer = *demo.as_operator, '--os-share-api-version', '2.83'
            (service,) = demo.show(*newer, 'share', 'service', 'list', '--host', left)
            if service['Status'] != 'disabled':
                raise Trouble(f'{left} may get new shares: {service}')
            demo.say(f'{left} is disabled; the reason: {service["Disabled Reason"]}')
