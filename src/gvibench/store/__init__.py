"""Read and write every file of a study."""
