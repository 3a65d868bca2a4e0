"""Facts, between the collectors (logs, vmcore) and the rules."""
