"""Plants the fault that the environment describes, in every Python process of a run: driver, daemon and workers.

Python imports a module of this name when it starts. The folder is on the PYTHONPATH of runs that are to suffer, and
of no others; the product holds no hook for it.
"""

import os

if "FAULT" in os.environ:
    import striking

    striking.plant(os.environ["FAULT"])
