"""How the datasets lie on disk: one file per layout, without torch."""
