# SPDX-License-Identifier: Apache-2.0
"""The files of the console over HTTP: types, policy, caches, and nothing that is not one of them."""

import gzip
import re

import webob

from manila_lite.console import files
from manila_lite.tests.functional import base

ON = '[console]\nenabled = true\n'
#: Bytes that a first visit may load, unpacked.
MOST = 300_000

_ELSEWHERE = (
    '/console/files.py',
    '/console/__init__.py',
    '/console/../files.py',
    '/console/js/../../files.py',
    '/console/..%2ffiles.py',
    '/console/%2e%2e/files.py',
    '/console/js/..%5c..%5cfiles.py',
    '/console//etc/passwd',
    '/console/etc/passwd',
    '/console/js',
    '/console/js/',
    '/console/vendor/',
    '/console/index.html/',
    '/console/.',
    '/console/index.html%00.js',
    '/console/%c3%a4',
    '/console/INDEX.HTML',
)


class FilesTest(base.ServiceTest):
    """A service without work, only for its files."""

    PARTS = ()
    EXTRA = ON

    def get(self, path, method='GET', **headers):
        return self.service.app.request(
            path,
            method=method,
            expect_errors=True,
            headers={name.replace('_', '-'): value for name, value in headers.items()},
        )

    def assert_guarded(self, answer):
        policy = answer.headers['Content-Security-Policy'].split('; ')
        self.assertEqual(
            {
                "default-src 'none'",
                "script-src 'self'",
                "style-src 'self'",
                "img-src 'self'",
                "connect-src 'self'",
                "base-uri 'none'",
                "form-action 'none'",
                "frame-ancestors 'none'",
                "trusted-types 'none'",
                "require-trusted-types-for 'script'",
            },
            set(policy),
        )
        for name, value in {
            'X-Content-Type-Options': 'nosniff',
            'X-Frame-Options': 'DENY',
            'Referrer-Policy': 'no-referrer',
            'Cross-Origin-Opener-Policy': 'same-origin',
            'Cross-Origin-Resource-Policy': 'same-origin',
        }.items():
            self.assertEqual(value, answer.headers[name])

    def test_page_needs_no_login_and_has_a_strict_policy(self):
        answer = self.get('/console/')
        self.assertEqual(
            (200, 'text/html', 'UTF-8'), (answer.status_int, answer.content_type, answer.charset)
        )
        self.assert_guarded(answer)
        self.assertEqual((files.ROOT / 'index.html').read_text(), answer.text)

    def test_page_has_neither_programs_nor_styles_of_its_own(self):
        text = self.get('/console/').text
        self.assertEqual([''], re.findall(r'<script[^>]*>(.*?)</script>', text, re.DOTALL))
        self.assertEqual([], re.findall(r'<style|\sstyle=|\son\w+=|javascript:|//', text))

    def test_every_file_is_served_with_its_type_whole_and_guarded(self):
        shown = [path for path in files.ROOT.rglob('*') if path.is_file()]
        self.assertTrue(len(shown) > 20, shown)
        for path in shown:
            answer = self.get(f'/console/{path.relative_to(files.ROOT)}')
            self.assertEqual((200, files.MEDIA[path.suffix]), (answer.status_int, answer.content_type), path)
            self.assertEqual(path.read_bytes(), answer.body, path)
            self.assert_guarded(answer)

    def test_files_are_packed_for_those_who_unpack_and_sent_once(self):
        plain = self.get('/console/js/main.js')
        self.assertNotIn('Content-Encoding', plain.headers)
        # WebTest would unpack it.
        packed = webob.Request.blank('/console/js/main.js', headers={'Accept-Encoding': 'gzip'}).get_response(
            self.service.wsgi
        )
        self.assertEqual('gzip', packed.headers['Content-Encoding'])
        self.assertEqual(plain.body, gzip.decompress(packed.body))
        self.assertEqual('no-cache', plain.headers['Cache-Control'])
        self.assertIn('Accept-Encoding', plain.headers['Vary'])
        again = self.get('/console/js/main.js', If_None_Match=plain.headers['ETag'])
        self.assertEqual((304, b''), (again.status_int, again.body))
        self.assert_guarded(again)
        self.assertEqual(200, self.get('/console/js/main.js', If_None_Match='W/"another"').status_int)
        self.assertNotEqual(plain.headers['ETag'], self.get('/console/js/api.js').headers['ETag'])

    def test_head_has_no_body_and_other_methods_are_refused(self):
        head = self.get('/console/', 'HEAD')
        self.assertEqual((200, b''), (head.status_int, head.body))
        for method in ('POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'):
            answer = self.get('/console/', method)
            self.assertEqual((405, 'GET'), (answer.status_int, answer.headers['Allow']), method)
            self.assert_guarded(answer)

    def test_nothing_else_is_served(self):
        for path in _ELSEWHERE:
            answer = self.get(path)
            self.assertEqual(
                (404, 'no_such_path'), (answer.status_int, answer.json['itemNotFound']['reason']), path
            )
            self.assert_guarded(answer)

    def test_addresses_of_pages_lead_to_them_on_this_host_and_to_no_other(self):
        for path, page in (
            ('/console', 'console/'),
            ('/console/api', 'console/#/api'),
            ('/console/api/', 'console/#/api'),
        ):
            for headers in ({}, {'X_Forwarded_Prefix': '//evil.example'}, {'X_Forwarded_Prefix': '/share'}):
                answer = self.get(path, **headers)
                self.assertEqual(308, answer.status_int, headers)
                self.assertRegex(answer.headers['Location'], rf'^http://localhost(:80)?(/|/.*/){page}$')
                self.assert_guarded(answer)

    def test_first_visit_loads_little_and_the_rest_later(self):
        first, later = self.loaded(['index.html', 'style.css', 'icon.svg', 'js/main.js'])
        self.assertIn('vendor/preact.js', first)
        self.assertTrue(sum((files.ROOT / name).stat().st_size for name in first) < MOST)
        self.assertEqual({'js/pages/api.js'}, later)
        every = first | self.loaded(list(later))[0]
        self.assertEqual(
            {path.relative_to(files.ROOT).as_posix() for path in (files.ROOT / 'js').rglob('*.js')},
            {name for name in every if name.startswith('js/')},
        )

    def loaded(self, wanted):
        """Return these files and all that they import, and those that they import when they are needed."""
        seen, later = set(), set()
        while wanted:
            name = wanted.pop()
            if name not in seen:
                seen.add(name)
                text = self.get(f'/console/{name}').text
                wanted += self.names(name, r"from ?['\"](\.[^'\"]+)['\"]", text)
                later |= set(self.names(name, r"import\(['\"](\.[^'\"]+)['\"]\)", text))
        return seen, later

    def names(self, name, pattern, text):
        """Return the files that a file names, by their paths below the root."""
        folder = (files.ROOT / name).parent
        return [
            str((folder / other).resolve().relative_to(files.ROOT)) for other in re.findall(pattern, text)
        ]

    def test_foreign_hosts_are_refused(self):
        answer = self.get('/console/', Host='evil.example')
        self.assertEqual((403, 'foreign_host'), (answer.status_int, answer.json['forbidden']['reason']))


class OffTest(base.ServiceTest):
    """A service as it is by default."""

    PARTS = ()

    def test_console_is_off_by_default(self):
        for path in ('/console', '/console/', '/console/index.html', '/console/session', '/console/settings'):
            answer = self.service.app.get(path, expect_errors=True, headers={'X-Manila-Lite-Console': '1'})
            self.assertEqual(
                (404, 'no_such_path'), (answer.status_int, answer.json['itemNotFound']['reason']), path
            )
