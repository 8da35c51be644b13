"""The method: pure functions on records and Arrow batches. Imports neither Spark nor torch."""
