# SPDX-License-Identifier: Apache-2.0
"""Take the pictures: tools/screenshots."""

import base64
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import fixtures
from docutils.core import publish_string

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.tests.functional.console import base
from manila_lite.tests.screenshots import age, cloud, png

#: Pages of the console: the name of the picture, the address, the title, and the part that is shown if that is not the
#: beginning. Of a share: the first one of the cloud.
_CONSOLE = {
    'console-overview': ('overview', 'Overview', None),
    'console-share': ('share/{share}', 'model-runs', None),
    'console-use': ('share/{share}', 'model-runs', 'Use'),
    'console-line': ('share/{share}', 'model-runs', 'Snapshots'),
    'console-schedules': ('schedules', 'Schedules', None),
    'console-operations': ('operations', 'Operations', None),
    'console-types': ('types', 'Share types', None),
}
_TO = 'document.activeElement.blur(); scrollTo(0, 0); arguments[0]?.closest("section").scrollIntoView()'
_NAMES = ('docs', *_CONSOLE, 'readme')
#: Pixels, as of a laptop and of a telephone.
_SIZES = {1280: 800, 390: 844}
#: The README is one screen of a larger one.
_README_SIZES = {1280: 1000, 390: 844}
_SCHEMES = ('light', 'dark')


class Camera(base.Page, fixtures.Fixture):
    """A browser that takes pictures."""

    def _setUp(self):
        self.driver = self.useFixture(base.Browser()).driver
        self.driver.execute_cdp_cmd('Emulation.setScrollbarsHidden', {'hidden': True})

    def take(self, name, ready=lambda: None, part=None, sizes=_SIZES):
        """Take the pictures of the page that is shown. ``ready`` waits until it is as it should be. ``part``: a heading."""
        for (width, height), scheme in itertools.product(sizes.items(), _SCHEMES):
            self.driver.execute_cdp_cmd(
                'Emulation.setDeviceMetricsOverride',
                {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False},
            )
            feature = {'name': 'prefers-color-scheme', 'value': scheme}
            self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': [feature]})
            ready()
            self.driver.execute_script(_TO, part and self.see(f"//h2[.='{part}']"))
            picture = self.driver.execute_cdp_cmd('Page.captureScreenshot', {'format': 'png'})
            path = age.FOLDER / f'{name}-{width}-{scheme}.png'
            path.write_bytes(png.small(base64.b64decode(picture['data'])))

    def show(self, path):
        """Show a file, and wait for its pictures."""
        self.driver.get(path.as_uri())
        loaded = 'return [...document.images].every((image) => image.complete)'
        self.until(lambda: self.driver.execute_script(loaded), path)


def console(camera, names):
    """Take those of the console."""
    with cloud.Cloud() as camera.lite:
        camera.lite.start()
        share = camera.lite.fill()
        camera.driver.get(camera.url)
        camera.act_as('ana', 'climate', cloud.ROLES)
        for name in names:
            where, title, part = _CONSOLE[name]
            camera.open(where.format(share=share), title)
            camera.take(name, lambda: camera.see_gone("//*[contains(@class, 'loading')]"), part)


def docs(camera):
    """Take those of the first page."""
    with tempfile.TemporaryDirectory() as folder:
        words = (
            sys.executable,
            '-m',
            'sphinx',
            '-q',
            '-b',
            'html',
            '-d',
            f'{folder}/trees',
            'doc/source',
            folder,
        )
        subprocess.run(words, cwd=age.ROOT, check=True, stdin=subprocess.DEVNULL)
        camera.show(Path(folder, 'index.html'))
        camera.take('docs')


def readme(camera):
    """Take those of the README, with a style like that of the sites that show it."""
    style = (
        '<style>:root {color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif} img {max-width: 100%}'
        'body {max-width: 838px; margin: auto; padding: 24px} p, pre, table {margin: 0 0 16px}'
        'h1 {margin: 0 0 16px; border-bottom: 1px solid #8884} .align-middle {vertical-align: middle}'
        'pre {padding: 16px; background: #8881; font-size: 85%; line-height: 1.45}'
        'pre, table {display: block; overflow-x: auto} table {border-collapse: collapse}'
        'td, th {padding: 6px 13px; border: 1px solid #8886} td p, th p {margin: 0}</style>'
    )
    settings = {'embed_stylesheet': False, 'stylesheet_path': '', 'report_level': 5}
    page = publish_string((age.ROOT / 'README.rst').read_text(), writer='html5', settings_overrides=settings)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, 'readme.html')
        head = f'<head><base href="{age.ROOT.as_uri()}/">{style}'
        path.write_text(page.decode().replace('<head>', head, 1))
        camera.show(path)
        camera.take('readme', sizes=_README_SIZES)


def main(names):
    """Take pictures, and write down of which state of the sources they are."""
    if unknown := set(names) - set(_NAMES):
        raise SystemExit(
            f'screenshots: no picture is called {", ".join(unknown)}; there are: {", ".join(_NAMES)}'
        )
    names = names or _NAMES
    for path in {age.source(name) for name in names}:
        if left := age.changed(path):
            raise SystemExit(
                f'screenshots: commit this first, so that the age of the pictures is known:\n{left}'
            )
    with Camera() as camera:
        if pages := [name for name in names if name in _CONSOLE]:
            console(camera, pages)
        for name, take in (('docs', docs), ('readme', readme)):  # both show those of the console
            if name in names:
                take(camera)
    known = json.loads(age.RECORD.read_text()) if age.RECORD.exists() else {}
    known |= {name: age.state(age.source(name)) for name in names}
    age.RECORD.write_text(json.dumps(known, indent=2, sort_keys=True) + '\n')


if __name__ == '__main__':
    main(sys.argv[1:])
