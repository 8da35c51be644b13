"""Interrupts held back while something must not be left half done, such as a JVM that is just starting.

An interrupt in the seconds in which PySpark starts its JVM leaves that JVM behind for ever; and the handler that
PySpark then installs calls into a connection that is in use, and fails.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Let no interrupt in while the block runs. If one came, KeyboardInterrupt is raised once the block has ended.

    The handler from before stands again afterwards, whatever the block installed. Outside the main thread, which
    receives no interrupts, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
