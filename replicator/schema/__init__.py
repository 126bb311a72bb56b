"""The schema history: what CREATE TABLE and its changes say of the tables that the binlog only hints at."""
