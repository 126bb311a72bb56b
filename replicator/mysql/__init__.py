"""The client of MySQL and MariaDB servers, for sources and targets: login, statements, errors of servers."""
