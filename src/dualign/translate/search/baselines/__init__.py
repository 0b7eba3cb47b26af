"""Other decoders of forests, under the same interface."""
