"""What ``rdmadiag --help`` prints, word for word as the parser would (there is a test): importing that takes longer than all the rest."""

HELP = """\
Usage: rdmadiag [OPTIONS] COMMAND [ARGS]...

  Says what is wrong with RDMA on a machine, from its kernel crash dumps and
  logs.

Options:
  --version             Print the version.
  --install-completion  Install completion for the current shell.
  --show-completion     Show completion for the current shell, to copy it or
                        customize the installation.
  -h, --help            Show this message and exit.

Commands:
  diagnose  Say what is wrong: read dumps and logs and report findings with...
  inspect   Show what is in a dump or log, as a table.
  extract   Cut a capsule out of a dump: a very small dump with just the...
  shell     Open a drgn session on a dump, with the helpers loaded.
  report    Write a saved report in another format.
  compare   Say what is new, gone or changed from one saved report to another.
  explain   Explain a diagnosis, an event or a fix.
  rules     List, check and test rules.
  fix       Known faults: which a kernel has, which an input looks like.
"""
