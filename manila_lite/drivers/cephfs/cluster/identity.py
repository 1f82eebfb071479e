# SPDX-License-Identifier: Apache-2.0
"""Which cluster a backend is on, and as whom the share service speaks to it."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from manila_lite.drivers.cephfs.options import CephfsOptions


@dataclasses.dataclass(frozen=True)
class Identity:
    """The configuration file of a cluster, the cluster's name, and the service's own auth id, without ``client.``."""

    conf_path: Path
    cluster: str
    auth_id: str

    @classmethod
    def of(cls, conf: 'CephfsOptions') -> 'Identity':
        """Return that of a backend."""
        cluster = conf.cephfs_cluster_name or 'ceph'
        return cls(
            Path(conf.cephfs_conf_path or f'/etc/ceph/{cluster}.conf'),
            cluster,
            conf.cephfs_auth_id.removeprefix('client.'),
        )

    @property
    def entity(self) -> str:
        """The name of the service's own user at the cluster."""
        return f'client.{self.auth_id}'
