#!/usr/bin/env python3
"""A switch in user space that delays every frame: relay.py DELAY NODES, e.g. relay.py 50us 2.

Creates the tap devices tap1 to tapN, which nodes.sh moves into the nodes, and passes frames between
them by their addresses, in the background. If the kernel has netem, that has the same effect at
less cost, but many machines do not have it.
"""

import fcntl
import os
import re
import select
import struct
import sys
import time
from collections import deque

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
BROADCAST_BIT = 1
LARGEST_FRAME = 65536


def tap(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return device


def main(delay_s, nodes):
    devices = [tap(f"tap{node}") for node in range(1, nodes + 1)]
    if os.fork():
        return
    os.setsid()
    for stream in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    # Otherwise the kernel extends every wait by up to 50 microseconds.
    with open("/proc/self/timerslack_ns", "w") as slack:
        slack.write("1")
    where = {}
    waiting = deque()
    while True:
        left_s = max(waiting[0][0] - time.monotonic(), 0) if waiting else None
        for device in select.select(devices, [], [], left_s)[0]:
            frame = os.read(device, LARGEST_FRAME)
            where[frame[6:12]] = device
            waiting.append((time.monotonic() + delay_s, device, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, source, frame = waiting.popleft()
            known = None if frame[0] & BROADCAST_BIT else where.get(frame[:6])
            for device in [known] if known else devices:
                if device != source:
                    deliver(device, frame)


def deliver(device, frame):
    try:
        os.write(device, frame)
    except OSError:
        # The device is down or its queue is full. Networks may lose frames, and TCP sends them
        # again.
        pass


if __name__ == "__main__":
    match = re.fullmatch(r"([0-9.]+)(us|ms|s)", sys.argv[1]) if len(sys.argv) == 3 else None
    if not match:
        sys.exit(__doc__.splitlines()[0])
    main(float(match[1]) * SECONDS[match[2]], int(sys.argv[2]))
