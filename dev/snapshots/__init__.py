"""`make snapshots`: snapshots of random tables while random writers change them, under random faults."""
