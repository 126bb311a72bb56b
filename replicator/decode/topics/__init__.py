"""Records of topics -> row images for a database server."""
