# SPDX-License-Identifier: Apache-2.0
"""Prometheus on loopback, which scrapes some ports and evaluates rules every few seconds."""

import json
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import Any

import yaml

from manila_lite.tests import waiting
from manila_lite.tests.services.daemon import Daemon, program, serves

#: Seconds between two scrapes, each of which may take as long, and between two evaluations of the rules.
_SCRAPE, _EVALUATE = 3, 1


class Prometheus(Daemon):
    """A server with the metrics of ``targets``, ports of the loopback, and these alerting rules."""

    USER = 'prometheus'

    def __init__(self, targets: Sequence[int], rules: Sequence[dict[str, Any]]):
        super().__init__()
        self._targets = targets
        self._rules = rules

    def need(self) -> None:
        """Find ``prometheus``."""
        self._program = program('prometheus')

    def prepare(self) -> None:
        """Write configuration and rules."""
        rules = self.write(
            'rules.yaml', yaml.safe_dump({'groups': [{'name': 'tests', 'rules': list(self._rules)}]})
        )
        self._config = self.write(
            'prometheus.yaml',
            yaml.safe_dump(
                {
                    'global': {
                        'scrape_interval': f'{_SCRAPE}s',
                        'scrape_timeout': f'{_SCRAPE}s',
                        'evaluation_interval': f'{_EVALUATE}s',
                    },
                    'rule_files': [str(rules)],
                    'scrape_configs': [
                        {
                            'job_name': 'lite',
                            'static_configs': [{'targets': [f'127.0.0.1:{port}' for port in self._targets]}],
                        }
                    ],
                }
            ),
        )

    def command(self) -> list[str]:
        """Return the command line."""
        return [
            self._program,
            f'--config.file={self._config}',
            f'--storage.tsdb.path={self.home}/data',
            '--log.level=warn',
            f'--web.listen-address=127.0.0.1:{self.ports["port"]}',
        ]

    def answers(self) -> bool:
        """Say whether the server is ready."""
        return serves(self.ports['port'], '/-/ready')

    def ask(self, path: str, **query: str) -> Any:
        """Return the data of an answer of the API.

        :raises HTTPError: it was refused.
        """
        url = f'http://127.0.0.1:{self.ports["port"]}/api/v1/{path}?{urllib.parse.urlencode(query)}'
        with urllib.request.urlopen(url, timeout=waiting.LIMIT) as answer:
            return json.load(answer)['data']

    def query(self, expression: str) -> list[Any]:
        """Return the series of an expression, now."""
        return self.ask('query', query=expression)['result']

    def firing(self) -> set[tuple[str, str]]:
        """Return the alerts that fire: their names, and the values of their label ``binary``."""
        return {
            (alert['labels']['alertname'], alert['labels'].get('binary', ''))
            for alert in self.ask('alerts')['alerts']
            if alert['state'] == 'firing'
        }
