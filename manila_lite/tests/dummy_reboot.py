# SPDX-License-Identifier: Apache-2.0
"""What a reboot of a dummy backend loses."""


def lose_exports(driver):
    """Stop all share servers and drop all exports and rules."""
    store = driver.store
    with store.locked():
        for server in store.servers.all():
            server.running = False
            store.servers.put(server)
        for records in (store.shares, store.snapshots):
            for record in records.all():
                record.exported, record.rules = False, {}
                records.put(record)
