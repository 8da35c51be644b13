"""Interrupts wait for the end of a block, and none is lost."""

import os
import signal
import threading

import pytest

from jobs.interrupts import interrupts_held_back


def test_an_interrupt_comes_after_the_block() -> None:
    done = []

    def interrupted() -> None:
        with interrupts_held_back():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["all of it"]


def test_the_handler_from_before_stands_again_whatever_the_block_installed() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupts_held_back():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_of_the_block_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="its own"), interrupts_held_back():
        raise ValueError("its own")


def test_other_threads_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=lambda: interrupts_held_back().__enter__())
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before
