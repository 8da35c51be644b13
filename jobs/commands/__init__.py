"""The commands of `curate`, a module for each group: what they take, and what they do with it."""
