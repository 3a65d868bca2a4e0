"""Known faults, and whether a kernel has their fix."""
