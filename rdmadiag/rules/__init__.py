"""Diagnosis rules: relating facts to each other, and reaching a verdict."""
