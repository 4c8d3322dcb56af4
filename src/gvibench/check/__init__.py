"""Check devices and solvers."""
