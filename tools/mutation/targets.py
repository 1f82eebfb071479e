# SPDX-License-Identifier: Apache-2.0
"""Places for faults: the core, and its critical parts."""

import fnmatch
import re

#: Files of the core, from the root.
FILES = (
    'manila_lite/states.py', 'manila_lite/extra_specs.py',
    'manila_lite/db/core/transitions.py', 'manila_lite/db/queries/operations.py', 'manila_lite/db/queries/quotas.py',
    'manila_lite/db/queries/services.py', 'manila_lite/db/queries/resource_locks.py',
    'manila_lite/db/queries/share_server_queries.py',
    'manila_lite/engine/*.py', 'manila_lite/workflow/*.py', 'manila_lite/scheduler/*.py', 'manila_lite/scheduler/*/*.py',
    'manila_lite/policies/*.py', 'manila_lite/api/contract/*.py', 'manila_lite/api/http/openapi.py', 'manila_lite/actions/*.py',
    'manila_lite/manager/*/*.py', 'manila_lite/network/*.py', 'manila_lite/drivers/networks.py',
)

#: Code in which all faults must be noticed: kind; pattern of files; expression for the function's name, or for the line.
CRITICAL = (
    ('policy', 'manila_lite/policies/*.py', r'', r'\b(ADMIN|MEMBER|READER|SERVICE|ADMIN_OR_\w+)\b.*rule\(|rule\(\w+, \w+'),
    ('ownership', 'manila_lite/actions/*.py', r'', r'\bown=|project_id\b|is_admin|is_public|elevated'),
    ('fencing', 'manila_lite/db/queries/operations.py', r'claim|renew|release|postpone|save|_as_seen|free|finish|hold',
     r'owner|lease|serial'),
    ('fencing', 'manila_lite/engine/runner.py', r'', r'owner|lease|serial|attempts'),
    ('fencing', 'manila_lite/db/core/transitions.py', r'', r'where|rowcount|allowed'),
    ('fencing', 'manila_lite/db/queries/resource_locks.py', r'', r'where|rowcount'),
    ('quota', 'manila_lite/db/queries/quotas.py', r'', r'.'),
    ('quota', 'manila_lite/actions/*.py', r'', r'\bquotas?\.|\bquota\b'),
    ('deletion', 'manila_lite/actions/*.py', r'^_?(delete|remove|drop|shrink|unmanage|revert|soft_delete|force_delete)', r''),
    ('deletion', 'manila_lite/manager/*.py', r'^_?(delete|remove|drop|shrink|unmanage|revert)', r''),
)


def critical(path: str, definition: str, line: str) -> str:
    """Return the kind of critical code that the line belongs to, or ''. ``definition``: the name of the function, or ''."""
    for kind, files, name, text in CRITICAL:
        if fnmatch.fnmatch(path, files) and ((name and re.search(name, definition.rpartition('.')[2]))
                                             or (text and re.search(text, line))):
            return kind
    return ''
