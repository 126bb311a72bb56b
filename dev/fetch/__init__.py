"""Server software, fetched once into the cache folder outside the tree."""
