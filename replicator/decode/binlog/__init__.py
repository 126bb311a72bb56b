"""Binlog events as bytes: frames, headers, table maps, GTIDs, compression, statements."""
