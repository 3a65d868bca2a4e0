"""Collectors: each turns what helpers read into facts of one subsystem."""
