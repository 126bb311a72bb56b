"""Who leads a task: election, lease, terms, and the decisions of a Core about its part."""
