"""What several of the other networks need, and nothing else does."""
