"""The patterns of record heads, one a layer; :mod:`rdmadiag.logs.grammar` applies them."""

import re

from rdmadiag.lazy import Lazy
from rdmadiag.logs import dates
from rdmadiag.logs.stamps import MONTH, WEEKDAY

FACILITY = "kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local[0-7]"
LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")

LEAD = Lazy(r"[ \t]*(?:>[ \t]?)*[ \t]*")
MARKS = Lazy(r"[ \t]*(?:>[ \t]?)+")
DATE = Lazy(
    rf"(?:(?:{WEEKDAY}) )?(?P<month>{MONTH}) {{1,2}}(?P<day>\d{{1,2}})(?: (?P<year>\d{{4}}))?"
    r" (?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?! [AP]M )(?: (?P<later>(?:19|20)\d\d)(?=[ :]|$))?"
    r"(?: (?:(?P<zone>UTC|GMT)|[A-Z]{1,4}T)(?= ))?:? *(?P<rest>.*)",
    re.DOTALL,
)
ISO = Lazy(
    rf"\[?(?:(?:{WEEKDAY}) )?(?P<date>\d{{4}}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?P<fraction>[.,]\d{{1,9}})?"
    r"(?! ?[AaPp]\.?[Mm]\b)(?P<zone>Z|[ ]?[+-]\d\d:?\d\d|[ ](?:UTC|GMT)(?=[ \]]))?(?:[ ][A-Z]{1,4}T(?=[ ]))?(?=[\s,;:\]]|$)[\s\],;:]*"
    r"(?P<rest>.*)",
    re.DOTALL,
)
NUMERIC = Lazy(rf"\[?{dates.DATE}(?=[\s,;:\]]|$)[\s\],;:]*(?P<rest>.*)", re.DOTALL)
UPTIME = Lazy(
    r"\[ *(?P<uptime>\d{1,10}\.\d{3,9})(?: <[ *\d.]+>)?\](?:\[ *(?P<caller>[TC]\d+)\])? ?(?P<rest>.*)",
    re.DOTALL,
)
CTIME = Lazy(
    rf"\[(?:{WEEKDAY}) (?P<month>{MONTH}) {{1,2}}(?P<day>\d{{1,2}}) (?P<clock>\d\d:\d\d:\d\d) (?P<year>\d{{4}})\]"
    r"(?:\[ *(?P<caller>[TC]\d+)\])? ?(?P<rest>.*)",
    re.DOTALL,
)
MINUTE = Lazy(
    rf"\[(?P<month>{MONTH}) {{0,2}}(?P<day>\d{{1,2}}) (?P<clock>\d\d:\d\d)\](?:\[ *(?P<caller>[TC]\d+)\])? ?(?P<rest>.*)",
    re.DOTALL,
)
DELTA = Lazy(
    r"\[ *\+ *(?P<delta>\d{1,9}\.\d{3,9})\](?:\[ *(?P<caller>[TC]\d+)\])? ?(?P<rest>.*)", re.DOTALL
)
EPOCH = Lazy(r"(?P<epoch>\d{9,10}\.\d{3,9}) +(?P<rest>.*)", re.DOTALL)
KMSG = Lazy(
    r"(?P<level>\d{1,5}),\d+,(?P<uptime>\d{1,18}),[^;,]*(?:,caller=(?P<caller>[TC]\d+))?[^;]{0,80};(?P<rest>.*)",
    re.DOTALL,
)
LEVEL = Lazy(r"<(?P<level>\d{1,3})>(?:1 (?=\d{4}-))?(?P<rest>.*)", re.DOTALL)
WORDS = Lazy(rf"(?:{FACILITY}) *:(?P<level>{'|'.join(LEVELS)})\w* *: ?(?P<rest>.*)", re.DOTALL)
WALL = Lazy(
    rf"Message from (?:syslogd|systemd-journald)@(?P<host>\S+) at (?:(?:{WEEKDAY}) )?(?P<month>{MONTH}) +(?P<day>\d{{1,2}})"
    r" (?P<clock>\d\d:\d\d:\d\d)(?: (?P<year>\d{4}))?"
)
TAGGED = Lazy(
    rf"(?P<host>[^\s\[\]<>\"'=]{{1,255}}) +(?:(?:{FACILITY})\.[a-z]+ +)?"
    r"(?P<tag>[^\s:\[\]]{1,64})(?:\[(?P<pid>[^\]\s]{0,20})\])?:(?: |$|(?<=kernel:))(?P<rest>.*)",
    re.DOTALL,
)
TAG_ONLY = Lazy(r"(?P<tag>kernel|[\w./@-]{1,64}\[\d{1,10}\]): ?(?P<rest>.*)", re.DOTALL)
DATELESS = Lazy(r"(?P<host>[\w.-]{1,64})(?: kernel)?: (?P<rest>\[ *\d+\.\d{3,9}\].*)", re.DOTALL)
"""Without ``kernel`` it is what tools like ``pdsh`` print that ask many hosts."""
FOUND_BY_GREP = Lazy(
    rf"(?:[\w./@%+~-]{{1,255}}?[:-])?(?:\d{{1,9}}[:-])?(?=(?:<\d{{1,3}}>)?(?:(?:{MONTH}) {{1,2}}\d{{1,2}} \d\d:\d\d:\d\d "
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d))"
    r"|\d{1,9}[:-](?=\[ *\d{1,10}\.\d{3,9}\])"
)
"""File and line number before a record; the file alone only where the record itself names its host."""
RFC5424 = Lazy(
    r"(?P<host>\S+) (?P<tag>\S+) (?P<pid>\S+) \S+ (?:-|(?:\[[^\]]*\])+)(?: \ufeff?(?P<rest>.*)|$)",
    re.DOTALL,
)
SOLARIS = Lazy(r"\[ID \d+ (?:\w+)\.(?P<level>[a-z]+)\] (?P<rest>.*)", re.DOTALL)
REPEATED = Lazy(r"(?:-+ )?last message repeated \d")
ADDRESS = Lazy(r"[\d.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*")
ESCAPE = Lazy(r"\\x([0-9a-fA-F]{2})")
