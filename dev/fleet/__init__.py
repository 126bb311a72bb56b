"""Measures a fleet: 1,000 tasks without their data path over five Cores and three ZooKeepers (`make fleet`)."""
