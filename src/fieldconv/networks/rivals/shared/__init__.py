"""Code that only the networks of `rivals` share."""
