"""Finding benchmark texts in documents and cutting them out, by the method of MT-NLG and a stricter one."""

from typing import Literal

Mode = Literal["paper", "extended"]
"""Which texts of an example protect it, and how words are told apart: as MT-NLG's tool did, or more strictly."""
