"""Example jobs, shipped with the package and found by name."""
