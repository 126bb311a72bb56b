"""Groups of Cores: which Cores take part in the election of which task."""
