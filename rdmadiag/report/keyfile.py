"""The key of a redaction, kept on request: with it other reports get the same pseudonyms, or names come back."""

import os
from contextlib import ExitStack
from pathlib import Path

import msgspec

from rdmadiag.errors import UserError

LIMIT = 64 << 20
"""Bytes: far above a key file with all names of a large site."""


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    What a key file holds.

    :ivar key: The secret, in hex.
    :ivar names: Pseudonym -> what it stands for.
    """

    rdmadiag_key: int
    key: str
    names: dict[str, str] = {}


def read_key(path: Path) -> bytes:
    """
    Return the secret of a key file.

    :raises UserError: Not readable, or no key file.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
        if len(data) > LIMIT:
            raise UserError(f"{path}: larger than {LIMIT >> 20} MiB, that is no key file")
        secret = bytes.fromhex(msgspec.json.decode(data, type=Key).key)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
    except (msgspec.DecodeError, ValueError) as error:
        raise UserError(f"{path}: no key file of rdmadiag: {error}") from error
    if len(secret) < 16:
        raise UserError(f"{path}: the key is too short")
    return secret


def write_key(path: Path, key: bytes, table: dict[str, str]) -> None:
    """
    Write a key file that only its owner can read.

    :param table: Original -> pseudonym.
    :raises UserError: The file exists already, or cannot be written.
    """
    names = {pseudonym: original for original, pseudonym in sorted(table.items())}
    text = msgspec.json.format(msgspec.json.encode(Key(1, key.hex(), names)), indent=1)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with ExitStack() as undo:  # of a file of which only a part could be written nothing is left
            undo.callback(path.unlink)
            with os.fdopen(handle, "wb") as file:
                file.write(text + b"\n")
            undo.pop_all()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
