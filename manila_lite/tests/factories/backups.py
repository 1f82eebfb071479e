# SPDX-License-Identifier: Apache-2.0
"""Backups in bulk, available as if a backend had made them."""

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite.db import models


def of(conn, share_ids, mark='x'):
    """Return the ids of new backups, one of each share."""
    shares = conn.execute(sa.select(models.shares).where(models.shares.c.id.in_(share_ids))).all()
    rows = [
        {
            'id': uuidutils.generate_uuid(),
            'share_id': row.id,
            'project_id': row.project_id,
            'user_id': row.user_id,
            'name': mark,
            'description': mark,
            'status': 'available',
            'size': row.size,
            'backup_type': 'nightly',
            'host': 'test@alpha',
            'progress': '100',
            'restore_progress': '0',
        }
        for row in shares
    ]
    conn.execute(models.share_backups.insert(), rows)
    return [row['id'] for row in rows]
