# SPDX-License-Identifier: Apache-2.0
"""The time for bytes from outside grows no faster than their number: else one request would hold a process.

Costs are seconds of the processor, so that a busy machine changes nothing.
"""

import contextlib
import http.client
import io
import subprocess
import sys

import testscenarios
import testtools

from manila_lite import errors
from manila_lite.actions import pools
from manila_lite.api.framework import literal
from manila_lite.api.http import console_session
from manila_lite.api.server import request_reader, server
from manila_lite.cmd import log_lines
from manila_lite.host_copy import dos_attributes, messages, rsync
from manila_lite.siblings.dataproc.handlers import fstab
from manila_lite.tests.security import expressions, growth, test_requests

#: Bytes of each class that a grammar tells from others, and pairs of them.
PARTS = (
    *' \ta0-.:,;="\'\\%/[({<@\x00\xff\r\n',
    'a=',
    'a;',
    'a,',
    ', ',
    '; ',
    ' a',
    ': ',
    '\\"',
    '"a',
    '%41',
    'a\n',
    ';a=b',
    '" -> "',
    "'a':1,",
    'a:b\r\n',
    'accept:a\r\n',
)
#: Begins of texts, after which a parser is in another state; and ends at which it fails.
BEGINS, ENDS = ('', 'a:', 'a=', '"', "'a': '"), ('', '\x00')


class Conn:
    """A stand-in for a connection, as a request needs it."""

    rfile = None

    def __init__(self):
        self.wfile = self

    def write(self, data):
        pass


def read_request(sent):
    """Read the bytes of a request, as the built-in server does."""
    incoming = request_reader.RequestReader(server.Settings(None, 0, 0, ('127.0.0.1', 1), 30), Conn(), 0)
    incoming.add(sent)
    return incoming.take()


def read_header(text):
    return read_request(b'GET / HTTP/1.1\r\nA:' + text.encode('latin-1') + b'\r\n\r\n')


def read_name(text):
    return read_request(b'GET / HTTP/1.1\r\n' + text.encode('latin-1') + b': a\r\n\r\n')


def read_first_line(text):
    return read_request(b'GET /' + text.encode('latin-1') + b' HTTP/1.1\r\nHost: a\r\n\r\n')


def read_bytes(text):
    return read_request(text.encode('latin-1') + b'\r\n\r\n')


def read_guest(text):
    """Read the headers of a guest's request for metadata, which the standard library does."""
    with contextlib.suppress(http.client.HTTPException):
        http.client.parse_headers(io.BytesIO(text.encode('latin-1') + b'\r\n\r\n'))


def read_chunks(text):
    return read_request(b'PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1' + text.encode('latin-1'))


def read_cookie(text):
    return console_session._token({'HTTP_COOKIE': text})


def read_session(text):
    return console_session._token({'HTTP_COOKIE': f'manila_lite_console={text}'})


def hear(begin):
    """Return a reader of what rsync says, in lines with this begin."""

    def read(text):
        dos_attributes.Messages().hear(begin + text.encode('latin-1') + b': No (12)\n')

    return read


def heed(text):
    dos_attributes.Messages().hear(b'getfattr: /target/' + text.encode('latin-1') + b': No\n')


def read_pairs(text):
    with contextlib.suppress(ValueError):
        literal.pairs(f'{{{text}}}')


READERS = {
    'a header': read_header,
    'the name of a header': read_name,
    'the first line': read_first_line,
    'chunks': read_chunks,
    'any request': read_bytes,
    'headers of a guest': read_guest,
    'cookies': read_cookie,
    'the cookie of a session': read_session,
    'pairs of a filter': read_pairs,
    'an error of rsync': hear(b'rsync: [sender] opendir "/source/'),
    'a difference of rsync': hear(b'>fcst...... '),
    'a line of rsync': hear(b''),
    'progress of rsync': lambda text: messages.Messages().progress(text.encode('latin-1')[-rsync._SAID :]),
    'last words of rsync': lambda text: messages.last_words(text.encode('latin-1')),
    'an error of getfattr': heed,
    'a line of the log': log_lines.escaped,
    'a field of fstab': fstab.plain,
    'a line of fstab': lambda text: fstab.has(b'a b c # mlite ' + text.encode('latin-1'), 'b'),
}


