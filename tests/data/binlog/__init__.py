"""Binlog files of real servers (MySQL 9.7.4, MariaDB 10.11.18): `python -m tests.data.binlog` writes them anew."""

from pathlib import Path

FOLDER = Path(__file__).parent


def read(case: str) -> bytes:
    return (FOLDER / f"{case}.bin").read_bytes()
