"""Debezium's records as Confluent's AvroConverter writes them, with a schema registry. See ../DESIGN.md."""

from replicator.encode.avro.format import AvroDebezium

__all__ = ["AvroDebezium"]
