"""Other networks, each in a file of its own: to compare with, and to start from."""
