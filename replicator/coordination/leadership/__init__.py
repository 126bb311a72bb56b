"""Leadership of a task: election, lease, terms, and the decisions of a Core."""
