# SPDX-License-Identifier: Apache-2.0
"""The parts of an API's rows: calls, fields, bodies, views, and handlers that many resources share. It knows no resource."""
