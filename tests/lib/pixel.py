#!/usr/bin/env python3
"""Tells of a PNG "WIDTHxHEIGHT R,G,B COLOURS": its size, its first pixel, and how many different ones are in a few rows."""
import struct
import sys
import zlib

data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, idat = 8, b""
while at < len(data):
    n, kind = struct.unpack(">I4s", data[at:at + 8])
    if kind == b"IHDR":
        width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
    if kind == b"IDAT":
        idat += data[at + 8:at + 8 + n]
    at += n + 12
assert depth == 8 and colour in (2, 6)
size = 3 if colour == 2 else 4
raw = zlib.decompress(idat)
rows = [raw[y * (width * size + 1):(y + 1) * (width * size + 1)] for y in range(height)]
# the neighbours of the first pixel are all zero, so that its bytes are themselves whatever the filter
print(f"{width}x{height} {rows[0][1]},{rows[0][2]},{rows[0][3]} {len(set(rows))}")
