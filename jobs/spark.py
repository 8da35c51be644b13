"""The Spark session with every load-bearing setting pinned, and `run_shards`, the one way to map shards.

Spark distributes numbers of shards; Python tasks open, read, write and commit. A task that fails says which
class of error and where in the code, never what the shard held.
"""

import contextlib
import gc
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from curation import errors
from curation.errors import CurationError, InfrastructureError, RecipeError
from jobs.interrupts import interrupts_held_back
from jobs.java import ensure_java

# Why each stands here is told in docs/scaling.md; what the running Spark does not know is left out and listed.
SETTINGS = {
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.sortBeforeRepartition": "true",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.speculation": "false",
    "spark.executorEnv.PYTHONHASHSEED": "0",
    "spark.python.worker.reuse": "true",
    "spark.ui.showConsoleProgress": "false",
}
# Spark 3.5.7 does not know these, 4.3.0 knows all (asked of both). Settings of the engine's core are known to either.
_SINCE = {
    "spark.sql.shuffle.orderIndependentChecksum.enabled": (4, 1),
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": (4, 1),
    "spark.sql.execution.arrow.maxBytesPerBatch": (4, 1),
}
LEFT_OUT = "left out, unknown to this version"
_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.python.unix.domain.socket.enabled": "true",  # 25 ms a task over TCP, 6 ms over a socket (Spark 4.1 on)
}

# The JVM only moves Arrow buffers: its optimising compiler and its parallel collector cost more than they save. One
# deduplication of 20,000 documents, session included, took 40 CPU-seconds with them and 21 without.
_LIGHT_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


_MASTER = re.compile(r"local(-cluster)?($|\[)|spark://|yarn$|k8s://")


def open_session(master: str | None = None, settings: dict[str, str] | None = None) -> Any:
    """Return the session, with Java found and every setting of `SETTINGS` in force.

    `master` defaults to what spark-submit gave, else to all cores of this machine with four attempts a task:
    `local[N]` alone never retries.
    """
    if master is not None and not _MASTER.match(master):
        raise RecipeError(
            f"--master {master}: Spark has no such master; give local[N,4], spark://HOST:PORT, yarn, or k8s://URL"
        )
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else spark-submit's JVM is running already
        os.environ["JAVA_HOME"] = str(ensure_java().home)
    import pyspark
    from pyspark.sql import SparkSession

    given = _submitted()
    submitted = given.get("spark.master")
    master = master or submitted or f"local[{os.cpu_count()},4]"
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("curate")
    pinned = {**SETTINGS, **(_local_settings() if master.startswith("local") else {}), **(settings or {})}
    unknown = settings_left_out(pyspark.__version__)
    for name, value in pinned.items():
        if name not in unknown and (name not in given or name in SETTINGS):
            builder = builder.config(name, value)
    try:
        with interrupts_held_back():
            session = builder.getOrCreate()
    except _engine_failures() as error:
        raise InfrastructureError(
            f"Spark did not start on {master} ({type(error).__name__}); see `curate doctor`"
        ) from None
    session.sparkContext.setLogLevel("OFF")
    return session


def _submitted() -> dict[str, str]:
    """Return what spark-submit was given; nothing if this program started by itself."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()  # until then a SparkConf is empty, also under spark-submit
    return dict(SparkConf().getAll())


def _local_settings() -> dict[str, str]:
    quiet = Path(__file__).with_name("log4j2.properties").as_uri()
    return {**_LOCAL, "spark.driver.extraJavaOptions": f"{_LIGHT_JVM} -Dlog4j2.configurationFile={quiet}"}


class ShardFailure(Exception):
    """A task's error, as JSON: its class, its place in the code, and our own message if it is one of ours."""


def run_shards(spark: Any, work: Callable[[Any], Any], payloads: Sequence[Any]) -> list[Any]:
    """Return `work(payload)` for each payload, in order; one task each, anywhere on the cluster.

    `work` must be idempotent: retries, speculative copies and other drivers may run it again. What it returns
    must be small plain data (JSON), since it comes to the driver.

    Raises:
        CurationError: the first failure, of its own class if the task raised one of ours.
    """
    if not payloads:
        return []
    table = spark.sparkContext.broadcast(list(payloads))
    # range(0, n, 1, n): partition i holds the number i and nothing else, on every version, without a shuffle
    numbers = spark.range(0, len(payloads), 1, len(payloads))
    rows = collect(numbers.mapInArrow(_Task(table, work), "number long, result string"))
    table.destroy()
    results = {row["number"]: json.loads(row["result"]) for row in rows}
    return [results[number] for number in range(len(payloads))]


