"""The commands that check: what is committed, what of the benchmarks was found, whether a machine can run the jobs."""

import argparse

from curation import storage
from curation.errors import InfrastructureError, IntegrityError
from curation.verify import verify
from jobs import contamination, shown
from jobs.commands.arguments import command, reading
from jobs.console import Console, say
from jobs.doctor import examine


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands of this module."""
    one = reading(commands, "verify", _verify, "check everything committed again, without Spark")
    contamination.add_scan_arguments(one)
    one = reading(commands, "contamination", contamination.command, "which benchmark examples were found, and where")
    contamination.add_arguments(one)
    one = command(commands, "doctor", _doctor, "whether machine, store and cluster can run the jobs")
    one.add_argument("--work", metavar="DIR", help="work folder whose store and disk are tried")
    one.add_argument("--spark", action="store_true", help="start Spark and look at every executor")
    one.add_argument("--master", metavar="MASTER", help="the same on this Spark master")


def _verify(options: argparse.Namespace, console: Console) -> int:
    root = storage.absolute(options.work)
    found = verify(root, say)
    scanned = contamination.scan(options, root, say) if found.ok else None
    if options.json:
        console.json({**found.to_json(), **({"contamination": scanned.to_json()} if scanned else {})})
    else:
        shown.show_verification(console, found)
        contamination.show_audit(console, scanned)
    return 0 if found.ok and (scanned is None or scanned.ok) else IntegrityError.exit_code


def _doctor(options: argparse.Namespace, console: Console) -> int:
    work = storage.absolute(options.work) if options.work else None
    checks = list(examine(work, options.master, options.spark))
    stopped = [check for check in checks if check.stops]
    if options.json:
        console.json({"ok": not stopped, "checks": [check.to_json() for check in checks]})
    else:
        shown.show_checks(console, checks)
    return InfrastructureError.exit_code if stopped else 0
