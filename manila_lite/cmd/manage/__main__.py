# SPDX-License-Identifier: Apache-2.0
"""``python -m manila_lite.cmd.manage``."""

import sys

from manila_lite.cmd.manage import main

sys.exit(main())
