"""The sink that writes row images, and the position after them, into tables of a MySQL or MariaDB server."""
