"""What redaction looks for: patterns of names and addresses, and the words that are none."""

from collections.abc import Iterable
from typing import Any

import regex

_HEX = "[0-9A-Fa-f]"
_TLD = (
    "com|net|org|edu|gov|mil|int|arpa|info|local|localdomain|lan|internal|intranet|corp|home|priv|private|"
    "test|example|invalid|cloud|io|dev|uk|de|fr|jp|cn|us|ca|au|ch|nl|eu|br|kr|sg|se|es|pl|tw|nz|mx|za"
)

PUBLIC_HOSTS = frozenset(
    [
        "bugzilla.redhat.com",
        "access.redhat.com",
        "bugs.debian.org",
        "security-tracker.debian.org",
        "www.kernel.org",
        "bugzilla.kernel.org",
        "git.kernel.org",
        "lore.kernel.org",
        "patchwork.kernel.org",
        "lists.infradead.org",
        "github.com",
        "linux.oracle.com",
        "oss.oracle.com",
        "docs.oracle.com",
        "support.oracle.com",
        "cve.mitre.org",
        "nvd.nist.gov",
        "bugs.launchpad.net",
        "ubuntu.com",
        "www.openfabrics.org",
        "docs.nvidia.com",
    ]
)
"""Where what is known about faults can be read: hosts that say nothing about the reporter."""

USER_WORDS = frozenset(
    [
        "root",
        "space",
        "mode",
        "memory",
        "process",
        "page",
        "pages",
        "address",
        "data",
        "stack",
        "code",
    ]
)
"""What may follow the word ``user`` and names nobody."""

_PATTERN = rf"""
    (?<![A-Za-z0-9]) (?:
        (?P<keep> \L<keep> ) (?![A-Za-z0-9])
      | (?P<exact> \L<exact> ) (?![A-Za-z0-9])
      | (?P<nqn> (?:nqn|iqn)\.[0-9]{{4}}-[0-9]{{2}}\.[^\s"'<>,;\\(){{}}\[\]]+ | (?:naa|eui)\.{_HEX}{{16,32}} )
      | (?P<uuid> {_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}} ) (?![A-Za-z0-9])
      | (?P<bytes> (?:{_HEX}{{2}}(?P<sep>[:-])){{1}}(?:{_HEX}{{2}}(?P=sep)){{4,30}}{_HEX}{{2}} ) (?![A-Za-z0-9])
      | (?P<mail> [A-Za-z0-9_][\w.+-]*@[A-Za-z0-9][\w.-]*\w )
      | (?P<host> (?i:\L<hosts>) (?:\.[A-Za-z][A-Za-z0-9-]*)* ) (?![A-Za-z0-9])
      | (?P<fqdn> (?i:(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:{_TLD})) ) (?![A-Za-z0-9_]|\.\w)
    )
    | (?<![0-9.]) (?P<net4> (?:\d{{1,3}}\.){{3}}\d{{1,3}}/\d{{1,2}} ) (?!\d)
    | (?<![0-9A-Za-z_]) (?P<ip6>
        (?:{_HEX}{{0,4}}:){{2,7}} (?: (?:\d{{1,3}}\.){{3}}\d{{1,3}} | {_HEX}{{0,4}} ) ) (?![0-9A-Za-z_:])
    | (?<![0-9.]) (?P<ip4> (?:\d{{1,3}}\.){{3}}\d{{1,3}} ) (?!\d|\.?[A-Za-z_])
    | (?<![0-9A-Za-z]) (?P<guid> 0[xX]{_HEX}{{12,16}} | {_HEX}{{16}} ) (?![0-9A-Za-z])
    | (?<![0-9A-Za-z]) (?P<enx> enx{_HEX}{{12}} ) (?![0-9A-Za-z])
    | (?<= (?i: \b(?:user|logname|ruser|acct|login|username)\s?[=:]\s?["']? ) ) (?P<user> [A-Za-z_][\w.-]*\$? )
    | (?<= \b(?:for|by|from|of)\ (?:invalid\ )?user\ ["']? ) (?P<user> [A-Za-z_][\w.-]*\$? )
    | (?<= \b[ug]id=\d{{1,10}}\( | \bAccepted\ \w{{1,20}}\ for\  | \bsudo:\s{{1,4}} ) (?P<user> [A-Za-z_][\w.-]*\$? )
    | (?<= /(?:home|Users)/ ) (?P<home> [\w.-]+ )
    | (?<= (?i: \b(?:serial(?:[ _-]?(?:number|num|no))?|s/n|asset[ _-]?tag|service[ _-]?tag)\.?\s?[:=\#]\s?["']? ) )
      (?P<serial> (?=[\w-]*\d)[A-Za-z0-9][\w-]{{4,}} )
"""


def pattern(
    hosts: Iterable[str], exact: Iterable[str], keep: Iterable[str]
) -> "regex.Pattern[str]":
    """
    Return the pattern of everything that is to be replaced; the group that matched tells its kind.

    :param hosts: Host names, in lower case.
    :param exact: Words to replace wherever they stand.
    :param keep: Words that look like addresses and are none (kernel releases).
    """
    text = _PATTERN
    lists: dict[str, Any] = {"hosts": set(hosts), "exact": set(exact), "keep": set(keep)}
    for name, words in lists.items():
        if not words:  # an empty list would match everywhere
            text = text.replace(rf"\L<{name}>", "(?!)")
    return regex.compile(text, regex.VERBOSE, **{n: w for n, w in lists.items() if w})


PLAIN_FILE = regex.compile(
    r"""(?x)
    \.{0,2} | ~ | \d{1,4}
    | (?: vmcore(?:-dmesg)? | messages | syslog | kern | kernel | dmesg | journal | journalctl | console | boot
        | crash | var | log | logs | sos_commands | proc | sys | kcore | capsule | core | dump | kdump )
      (?: [-._]? \d{1,8} )* (?: \.(?:gz|xz|bz2|zst|lz4|log|txt|json|elf|kdump) )*
    """
)
"""Names of files and folders that say nothing about whose they are."""

SUFFIX = regex.compile(r"(?:\.(?:gz|xz|bz2|zst|lz4|tgz|tar|zip|log|txt|json|csv|elf|kdump))+$")
