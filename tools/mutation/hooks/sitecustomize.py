# SPDX-License-Identifier: Apache-2.0
"""Record the lines that each test reaches, in processes of stestr: ``tools/mutate record`` puts this folder on the path.

$MANILA_LITE_REACH is the folder for coverage's data, $MANILA_LITE_REACHED the patterns of files, with ':' between.
Lines between two tests are recorded for the class that is set up then.
"""

import atexit
import os
import sys
import unittest


def _note(folder: str, files: list[str]) -> None:
    import coverage
    noting = coverage.Coverage(data_file=os.path.join(folder, 'data'), data_suffix=True, include=files, config_file=False)
    noting.start()
    call, set_up = unittest.TestCase.__call__, unittest.TestSuite._handleClassSetUp  # noqa: SLF001 - the only place that knows

    def called(test, *args, **keywords):
        noting.switch_context(test.id())
        try:
            return call(test, *args, **keywords)
        finally:
            noting.switch_context('')

    def class_set_up(suite, test, result):
        noting.switch_context(f'{type(test).__module__}.{type(test).__qualname__}')
        set_up(suite, test, result)
    unittest.TestCase.__call__ = called
    unittest.TestSuite._handleClassSetUp = class_set_up  # noqa: SLF001 - see above

    def end():
        noting.stop()
        noting.save()
    atexit.register(end)


if (where := os.environ.get('MANILA_LITE_REACH')) and any('subunit_runner' in word for word in sys.orig_argv):
    _note(where, os.environ['MANILA_LITE_REACHED'].split(':'))
