# SPDX-License-Identifier: Apache-2.0
"""What runs in a twin of this machine (tests/services/twin.py), where the kernel has an NFS client; tests beside start it."""
