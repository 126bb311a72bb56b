"""`make mutants`: every guard is removed once, and at least one test must notice."""
