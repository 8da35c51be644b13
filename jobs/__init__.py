"""The engine: each stage as a spark-submit entry point, and the pipeline that runs them in order."""
