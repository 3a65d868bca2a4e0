"""From log bytes to records, and from records to facts."""
