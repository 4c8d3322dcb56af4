"""Functions for notebooks: fit, compare, run, load_study and plot_gap.

`gvibench` imports each function when it is used, so that `import gvibench` stays fast.
"""
