"""Schema history: table definitions kept from DDL statements, for what binlog events leave out."""