class Readers(testscenarios.WithScenarios, testtools.TestCase):
    """The code that reads text from outside, byte for byte."""

    scenarios = [(name, {'read': read}) for name, read in READERS.items()]

    def test_four_times_the_text_costs_four_times_as_much(self):
        for begin in BEGINS:
            for part in PARTS:
                for end in ENDS:

                    def text(size, begin=begin, part=part, end=end):
                        return begin + part * (size // len(part)) + end

                    ratio = growth.growth(self.read, text, floor=0.002, sizes=(512, 8192))
                    self.assertLess(ratio, growth.MOST, (begin, part, end))


class Libraries(test_requests.ApisTest):
    """Requests as a whole, with the libraries that read their headers. What costs less than some milliseconds is nothing."""

    PARTS = ()
    MANY = (
        'a',
        ' ',
        ',',
        ';',
        '=',
        '"',
        '\\',
        '%',
        '/',
        ':',
        '(',
        '0',
        'a=',
        'a,',
        ', ',
        ';a=b',
        'a/b,',
        '"a",',
        '\\"',
    )

    def must_be_linear(self, make, about):
        for api in self.apis.items():
            for part in self.MANY:
                ratio = growth.growth(
                    lambda environ, api=api: self.ask(api[1], environ.pop('path', api[0]), **environ),
                    lambda size, part=part: make(part * (size // len(part))),
                    floor=0.005,
                    sizes=(512, 8192),
                )
                self.assertLess(ratio, growth.MOST, (api[0], about, part))

    def test_headers_cost_as_much_as_they_are_long(self):
        for header in test_requests.HEADERS:
            self.must_be_linear(lambda text, header=header: {'path': '/', f'HTTP_{header}': text}, header)

    def test_paths_and_queries_cost_as_much_as_they_are_long(self):
        self.must_be_linear(lambda text: {'path': f'/v2/{text}'}, 'path')
        self.must_be_linear(lambda text: {'query': f'name={text}'}, 'query')
        self.must_be_linear(
            lambda text: {'CONTENT_TYPE': text, 'method': 'POST', 'body': b'{}'}, 'Content-Type'
        )


class Expressions(testtools.TestCase):
    def test_every_regular_expression_of_the_product_takes_linear_time(self):
        done = subprocess.run(
            [sys.executable, '-m', expressions.__name__],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            cwd=expressions.PRODUCT.parent,
        )
        lines = [line.partition(' ')[::2] for line in done.stdout.splitlines()]
        self.assertEqual(0, done.returncode, (lines[-1:], done.stderr[-2000:]))
        self.assertEqual([], [line for kind, line in lines if kind == 'slow'])
        # Those that no constant has are in a table, which has no others.
        self.assertEqual(set(expressions.OURS), {place for kind, place in lines if kind == 'made'})
        self.assertLess(
            {
                *expressions.MADE,
                'api/http/host_header.py:_HOST',
                'api/framework/shapes.py:SIZE',
                'siblings/nfs.py:split',
                'siblings/mount_faults.py:_CAUSES',
                'drivers/cephfs/options.py:OPTIONS',
            },
            {place for kind, place in lines if kind == 'begins'},
        )

    def test_slow_expressions_are_found(self):
        """Check the check: expressions that were in the product, and others of their kinds."""
        for pattern, method in (
            (r'\s*\(Background\)', 'sub'),
            (r'(\d+)\.(\d+)', 'search'),
            (r'^(a|b)*[ab]*c', 'match'),
            (rb'([!-~]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*\r\n', 'fullmatch'),
            (rb'^rsync: "/source/(?P<path>.*?)"(?: -> ".*")?: (?P<why>[^":]*) \([0-9]+\)$', 'match'),
            (r'BEGIN=([^;]*);', 'findall'),
        ):
            use = expressions.Use('here', pattern, 0, (method,))
            self.assertEqual(1, len(list(expressions.slow(use))), pattern)
        self.assertEqual([], list(expressions.slow(expressions.Use('here', r'a+b[^x]*x', 0, ('match',)))))


class PoolFilters(testtools.TestCase):
    """Regular expressions that an administrator sends. Python takes hours with each of these, and one name of a host."""

    SLOW = (
        '(a*)*b',
        '(a|a)*b',
        '(a|ab)*c',
        '.*.*.*.*x',
        '(.*a){9}b',
        '(a?){60}a{60}b',
        '.{64,}.{0,64}.+a*[a-z]{100}b',
    )

    def test_four_times_the_name_costs_four_times_as_much(self):
        for text in self.SLOW:
            pattern = pools._pattern('host', text)
            self.assertIsNone(pattern.match('a' * 255), text)
            ratio = growth.growth(pattern.match, lambda size: 'a' * size, floor=0.002, sizes=(1024, 8192))
            self.assertLess(ratio, growth.MOST, text)

    def test_expressions_that_would_fill_the_memory_are_refused(self):
        for text in ('((((a{999}){999}){999}){999})*b', '(a{100}){100}(b{100}){100}', '(' * 9999):
            self.assertRaises(errors.Invalid, pools._pattern, 'host', text)
