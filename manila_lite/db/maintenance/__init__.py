# SPDX-License-Identifier: Apache-2.0
"""Work on whole databases: schema, copies, secrets."""
