"""Provide the gvibench command."""
