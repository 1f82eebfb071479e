# SPDX-License-Identifier: Apache-2.0
"""Events: what changed since, for clients that listen. One thread of a process looks for all of them."""
