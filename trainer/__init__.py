"""The consumer: GPT training on PyTorch's own tensor, pipeline and data parallelism, reading our shards.

`config` states a run, `model` is the network, `parallel` spreads it over processes, `loop` trains it. Of this project
the package imports the shards and the benchmark readers alone, and nothing imports it: `curate train` starts it.
"""
