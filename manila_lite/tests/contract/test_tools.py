# SPDX-License-Identifier: Apache-2.0
"""The scripts of tools/ catch a planted violation each, and accept its repair."""

import pathlib
import subprocess
import sys

import fixtures
import testtools

from manila_lite.tests import waiting

ROOT = pathlib.Path(__file__).resolve().parents[3]
NOTE = 'releasenotes/notes/some-change-0123456789abcdef.yaml'


class ToolCase(testtools.TestCase):
    """A test that runs one script on a small tree."""

    TOOL = ''

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for folder in ('manila_lite/tests', 'releasenotes/notes', 'doc/source/contributor'):
            (self.root / folder).mkdir(parents=True)

    def plant(self, path: str, text: str) -> pathlib.Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def run_tool(self, *argv: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, str(ROOT / 'tools' / self.TOOL), *argv, str(self.root)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            check=False,
        )
        self.assertEqual('', done.stderr)
        return done.returncode, done.stdout

    def assert_clean(self, *argv: str) -> None:
        self.assertEqual((0, ''), self.run_tool(*argv))

    def assert_caught(self, *words: str) -> None:
        code, text = self.run_tool()
        self.assertEqual(1, code, text)
        for word in words:
            self.assertIn(word, text)


class OneWriterTest(ToolCase):
    TOOL = 'check_one_writer.py'

    def _caught(self, code: str, column: str = 'status', path: str = 'manila_lite/actions/shares.py') -> None:
        self.plant(path, code)
        self.assert_caught(f'{path}:1', repr(column))

    def test_status_as_keyword_of_values_is_caught(self):
        self._caught("conn.execute(shares.update().values(status='available'))\n")

    def test_status_in_a_dictionary_of_values_is_caught(self):
        self._caught("shares.update().values({'task_state': None, 'size': 2})\n", 'task_state')

    def test_status_as_column_object_of_values_is_caught(self):
        self._caught("shares.update().values({shares.c.status: 'error'})\n")

    def test_status_in_an_unpacked_dictionary_is_caught(self):
        self._caught("shares.update().values(**({'status': 'error'} | more))\n")

    def test_status_in_rows_given_to_execute_is_caught(self):
        self._caught(
            "conn.execute(shares.insert(), [{'id': 1, 'access_rules_status': 'active'}])\n",
            'access_rules_status',
        )

    def test_status_set_as_attribute_of_a_row_is_caught(self):
        self._caught("share.state = 'active'\n", 'state', 'manila_lite/manager/plans/access.py')

    def test_status_set_by_setattr_is_caught(self):
        self._caught("setattr(share, 'status', 'error')\n")

    def test_status_in_sql_text_is_caught(self):
        self._caught(
            'sa.text("UPDATE shares SET size = 1, status = :s WHERE id = :i")\n',
            path='manila_lite/db/queries/shares.py',
        )

    def test_operations_may_write_their_state_only(self):
        self.plant('manila_lite/db/queries/operations.py', 'operations.update().values(state=1)\n')
        self.assert_clean()
        self._caught('operations.update().values(status=1)\n', path='manila_lite/db/queries/operations.py')

    def test_transitions_may_write_all_status_columns(self):
        self.plant('manila_lite/db/core/transitions.py', 'shares.update().values(status=1, task_state=2)\n')
        self.assert_clean()

    def test_reads_and_replies_are_accepted(self):
        self.plant(
            'manila_lite/db/queries/shares.py',
            "shares.select().where(shares.c.status == 'error')\nview = {'status': row.status}\n",
        )
        self.plant('manila_lite/api/http/app.py', 'reply.status = 404\n')
        self.assert_clean()


class GuidesTest(ToolCase):
    TOOL = 'check_guides.py'
    PAGE = 'doc/source/contributor/follow-a-share.rst'

    def setUp(self):
        super().setUp()
        self.plant(
            'manila_lite/actions/shares.py',
            'SIZES = (1,)\n\n\nclass Maker:\n    def create(self):\n        pass\n',
        )

    def test_guide_with_existing_names_is_accepted(self):
        self.plant(
            self.PAGE,
            'See ``actions/shares.py: Maker.create``, ``actions/shares.py: SIZES``, ``actions/``.\n',
        )
        self.assert_clean()

    def test_missing_file_is_caught(self):
        self.plant(self.PAGE, 'First\n\n``actions/sharez.py: create``\n')
        self.assert_caught(f'{self.PAGE}:3', 'there is no actions/sharez.py')

    def test_missing_function_is_caught(self):
        self.plant(self.PAGE, '``actions/shares.py: create``\n')
        self.assert_caught('actions/shares.py has no create')

    def test_missing_folder_is_caught(self):
        self.plant(self.PAGE, '``actions/shares.py`` and ``siblings/``\n')
        self.assert_caught('there is no siblings/')

    def test_missing_environment_of_tox_is_caught(self):
        self.plant('tox.ini', '[testenv:lint]\n')
        self.plant(self.PAGE, '``actions/`` and ``tox -e lint``\n')
        self.assert_clean()
        self.plant(self.PAGE, '``actions/`` and ``tox -e states``\n')
        self.assert_caught('there is no tox -e states')

    def test_word_that_nothing_is_called_is_caught(self):
        self.plant('etc/manila_lite.conf', 'default_share_type = plain\n')
        self.plant(self.PAGE, '``actions/``, ``default_share_type``, ``Maker.create``, ``create()``\n')
        self.assert_clean()
        for word in ('no_such_option', 'Maker.make', 'make()'):
            self.plant(self.PAGE, f'``actions/`` and ``{word}``\n')
            self.assert_caught('nothing is called ')

    def test_guide_without_names_is_caught(self):
        self.plant(self.PAGE, 'It just works.\n')
        self.assert_caught('a guide must name files')


