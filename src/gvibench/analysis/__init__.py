"""Compute gaps, efforts, bands, rankings and theory checks from the aggregate of a study."""
