"""Define runs: their specification, its hash and the names that all layers share."""