def shard_rows(
    spark: Any, work: Callable[[Any], Iterator[pa.RecordBatch]], payloads: Sequence[Any], schema: str
) -> Any:
    """Return a DataFrame of the narrow rows that `work(payload)` yields; one task per payload."""
    if not payloads:
        return spark.createDataFrame([], schema)
    table = spark.sparkContext.broadcast(list(payloads))
    return spark.range(0, len(payloads), 1, len(payloads)).mapInArrow(_Rows(table, work), schema)


def collect(frame: Any) -> list[Any]:
    """Return a narrow DataFrame's rows; a task's failure comes back as what it was."""
    with engine_errors():
        return list(frame.collect())


def stream(frame: Any) -> Iterator[Any]:
    """Yield a narrow DataFrame's rows partition by partition, so that the driver holds one partition."""
    with engine_errors():
        yield from frame.toLocalIterator()


def in_batches(work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> Callable[[Any], Any]:
    """Return a function for mapInArrow that hides foreign errors as `run_shards` does."""
    return _Batches(work)


@contextlib.contextmanager
def engine_errors() -> Iterator[None]:
    """Turn what Spark raises into the task's own error, or into InfrastructureError."""
    try:
        yield
    except _engine_failures() as error:
        raise _cause(str(error)) from None


def running_tasks(started: Callable[[], Any]) -> tuple[int, int]:
    """Return the (finished, all) tasks of what a session runs now, to be told and for nothing else."""
    session = started()
    if session is None:
        return 0, 0
    try:
        tracker = session.sparkContext.statusTracker()
        running = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    except _engine_failures():  # it is being stopped
        return 0, 0
    return sum(s.numCompletedTasks for s in running if s), sum(s.numTasks for s in running if s)


def settings_in_force(spark: Any) -> dict[str, str]:
    """Return the pinned settings as the session has them, its version, and the names of those it does not know."""
    unknown = settings_left_out(spark.version)
    found = {name: str(spark.conf.get(name)) for name in SETTINGS if name not in unknown}
    return {"spark.version": spark.version, **found, **({LEFT_OUT: ", ".join(unknown)} if unknown else {})}


def settings_left_out(version: str) -> list[str]:
    """Return the settings that a version of Spark does not know.

    >>> len(settings_left_out("3.5.7")), settings_left_out("4.3.0")
    (3, [])
    """
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    return [name for name, since in _SINCE.items() if numbers < since]


class _Task:
    def __init__(self, table: Any, work: Callable[[Any], Any]) -> None:
        self._table, self._work = table, work

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                with _task_boundary():
                    result = json.dumps(self._work(self._table.value[number]))
                yield pa.RecordBatch.from_arrays(
                    [pa.array([number]), pa.array([result], pa.string())], ["number", "result"]
                )
        gc.freeze()  # Spark collects garbage after every task; models and modules loaded by now stay anyway


class _Rows:
    def __init__(self, table: Any, work: Callable[[Any], Iterator[pa.RecordBatch]]) -> None:
        self._table, self._work = table, work

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with _task_boundary():
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from self._work(self._table.value[number])
        gc.freeze()


class _Batches:
    def __init__(self, work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> None:
        self._work = work

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with _task_boundary():
            yield from self._work(batches)
        gc.freeze()


@contextlib.contextmanager
def _task_boundary() -> Iterator[None]:
    """The one place where a task's errors are caught: their text may quote a document, and Spark would log it."""
    try:
        yield
    except Exception as error:  # noqa: BLE001
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        told = {
            "error": _kind(error),
            "message": str(error) if isinstance(error, CurationError) else "",
            "at": [f"{os.path.basename(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames],
        }
        raise ShardFailure(json.dumps(told)) from None


def _kind(error: Exception) -> str:
    """Return the class that the driver knows the error by: for ours, the one that stands for its exit code."""
    ours = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__]
    return ours[0] if ours else type(error).__name__


def _cause(text: str) -> CurationError:
    found = re.search(r"ShardFailure: (\{.*\})", text)
    if found is None:
        return InfrastructureError(
            "Spark lost a worker or an executor, or the driver's JVM; run the same command again"
        )
    told = json.loads(found[1])
    kind: type[CurationError] | None = getattr(errors, told["error"], None)
    if kind is not None and issubclass(kind, CurationError):
        return kind(told["message"])
    return InfrastructureError(f"a task failed with {told['error']} at {' < '.join(reversed(told['at']))}")


def _engine_failures() -> tuple[type[BaseException], ...]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException, PySparkRuntimeError

    return (PySparkException, PySparkRuntimeError, Py4JError, ConnectionError)
