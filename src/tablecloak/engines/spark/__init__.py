"""The Spark engine, for tables beyond one machine: `SparkEngine`."""

from tablecloak.engines.spark.engine import SparkEngine
from tablecloak.engines.spark.tables import SparkTable

__all__ = ["SparkEngine", "SparkTable"]
