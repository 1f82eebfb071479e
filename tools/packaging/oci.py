# SPDX-License-Identifier: Apache-2.0
"""Write an OCI image of one layer: tools/packaging/oci.py ROOT.tar NAME VERSION IMAGE.tar

The image is an archive in the OCI image layout, which podman, skopeo and docker load. It is a tar archive of the layer and of
three small JSON documents, so no registry, daemon, mount or user namespace is needed to make it.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

_TYPE = 'application/vnd.oci.image.{}'
#: How a container runs, if nobody says otherwise: all services in one process, on SQLite.
_CONFIG = {
    'User': 'manila_lite',
    'Env': ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'LC_ALL=C.UTF-8'],
    'Cmd': ['manila-lite', '--config-file', '/etc/manila_lite/manila_lite.conf'],
    'ExposedPorts': {'8786/tcp': {}},
    'Volumes': {'/var/lib/manila_lite': {}},
    'WorkingDir': '/',
    # The master process drains for a minute.
    'StopSignal': 'SIGTERM',
}
_ARCHITECTURES = {'x86_64': 'amd64', 'aarch64': 'arm64'}


class Image:
    """An archive in the OCI image layout, as it is written."""

    def __init__(self, archive: tarfile.TarFile):
        self._archive = archive

    def add(self, path: str, content: bytes) -> None:
        """Add a file."""
        self._add(path, io.BytesIO(content), len(content))

    def blob(self, kind: str, content: bytes) -> dict:
        """Add a document; return its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        self.add(f'blobs/sha256/{digest}', content)
        return {'mediaType': _TYPE.format(kind), 'digest': f'sha256:{digest}', 'size': len(content)}

    def layer(self, root: Path) -> tuple[dict, str]:
        """Add a root file system; return its descriptor, and the digest of the archive before its compression."""
        with tempfile.TemporaryFile() as packed, root.open('rb') as plain:
            with gzip.GzipFile(fileobj=packed, mode='wb', mtime=0, compresslevel=6) as out:
                shutil.copyfileobj(plain, out)
            plain.seek(0)
            before = hashlib.file_digest(plain, 'sha256').hexdigest()
            packed.seek(0)
            digest = hashlib.file_digest(packed, 'sha256').hexdigest()
            size = packed.seek(0, os.SEEK_END)
            packed.seek(0)
            self._add(f'blobs/sha256/{digest}', packed, size)
        return {
            'mediaType': _TYPE.format('layer.v1.tar+gzip'),
            'digest': f'sha256:{digest}',
            'size': size,
        }, f'sha256:{before}'

    def _add(self, path: str, content: io.IOBase, size: int) -> None:
        entry = tarfile.TarInfo(path)
        entry.size, entry.mode = size, 0o644
        self._archive.addfile(entry, content)


def write(root: Path, name: str, version: str, target: Path) -> None:
    """Write the image."""
    with tarfile.open(target, 'w') as archive:
        image = Image(archive)
        image.add('oci-layout', json.dumps({'imageLayoutVersion': '1.0.0'}).encode())
        layer, before = image.layer(root)
        labels = {
            'org.opencontainers.image.title': name,
            'org.opencontainers.image.version': version,
            'org.opencontainers.image.licenses': 'Apache-2.0',
        }
        config = image.blob(
            'config.v1+json',
            json.dumps(
                {
                    'architecture': _ARCHITECTURES[os.uname().machine],
                    'os': 'linux',
                    'config': {**_CONFIG, 'Labels': labels},
                    'rootfs': {'type': 'layers', 'diff_ids': [before]},
                }
            ).encode(),
        )
        manifest = image.blob(
            'manifest.v1+json',
            json.dumps(
                {
                    'schemaVersion': 2,
                    'mediaType': _TYPE.format('manifest.v1+json'),
                    'config': config,
                    'layers': [layer],
                }
            ).encode(),
        )
        # A tag has no "+", which versions of packages have; docker looks for the whole name.
        tag = version.replace('+', '-').replace('~', '-')
        manifest['annotations'] = {
            'org.opencontainers.image.ref.name': tag,
            'io.containerd.image.name': f'localhost/{name}:{tag}',
        }
        image.add('index.json', json.dumps({'schemaVersion': 2, 'manifests': [manifest]}).encode())


if __name__ == '__main__':
    write(Path(sys.argv[1]), *sys.argv[2:4], Path(sys.argv[4]))
