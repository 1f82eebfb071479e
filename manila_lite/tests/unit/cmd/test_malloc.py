# SPDX-License-Identifier: Apache-2.0
"""Threads of a process share arenas."""

import subprocess
import sys

import testtools

#: Threads that are alive at once allocate, each from the arena that it was given. glibc lists the arenas as XML.
_PROGRAM = """
import ctypes, sys, tempfile, threading
if sys.argv[1] == 'shared':
    import manila_lite.cmd
c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
c.fopen.restype, c.fopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_char_p]
c.malloc_info.argtypes, c.fclose.argtypes = [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
together = threading.Barrier(8)
def work():
    together.wait()
    c.malloc(1000)
    together.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
with tempfile.NamedTemporaryFile() as file:
    out = c.fopen(file.name.encode(), b'w')
    c.malloc_info(0, out)
    c.fclose(out)
    print(file.read().decode().count('<heap nr='))
"""


class Arenas(testtools.TestCase):
    def arenas(self, how):
        return int(
            subprocess.run(
                [sys.executable, '-c', _PROGRAM, how],
                check=True,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
            ).stdout
        )

    def test_many_threads_share_two(self):
        self.assertGreater(self.arenas('plain'), 2)
        self.assertLessEqual(self.arenas('shared'), 2)
