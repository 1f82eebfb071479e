# SPDX-License-Identifier: Apache-2.0
"""The file of an image, by project."""

import shutil
import tempfile
from pathlib import Path

import testtools

from manila_lite.siblings.compute.drivers import image_files

#: Project names in a token that anybody may write, where there is no Keystone.
HOSTILE = (
    '..',
    '.',
    '',
    '../..',
    '/etc',
    'a/b',
    'a\x00b',
    'p' * 300,
    'sha256.' + '0' * 64,
    'p\n',
    '\u0661',
    'projects',
)


class Files(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.images = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.images)

    def test_each_project_has_a_folder_of_its_own(self):
        folders = [image_files.own(self.images, name) for name in ('p', 'q', 'P', *HOSTILE)]
        self.assertEqual(len(folders), len(set(folders)))
        for path in folders:
            self.assertEqual(self.images / 'projects', path.parent)
            self.assertNotIn(path.name, ('', '.', '..'))
            path.mkdir(parents=True)  # the name is neither too long nor empty
        self.assertNotIn(
            image_files.own(self.images, image_files.own(self.images, '..').name),
            [image_files.own(self.images, '..')],
        )

    def test_own_image_is_found_before_the_public_one(self):
        (self.images / 'debian').write_bytes(b'public')
        for project in ('p', 'q'):
            image_files.own(self.images, project).mkdir(parents=True)
            (image_files.own(self.images, project) / project).write_bytes(b'own')
        (image_files.own(self.images, 'p') / 'debian').write_bytes(b'of p')
        read = {
            (project, name): image_files.find(self.images, project, name)
            for project in 'pq'
            for name in ('debian', 'p')
        }
        self.assertEqual(
            (b'of p', b'public', b'own'),
            tuple(read[key].read_bytes() for key in (('p', 'debian'), ('q', 'debian'), ('p', 'p'))),
        )
        self.assertFalse(read['q', 'p'].exists())

    def test_only_complete_files_are_public_images(self):
        (self.images / 'projects').mkdir()
        (self.images / 'debian').touch()
        (self.images / '.half.new').touch()
        self.assertEqual({'debian'}, image_files.public(self.images))
        self.assertEqual(frozenset(), image_files.public(self.images / 'nothing'))
