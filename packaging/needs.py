#!/usr/bin/env python3
"""The libraries that a program of another system asks for, one a line: packaging/needs.py PROGRAM (Mach-O of 64 bits)."""
import struct
import sys

LOADS_A_LIBRARY = (0xC, 0x18 | 0x80000000, 0x1F | 0x80000000, 0x23 | 0x80000000)


def libraries(program):
    magic, _, _, _, commands, _, _, _ = struct.unpack_from("<8I", program)
    if magic != 0xFEEDFACF:
        raise ValueError("no Mach-O program of 64 bits")
    at = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<2I", program, at)
        if command in LOADS_A_LIBRARY:
            name = at + struct.unpack_from("<I", program, at + 8)[0]
            yield program[name:program.index(b"\0", name)].decode()
        at += size


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        print("\n".join(libraries(file.read())))
