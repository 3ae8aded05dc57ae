"""Commands of `fieldconv`, one file each or a few in one. They load torch only when they need it."""
