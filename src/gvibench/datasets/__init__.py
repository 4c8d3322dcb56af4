"""Load, split and scale data sets, and write the rows of a run to one file."""
