"""drgn helpers, one module a kernel subsystem; they neither print nor know about facts."""
