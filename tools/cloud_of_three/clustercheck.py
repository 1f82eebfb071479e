# SPDX-License-Identifier: Apache-2.0
"""Tells HAProxy over HTTP whether a node of Galera is in step: 200, or 503 and why not.

Usage: clustercheck.py ADDRESS PORT USER FILE - FILE has the password.
"""

import http.server
import pathlib
import sys

import pymysql

PORT = 9200


def problem(address, port, user, password):
    """Return why the node must not be used, or ''. It fails if the node does not answer."""
    words = {'host': address, 'port': int(port), 'user': user, 'password': password, 'connect_timeout': 3}
    with pymysql.connect(**words, read_timeout=3) as conn, conn.cursor() as cursor:
        cursor.execute("SHOW STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_local_state_comment')")
        found = {name.lower(): value for name, value in cursor.fetchall()}
    ready = found == {'wsrep_ready': 'ON', 'wsrep_local_state_comment': 'Synced'}
    return '' if ready else f'is not in step: {found}'


class Check(http.server.BaseHTTPRequestHandler):
    """An answer to a check."""

    def do_GET(self):
        """Ask the node."""
        try:
            why = problem(*self.server.login)
        except pymysql.MySQLError as bad:
            why = str(bad)
        self.send_response(503 if why else 200)
        self.end_headers()
        self.wfile.write(why.encode())

    def log_message(self, *_):
        """Say nothing: there is a check each second."""


def main(address, port, user, file):
    """Answer checks at the node's address until the end."""
    server = http.server.ThreadingHTTPServer((address, PORT), Check)
    server.login = address, port, user, pathlib.Path(file).read_text()
    server.serve_forever()


if __name__ == '__main__':
    main(*sys.argv[1:])
