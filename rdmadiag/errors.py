"""Errors that a user can mend; everything else is a fault of rdmadiag."""


class UserError(Exception):
    """Wrong usage, or an input that cannot be read at all: one sentence, exit status 2."""


class RuleError(UserError):
    """A rule file that does not follow its schema; the text starts with ``file: path of the key``."""
