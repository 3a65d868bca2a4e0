"""One module a sub-command."""
