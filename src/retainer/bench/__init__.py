"""The benchmark: presets, cells, and the runs that measure what is missing."""