class SleepsTest(ToolCase):
    TOOL = 'check_sleeps.py'
    PATH = 'manila_lite/tests/unit/test_x.py'

    def test_sleeping_by_any_name_is_caught(self):
        for code in (
            'import time\ntime.sleep(1)\n',
            'import time as t\nt.sleep(1)\n',
            'from time import sleep\nsleep(1)\n',
            'from time import sleep as nap\nnap(seconds)\n',
        ):
            self.plant(self.PATH, code)
            self.assert_caught(f'{self.PATH}:2: sleeps')

    def test_sleep_with_a_reason_is_accepted(self):
        self.plant(
            self.PATH,
            'import time\ntime.sleep(1)     # sleeps: a slow backend\n'
            '# sleeps: a slow backend\ntime.sleep(1)\n',
        )
        self.assert_clean()

    def test_sleep_with_an_empty_or_misplaced_reason_is_caught(self):
        for code in (
            'import time\ntime.sleep(1)  # sleeps:\n',
            'import time  # sleeps: it is slow\ntime.sleep(1)\n',
            'import time\ntime.sleep(1)  # it is slow\n',
        ):
            self.plant(self.PATH, code)
            self.assert_caught(f'{self.PATH}:2: sleeps')

    def test_code_that_does_not_sleep_in_a_test_is_accepted(self):
        self.plant(
            self.PATH,
            "import time\nPROGRAM = 'import time; time.sleep(60)'\nself.sleep(1)\nplain = time.sleep\n",
        )
        self.plant('manila_lite/tests/waiting.py', 'import time\ntime.sleep(1)\n')
        self.plant('manila_lite/drivers/slow.py', 'import time\ntime.sleep(1)\n')
        self.assert_clean()

    def test_limit_of_its_own_is_caught(self):
        for code in (
            "until(ready, 'ready', 30)",
            "self.until(ready, 'ready', seconds=30)",
            'thread.join(5)',
            'call(timeout=60)',
            "base.eventually(ready, 'ready', 90)",
            "api.wait('/shares/a', 'share', 'gone', 60)",
            'event.wait(10.0)',
            'end = time.monotonic() + 60',
            'def call(self, timeout=30): pass',
            'def call(*, patience=30): pass',
        ):
            self.plant(self.PATH, f'import time\n{code}\n')
            self.assert_caught(f'{self.PATH}:2: has a limit')

    def test_tries_reasons_and_the_limit_of_all_are_accepted(self):
        for code in (
            "until(ready, 'ready')",
            'thread.join(0.3)',
            'call(timeout=waiting.LIMIT)',
            'call(timeout=None)',
            'boot(timeout=60)  # limit: an option of the product',
            "', '.join(5)[0]  # limit: a text",
            'datetime.timedelta(seconds=60)',
            'began = time.monotonic()',
            'self.until(7)',
        ):
            self.plant(self.PATH, f'import time\n{code}\n')
            self.assert_clean()
        self.plant('manila_lite/tests/nfs_client.py', 'call(timeout=30)\n')
        self.assert_clean()


class NotesTest(ToolCase):
    TOOL = 'check_notes.py'

    def test_good_note_is_accepted(self):
        self.plant(NOTE, '---\nprelude: New.\nfixes:\n  - |\n    It works.\n')
        self.assert_clean()

    def test_file_name_not_made_by_reno_is_caught(self):
        self.plant('releasenotes/notes/some-change.yaml', 'fixes:\n  - It works.\n')
        self.assert_caught('some-change.yaml', 'not a name made by reno')

    def test_unknown_section_is_caught(self):
        self.plant(NOTE, 'bugfixes:\n  - It works.\n')
        self.assert_caught("the note must not contain {'bugfixes'}", 'fixes, other are lists')

    def test_section_that_is_not_a_list_is_caught(self):
        self.plant(NOTE, 'fixes: It works.\n')
        self.assert_caught('the note.fixes must be array')

    def test_empty_note_and_broken_yaml_are_caught(self):
        self.plant(NOTE, '---\n')
        self.assert_caught('the note must be object')
        self.plant(NOTE, 'fixes: [\n')
        self.assert_caught('not YAML')
