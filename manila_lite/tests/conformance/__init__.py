# SPDX-License-Identifier: Apache-2.0
"""The published test suite of OpenStack's shared file systems (manila-tempest-plugin) against manila_lite, from outside."""
