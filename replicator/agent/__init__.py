"""The process on hosts without a Core: reports their vitals."""
