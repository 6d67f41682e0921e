"""The Spark engine: tables beyond one machine; rows stay on the workers of a cluster."""
