"""sequence_file.py FILE...: prints each record of uncompressed sequence files of byte strings as KEY<tab>VALUE in hexadecimal digits."""

import struct
import sys


def vint(data, at):
    """One of Hadoop's variable-length integers: its value and the offset behind it."""
    first = struct.unpack_from(">b", data, at)[0]
    if first >= -112:
        return first, at + 1
    negative = first < -120
    length = -120 - first if negative else -112 - first
    value = int.from_bytes(data[at + 1 : at + 1 + length], "big")
    return (~value if negative else value), at + 1 + length


def records(data):
    if data[:4] != b"SEQ\x06":
        raise ValueError("not a sequence file of version 6")
    at = 4
    for _ in ("key class", "value class"):
        length, at = vint(data, at)
        if data[at : at + length] != b"org.apache.hadoop.io.BytesWritable":
            raise ValueError("not a file of byte strings")
        at += length
    if data[at : at + 2] != b"\0\0":
        raise ValueError("compressed")
    at += 2
    if struct.unpack_from(">i", data, at)[0] != 0:
        raise ValueError("has metadata")
    at += 4
    sync = data[at : at + 16]
    at += 16
    while at < len(data):
        length = struct.unpack_from(">i", data, at)[0]
        at += 4
        if length == -1:
            if data[at : at + 16] != sync:
                raise ValueError(f"wrong sync mark at {at}")
            at += 16
            continue
        key_length = struct.unpack_from(">i", data, at)[0]
        body = data[at + 4 : at + 4 + length]
        at += 4 + length
        # Each byte string starts with its own length, four bytes.
        yield body[4:key_length], body[key_length + 4 :]


for name in sys.argv[1:]:
    with open(name, "rb") as file:
        for key, value in records(file.read()):
            print(key.hex(), value.hex(), sep="\t")
