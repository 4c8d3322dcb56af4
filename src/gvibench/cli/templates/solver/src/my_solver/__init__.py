"""Provide a solver, a data set and a figure for gvibench."""
