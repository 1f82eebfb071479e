# SPDX-License-Identifier: Apache-2.0
"""Log lines about a request or an operation have its ids; no line has a secret."""

import base64
import json
import re
import sqlite3
import urllib.error
import urllib.request
from pathlib import Path

import bcrypt
import fixtures
import testtools

from manila_lite import release
from manila_lite.tests import process, waiting
from manila_lite.tests.functional import base

_BACKEND = '[alpha]\ndriver = dummy\n[DEFAULT]\n'
#: The brackets of a line have the request, the project and the resource.
_LINE = re.compile(
    r'^\S+ \S+ \d+ [A-Z]+ [\w.]+ \[(?P<request>req-\S+) (?P<project>\S+) (?P<resource>\S+)\] (?P<text>.*)$'
)


class Lines(testtools.TestCase):
    """The text format, at the default level."""

    def test_lines_contain_the_ids_of_request_project_and_resource(self):
        lite = self.useFixture(process.Lite(_BACKEND))
        lite.start()
        lite.ok('POST', '/types', process.DEFAULT_TYPE)
        first, second = (
            lite.ok(
                'POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}}, token=f'u:{project}:admin'
            )['share']['id']
            for project in ('one', 'two')
        )
        for share in (first, second):
            lite.wait(f'/shares/{share}', 'share', 'available')
        lite.call('GET', '/a%0a2026-01-01%2000:00:00.000%201%20ERROR%20forged')
        lite.call('GET', '/shares/none')

        def found():
            return [line for line in map(_LINE.match, lite.log.read_text().splitlines()) if line]

        for share, project in ((first, 'one'), (second, 'two')):
            for words in ('placed on', 'share.create is done'):
                base.eventually(
                    lambda share=share, words=words: any(
                        words in line['text'] for line in found() if line['resource'] == share
                    ),
                    f'{words}: is not logged',
                )
            said = [line for line in found() if line['resource'] == share and 'GET ' not in line['text']]
            self.assertEqual({project}, {line['project'] for line in said})
            # All lines of API, scheduler and share manager about the request have its id.
            self.assertEqual(1, len({line['request'] for line in said}))
            self.assertTrue(
                any(line['text'].startswith('POST /v2/shares status: 200 length: ') for line in said)
            )
        self.assertTrue(any(line['resource'] == 'none' and 'status: 404' in line['text'] for line in found()))
        self.assertIn('/a%0A2026-01-01', lite.log.read_text())
        self.assertNotIn('\n2026-01-01', lite.log.read_text())
        self.assertNotIn('/healthcheck', lite.log.read_text())


class Files(testtools.TestCase):
    """A directory of logs, as the page on the installation has it."""

    def test_each_service_has_a_file_of_its_own_name(self):
        folder = Path(self.useFixture(fixtures.TempDir()).path) / 'logs'
        folder.mkdir(mode=0o750)
        parts = self.useFixture(process.Parts(extra=f'log_dir = {folder}\n'))
        parts.begin()
        for name, text in (('api', 'POST /v2/types'), ('scheduler', ' INFO '), ('share', ' INFO ')):
            file = folder / f'manila-{name}.log'
            base.eventually(
                lambda file=file, text=text: file.exists() and text in file.read_text(),
                lambda file=file: f'{sorted(folder.iterdir())}: {file.read_text() if file.exists() else ""}',
            )
            self.assertEqual(
                f'manila-{name} of release {release.VERSION} starts',
                file.read_text().splitlines()[0].partition('] ')[2],
            )
        self.assertEqual(
            {'manila-api.log', 'manila-scheduler.log', 'manila-share.log', 'manila-manage.log'},
            {file.name for file in folder.iterdir()},
        )
        self.assertIn('Nothing of level ERROR', parts.manage('logs', 'errors'))

    def test_log_that_cannot_be_written_is_one_line(self):
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        (folder / 'manila-scheduler.log').mkdir()
        parts = self.useFixture(process.Parts())
        parts.edit('[DEFAULT]\n', f'[DEFAULT]\nlog_dir = {folder}\n')
        ended = parts.run('scheduler')
        self.assertEqual(1, ended.wait(timeout=waiting.LIMIT))
        self.assertRegex(
            parts.log.read_text(), r'(?m)^manila_lite: the log cannot be written, see log_file, log_dir, .*$'
        )
        self.assertNotIn('Traceback', parts.log.read_text())


