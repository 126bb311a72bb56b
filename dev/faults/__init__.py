"""Fault injection from outside: networks between processes, clocks, disks, processors."""
