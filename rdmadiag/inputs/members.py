"""Which files of an archive or a directory are worth reading as logs."""

import re
from enum import Enum

from rdmadiag.lazy import Lazy

SAMPLE = 16 << 10

_SYSTEM = frozenset(
    ("proc", "sys", "dev", "boot", "usr", "lib", "lib64", "bin", "sbin", "etc", "run")
)
_PLACE = Lazy(
    r"(?:^|/)proc/version$|(?:^|/)(?:var/log/|var/crash/|sos_strings/|sos_commands/(?:kernel|logs|process|rds|infiniband|rdma|nvme"
    r"|networking|block|systemd|auditd)/)"
    r"|(?:^|/)[^/]*(?:dmesg|journal|messages|syslog|kern\.log|console|vmcore)[^/]*$"
)
_BORING = Lazy(
    r"\.(?:py|sh|c|h|o|ko|so|conf|html?|xml|ya?ml|css|js|rpm|deb|png|jpg|pdf|db|sqlite)$"
)

_STAMP = Lazy(
    rb"""[ \t>]*(?:[\w./@%+~-]{1,100}:)?(?:\d{1,9}[:-])?(?:<\d{1,3}>)?(?:
        (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[ ]{1,2}\d{1,2}[ ](?:\d{4}[ ])?\d\d:\d\d:\d\d
        | "?(?:[A-Z][a-z]{2}[ ])?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d
        | \[[ ]*\d+\.\d{3,9}\]
        | \[(?:[A-Z][a-z]{2}[ ])?[A-Z][a-z]{2}[ ]*\d+[ ]\d\d:\d\d
        | \[[ ]*\+\d+\.\d+\]
        | \{"(?:__CURSOR|__REALTIME_TIMESTAMP|_[A-Z]+|MESSAGE|PRIORITY|SYSLOG_[A-Z]+)"
        | __CURSOR=
        | (?:kern|user|daemon)[ ]*:\w+[ ]*:
        | \d,\d+,\d+,-[;,]
        | PID:[ ]+\d+[ ]+TASK:
        | \#\d+[ ]+(?:\[[0-9a-f]{16}\]|\w+[+(])
        | \[<[0-9a-f]+>\][ ]
    )""",
    re.VERBOSE,
)
_LINES = 60


class Interest(Enum):
    """Whether a file is read."""

    YES = "by its place"
    LOOK = "if it looks like a log"
    NO = "never"


def interest(path: str) -> Interest:
    """Return whether the file *path* of an archive or a directory is read."""
    parts = path.split("/")
    if _PLACE.search(path):
        return Interest.YES
    if _BORING.search(path) or _SYSTEM.intersection(parts[:-1][:2]):
        return Interest.NO
    return Interest.LOOK


def looks_like_log(head: bytes) -> bool:
    """Tell whether a good part of the first lines begin with a time stamp."""
    lines = [x for x in head[:SAMPLE].split(b"\n")[:_LINES] if x.strip()]
    stamped = sum(1 for x in lines if _STAMP.match(x))
    return stamped >= 1 and stamped * 3 >= len(lines)
