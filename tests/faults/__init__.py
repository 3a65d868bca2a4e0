"""Fault injection: sample dumps with seeded damage, and what the diagnosis makes of them."""
