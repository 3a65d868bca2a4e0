"""Finding out what an input is, and giving its bytes."""