class Json(testtools.TestCase):
    def test_each_line_is_an_object_with_the_same_fields(self):
        lite = self.useFixture(process.Lite(f'{_BACKEND}use_json = true\ndebug = true\n'))
        lite.start()
        lite.ok('POST', '/types', process.DEFAULT_TYPE)
        lite.knobs('create_share:fail@once')
        share = lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']
        lite.wait(f'/shares/{share}', 'share', 'available')
        base.eventually(lambda: 'share.create is done' in lite.log.read_text(), 'the end is not logged')
        whole = lite.log.read_text().rpartition('\n')[0]  # the last line may not be
        lines = [json.loads(line) for line in whole.splitlines()]
        about = [
            line
            for line in lines
            if share in line['message'] and line['name'] != 'manila_lite.api.http.request_log'
        ]
        # The share was placed, failed with a traceback, and was created.
        self.assertTrue(any(line['traceback'] for line in about), about)
        self.assertTrue(any(line['name'].startswith('manila_lite.scheduler') for line in about))
        self.assertTrue(any(line['name'].startswith('manila_lite.engine') for line in about))
        (asked,) = (line for line in lines if line['message'].startswith('POST /v2/shares '))
        for line in (asked, *about):
            self.assertEqual(
                (asked['context']['request_id'], 'p', share),
                tuple(line['context'][name] for name in ('request_id', 'project_id', 'resource_uuid')),
                line,
            )


SECRETS = {
    name: f'hush-{name}-4711' for name in ('token', 'password', 'body', 'query', 'broken', 'header', 'stored')
}


class Secrets(testtools.TestCase):
    """Debug level, with callers that send secrets in every place, and a database that fails."""

    def setUp(self):
        super().setUp()
        self.lite = self.useFixture(
            process.Lite(
                f'{_BACKEND}debug = true\nauth_strategy = http_basic\n'
                '[api]\nhttp_basic_auth_user_file = {here}\nhttp_basic_accounts = alice:p:admin+member+reader\n'
                '[profiler]\nconnection_string = redis://:hush-profiler-4711@127.0.0.1/\n'
            )
        )
        users = self.lite.state / 'htpasswd'
        users.write_text(f'alice:{bcrypt.hashpw(SECRETS["password"].encode(), bcrypt.gensalt(4)).decode()}\n')
        self.lite.config.write_text(self.lite.config.read_text().replace('{here}', str(users)))
        self.lite.start()

    def send(self, method, path, body=b'', user='alice', password=SECRETS['password']):
        """Send a request with secrets; return its status."""
        word = base64.b64encode(f'{user}:{password}'.encode()).decode()
        request = urllib.request.Request(
            f'http://127.0.0.1:{self.lite.port}/v2{path}',
            method=method,
            data=body or None,
            headers={
                'Authorization': f'Basic {word}',
                'X-Auth-Token': SECRETS['token'],
                'X-Service-Token': SECRETS['token'],
                'Cookie': SECRETS['header'],
                'X-OpenStack-Manila-API-Version': '2.80',
                'Content-Type': 'application/json',
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=waiting.LIMIT) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code

    def test_secrets_are_not_logged(self):
        share = {'share': {'size': 1, 'share_proto': 'NFS', 'metadata': {'password': SECRETS['body']}}}
        self.assertEqual(200, self.send('POST', '/types', json.dumps(process.DEFAULT_TYPE).encode()))
        self.assertEqual(200, self.send('POST', '/shares', json.dumps(share).encode()))
        self.assertEqual(401, self.send('GET', '/shares', password=SECRETS['stored']))
        self.assertEqual(200, self.send('GET', f'/shares?access_key={SECRETS["query"]}'))
        self.assertEqual(400, self.send('POST', '/shares', f'{{"access_key": "{SECRETS["broken"]}'.encode()))
        with sqlite3.connect(self.lite.state / 'manila_lite.sqlite', timeout=waiting.LIMIT) as db:
            db.execute('ALTER TABLE share_metadata RENAME TO gone')
        share['share']['metadata']['password'] = SECRETS['stored']
        self.assertEqual(500, self.send('POST', '/shares', json.dumps(share).encode()))
        log = self.lite.log.read_text()
        # The error is logged with its statement and without its values.
        self.assertIn('share_metadata', log)
        self.assertIn('INSERT INTO', log)
        self.assertIn(' DEBUG ', log)
        self.assertNotIn('hush-', log)
        self.assertNotIn(base64.b64encode(b'alice:').decode().rstrip('=')[:6], log)
