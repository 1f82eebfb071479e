# SPDX-License-Identifier: Apache-2.0
"""Data that goes from one backend to another: replicas, and migration of shares and share servers."""
