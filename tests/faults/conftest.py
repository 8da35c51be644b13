"""The finished small corpus of the end-to-end tests, to compare with."""

from tests.e2e.conftest import finished as finished
