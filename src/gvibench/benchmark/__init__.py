"""Run the public benchmark, score traces of other libraries, and compare them with its archive."""
