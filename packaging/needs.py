#!/usr/bin/env python3
"""What a program for macOS (64-bit Mach-O) needs:

    packaging/needs.py PROGRAM             the libraries, one a line
    packaging/needs.py --system PROGRAM    the oldest system that starts it, as a wheel's name has it: 15_0
"""
import struct
import sys

LOADS_A_LIBRARY = (0xC, 0x18 | 0x80000000, 0x1F | 0x80000000, 0x23 | 0x80000000)
NAMES_A_SYSTEM = 0x32


def commands(program):
    """(command, position) of every load command."""
    magic, _, _, _, count, _, _, _ = struct.unpack_from("<8I", program)
    if magic != 0xFEEDFACF:
        raise ValueError("no Mach-O program of 64 bits")
    at = 32
    for _ in range(count):
        command, size = struct.unpack_from("<2I", program, at)
        yield command, at
        at += size


def libraries(program):
    for command, at in commands(program):
        if command in LOADS_A_LIBRARY:
            name = at + struct.unpack_from("<I", program, at + 8)[0]
            yield program[name:program.index(b"\0", name)].decode()


def system(program):
    for command, at in commands(program):
        if command == NAMES_A_SYSTEM:
            version = struct.unpack_from("<I", program, at + 12)[0]
            return f"{version >> 16}_{version >> 8 & 255}"
    raise ValueError("the program names no system")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with open(sys.argv[-1], "rb") as file:
        data = file.read()
    print(system(data) if sys.argv[1] == "--system" else "\n".join(libraries(data)))
