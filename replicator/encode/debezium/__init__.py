"""Debezium's envelope, as its MySQL and MariaDB connectors write it with JSON converters. See ../DESIGN.md."""

from replicator.encode.debezium.format import Debezium

__all__ = ["Debezium"]
