"""Reading kernel crash dumps through drgn."""
