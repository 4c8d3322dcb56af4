"""Read and write all files of a study."""
