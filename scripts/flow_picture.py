#!/usr/bin/env python3
"""Draws a picture of a flow: flow_picture.py FIELDS.vti PICTURE.png [--scale 8]

The picture shows the speed in the plane x = middle, with z to the right and y upwards, from dark
(at rest) to light (fastest); solid nodes are grey. Reads the output of `md-cli lbm` on one rank;
needs only Python.
"""

import argparse
import re
import struct
import sys
import zlib
from pathlib import Path

# Colours from rest to the largest speed.
COLOURS = [(13, 8, 60), (84, 15, 109), (187, 55, 84), (249, 142, 9), (252, 255, 164)]
SOLID = (150, 150, 150)


def arrays(path):
    """Returns the numbers of nodes, and the arrays of the file by name."""
    data = path.read_bytes()
    begin = data.index(b"\n_") + 2
    head = data[:begin].decode()
    x, y, z = (int(number) for number in re.search(r'WholeExtent="0 (\d+) 0 (\d+) 0 (\d+)"', head).groups())
    found = {}
    for kind, name, offset in re.findall(r'<DataArray type="(\w+)" Name="(\w+)".*?offset="(\d+)"', head, re.DOTALL):
        place = begin + int(offset)
        (length,) = struct.unpack_from("<Q", data, place)
        code, size = {"Float64": ("d", 8), "Float32": ("f", 4), "UInt8": ("B", 1)}[kind]
        found[name] = struct.unpack_from(f"<{length // size}{code}", data, place + 8)
    return (x, y, z), found


def colour(share):
    place = min(max(share, 0.0), 1.0) * (len(COLOURS) - 1)
    low = min(int(place), len(COLOURS) - 2)
    return tuple(round(a + (place - low) * (b - a)) for a, b in zip(COLOURS[low], COLOURS[low + 1]))


def png(rows):
    """Encodes rows of (red, green, blue) as PNG."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    size = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fields", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--scale", type=int, default=8, help="pixels per node")
    given = parser.parse_args()
    try:
        (nx, ny, nz), values = arrays(given.fields)
    except OSError as error:
        sys.exit(f"flow_picture.py: cannot read {given.fields}: {error.strerror}")
    except (AttributeError, ValueError, KeyError, UnicodeDecodeError, struct.error):
        sys.exit(f"flow_picture.py: {given.fields} is no file of fields that `md-cli lbm` wrote on one rank")
    missing = [name for name in ("velocity", "solid") if name not in values]
    if missing:
        sys.exit(f"flow_picture.py: {given.fields} has no array `{missing[0]}`")

    def node(y, z):
        return (z * ny + y) * nx + nx // 2

    speeds = [[sum(u * u for u in values["velocity"][3 * node(y, z) :][:3]) ** 0.5 for z in range(nz)] for y in range(ny)]
    fastest = max(map(max, speeds)) or 1.0

    def pixel(row, column):
        y, z = (row + 0.5) / given.scale - 0.5, (column + 0.5) / given.scale - 0.5
        if values["solid"][node(min(max(round(y), 0), ny - 1), min(max(round(z), 0), nz - 1))]:
            return SOLID
        low = [min(max(int(place), 0), count - 2) for place, count in ((y, ny), (z, nz))]
        t, s = (min(max(place - first, 0.0), 1.0) for place, first in zip((y, z), low))
        corners = [speeds[low[0] + j][low[1] + i] * (t if j else 1 - t) * (s if i else 1 - s) for j in (0, 1) for i in (0, 1)]
        return colour(sum(corners) / fastest)

    rows = [[pixel(row, column) for column in range(nz * given.scale)] for row in reversed(range(ny * given.scale))]
    try:
        given.picture.write_bytes(png(rows))
    except OSError as error:
        sys.exit(f"flow_picture.py: cannot write {given.picture}: {error.strerror}")


if __name__ == "__main__":
    main()
