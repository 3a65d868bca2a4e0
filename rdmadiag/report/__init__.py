"""The report and its renderers."""
