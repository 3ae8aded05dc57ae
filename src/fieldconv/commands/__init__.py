"""Commands of `fieldconv`, one file each. They load torch only when they need it."""
