# SPDX-License-Identifier: Apache-2.0
"""What each client really calls, as tables; the tests beside them run every row, doc/source/user/clients.rst shows them."""
