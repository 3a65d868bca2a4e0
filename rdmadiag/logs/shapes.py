"""The patterns of record heads, one a layer; :mod:`rdmadiag.logs.grammar` applies them."""

import re

from rdmadiag.logs.stamps import MONTH, WEEKDAY

FACILITY = "kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local[0-7]"
LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")

LEAD = re.compile(r"[ \t]*(?:>[ \t]?)*[ \t]*")
MARKS = re.compile(r"[ \t]*(?:>[ \t]?)+")
DATE = re.compile(
    rf"(?:(?:{WEEKDAY}) )?(?P<month>{MONTH}) {{1,2}}(?P<day>\d{{1,2}})(?: (?P<year>\d{{4}}))?"
    r" (?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?: (?P<later>(?:19|20)\d\d)(?=[ :]|$))?"
    r"(?: (?:[A-Z]{1,4}T|UTC)(?= ))?:? *(?P<rest>.*)",
    re.DOTALL,
)
ISO = re.compile(
    rf"\[?(?:(?:{WEEKDAY}) )?(?P<date>\d{{4}}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?P<fraction>[.,]\d{{1,9}})?"
    r"(?P<zone>Z|[ ]?[+-]\d\d:?\d\d|[ ](?:UTC|GMT)(?=[ \]]))?(?:[ ][A-Z]{1,4}T(?=[ ]))?(?=[\s,;:\]]|$)[\s\],;:]*"
    r"(?P<rest>.*)",
    re.DOTALL,
)
UPTIME = re.compile(
    r"\[ *(?P<uptime>\d{1,10}\.\d{3,9})(?: <[ *\d.]+>)?\](?:\[ *(?P<caller>[TC]\d+)\])? ?(?P<rest>.*)",
    re.DOTALL,
)
CTIME = re.compile(
    rf"\[(?:{WEEKDAY}) (?P<month>{MONTH}) {{1,2}}(?P<day>\d{{1,2}}) (?P<clock>\d\d:\d\d:\d\d) (?P<year>\d{{4}})\]"
    r"(?:\[ *(?P<caller>[TC]\d+)\])? ?(?P<rest>.*)",
    re.DOTALL,
)
MINUTE = re.compile(
    rf"\[(?P<month>{MONTH}) {{0,2}}(?P<day>\d{{1,2}}) (?P<clock>\d\d:\d\d)\](?:\[ *(?P<caller>[TC]\d+)\])? ?(?P<rest>.*)",
    re.DOTALL,
)
DELTA = re.compile(
    r"\[ *\+ *(?P<delta>\d{1,9}\.\d{3,9})\](?:\[ *(?P<caller>[TC]\d+)\])? ?(?P<rest>.*)", re.DOTALL
)
EPOCH = re.compile(r"(?P<epoch>\d{9,10}\.\d{3,9}) +(?P<rest>.*)", re.DOTALL)
KMSG = re.compile(
    r"(?P<level>\d{1,5}),\d+,(?P<uptime>\d{1,18}),[^;,]*(?:,caller=(?P<caller>[TC]\d+))?[^;]{0,80};(?P<rest>.*)",
    re.DOTALL,
)
LEVEL = re.compile(r"<(?P<level>\d{1,3})>(?:1 (?=\d{4}-))?(?P<rest>.*)", re.DOTALL)
WORDS = re.compile(
    rf"(?:{FACILITY}) *:(?P<level>{'|'.join(LEVELS)})\w* *: ?(?P<rest>.*)", re.DOTALL
)
WALL = re.compile(
    rf"Message from (?:syslogd|systemd-journald)@(?P<host>\S+) at (?:(?:{WEEKDAY}) )?(?P<month>{MONTH}) +(?P<day>\d{{1,2}})"
    r" (?P<clock>\d\d:\d\d:\d\d)(?: (?P<year>\d{4}))?"
)
TAGGED = re.compile(
    rf"(?P<host>[^\s\[\]<>\"'=]{{1,255}}) +(?:(?:{FACILITY})\.[a-z]+ +)?"
    r"(?P<tag>[^\s:\[\]]{1,64})(?:\[(?P<pid>[^\]\s]{0,20})\])?:(?: |$|(?<=kernel:))(?P<rest>.*)",
    re.DOTALL,
)
TAG_ONLY = re.compile(r"(?P<tag>kernel|[\w./@-]{1,64}\[\d{1,10}\]): ?(?P<rest>.*)", re.DOTALL)
DATELESS = re.compile(
    r"(?P<host>[\w.-]{1,64})(?: kernel)?: (?P<rest>\[ *\d+\.\d{3,9}\].*)", re.DOTALL
)
"""Without ``kernel`` it is what tools like ``pdsh`` print that ask many hosts."""
FOUND_BY_GREP = re.compile(
    rf"(?:[\w./@%+~-]{{1,255}}?[:-])?(?:\d{{1,9}}[:-])?(?=(?:<\d{{1,3}}>)?(?:(?:{MONTH}) {{1,2}}\d{{1,2}} \d\d:\d\d:\d\d "
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d))"
    r"|\d{1,9}[:-](?=\[ *\d{1,10}\.\d{3,9}\])"
)
"""File and line number before a record; the file alone only where the record itself names its host."""
RFC5424 = re.compile(
    r"(?P<host>\S+) (?P<tag>\S+) (?P<pid>\S+) \S+ (?:-|(?:\[[^\]]*\])+)(?: \ufeff?(?P<rest>.*)|$)",
    re.DOTALL,
)
SOLARIS = re.compile(r"\[ID \d+ (?:\w+)\.(?P<level>[a-z]+)\] (?P<rest>.*)", re.DOTALL)
REPEATED = re.compile(r"(?:-+ )?last message repeated \d")
ADDRESS = re.compile(r"[\d.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*")
ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})")
