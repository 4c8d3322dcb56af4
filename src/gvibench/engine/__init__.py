"""Carry out runs, find optima and tune steps."""
