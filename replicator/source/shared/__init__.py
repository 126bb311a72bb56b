"""One dump connection for several tasks of a Core."""
