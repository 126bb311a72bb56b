"""What the compiled decoder (`replicator.compiled`) needs to know of plans, renderers and the decoder's state."""
