# SPDX-License-Identifier: Apache-2.0
"""Tables of the requests of each client. The tests in this package run every row; doc/source/user/clients.rst shows them."""
