"""Faults that are made from outside: what lies between two processes, clocks, disks, processors."""
