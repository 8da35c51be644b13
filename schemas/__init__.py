"""The contracts: every table, the recipe, the manifest and the shard list, each field described."""
