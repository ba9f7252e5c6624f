"""Makes attempts by io_uring, without a system call for what they do.

The argument is a list in JSON: of each attempt, whether a thread of the kernel takes it from the ring, the action, and its arguments. Prints what
happened to each: `succeeded`, or why it failed.
"""
import ctypes
import json
import mmap
import os
import socket
import struct
import sys

SETUP, ENTER = 425, 426
THREAD = 2
GET_EVENTS, WAKE = 1, 2
OPEN, CONNECT, READ, WRITE, RENAME, UNLINK, MAKE_FOLDER, LINK, SOCKET = 18, 16, 22, 23, 35, 36, 37, 39, 45
HERE = -100

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *values):
    result = libc.syscall(number, *values)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Ring:
    def __init__(self, flags):
        params = ctypes.create_string_buffer(struct.pack("=5I", 0, 0, flags, 0, 1000), 120)
        self.threaded = flags & THREAD
        self.fd = call(SETUP, 4, params)
        entries, completions = struct.unpack_from("=2I", params, 0)
        self.sq = struct.unpack_from("=7I", params, 40)
        self.cq = struct.unpack_from("=6I", params, 80)
        self.submissions = mmap.mmap(self.fd, self.sq[6] + entries * 4, offset=0)
        self.completions = mmap.mmap(self.fd, self.cq[5] + completions * 16, offset=0x8000000)
        self.entries = mmap.mmap(self.fd, entries * 64, offset=0x10000000)

    def do(self, operation, fd, offset=0, address=None, length=0, flags=0):
        """Result of one operation. A buffer must live until then."""
        pointer = 0 if address is None else ctypes.addressof(address)
        entry = struct.pack("=BBHiQQII", operation, 0, 0, fd, offset, pointer, length, flags)
        self.entries[0:64] = entry + bytes(64 - len(entry))
        tail = struct.unpack_from("=I", self.submissions, self.sq[1])[0]
        mask = struct.unpack_from("=I", self.submissions, self.sq[2])[0]
        struct.pack_into("=I", self.submissions, self.sq[6] + (tail & mask) * 4, 0)
        struct.pack_into("=I", self.submissions, self.sq[1], tail + 1)
        call(ENTER, self.fd, 1, 1, GET_EVENTS | (WAKE if self.threaded else 0), None, 0)
        head = struct.unpack_from("=I", self.completions, self.cq[0])[0]
        mask = struct.unpack_from("=I", self.completions, self.cq[2])[0]
        result = struct.unpack_from("=i", self.completions, self.cq[5] + (head & mask) * 16 + 8)[0]
        struct.pack_into("=I", self.completions, self.cq[0], head + 1)
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return result


def text(value):
    return ctypes.create_string_buffer(os.fsencode(value))


def open_file(ring, path, flags):
    return ring.do(OPEN, HERE, address=text_of(path), length=0o644, flags=flags)


kept = []


def text_of(value):
    """A text that is kept until the end."""
    kept.append(text(value))
    return kept[-1]


def connect(ring, family, address):
    fd = ring.do(SOCKET, family, offset=socket.SOCK_STREAM)
    buffer = ctypes.create_string_buffer(address, len(address))
    ring.do(CONNECT, fd, offset=len(address), address=buffer)


def two(ring, operation, first, second):
    other = HERE & 0xFFFFFFFF
    ring.do(operation, HERE, offset=ctypes.addressof(text_of(second)), address=text_of(first), length=other)


ACTIONS = {
    "write": lambda ring, path: ring.do(WRITE, open_file(ring, path, os.O_WRONLY | os.O_CREAT), address=text("x"), length=1),
    "truncate": lambda ring, path: open_file(ring, path, os.O_WRONLY | os.O_TRUNC),
    "read": lambda ring, path: ring.do(READ, open_file(ring, path, os.O_RDONLY), address=text(" " * 9), length=1),
    "unlink": lambda ring, path: ring.do(UNLINK, HERE, address=text_of(path)),
    "folder": lambda ring, path: ring.do(MAKE_FOLDER, HERE, address=text_of(path), length=0o755),
    "rename": lambda ring, first, second: two(ring, RENAME, first, second),
    "link": lambda ring, first, second: two(ring, LINK, first, second),
    "tcp": lambda ring, port: connect(
        ring, socket.AF_INET, struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", int(port), bytes([127, 0, 0, 1]))
    ),
    "abstract": lambda ring, name: connect(ring, socket.AF_UNIX, struct.pack("=H", socket.AF_UNIX) + b"\0" + os.fsencode(name)),
    "unix": lambda ring, path: connect(ring, socket.AF_UNIX, struct.pack("=H", socket.AF_UNIX) + os.fsencode(path) + b"\0"),
}

rings = {}


def ring_of(threaded):
    """One ring of each kind: making one takes longer than an attempt."""
    if threaded not in rings:
        rings[threaded] = Ring(THREAD if threaded else 0)
    return rings[threaded]


def outcome(threaded, action, *values):
    try:
        ACTIONS[action](ring_of(threaded), *values)
        return "succeeded"
    except Exception as cause:
        return str(cause)


print(json.dumps([outcome(*attempt) for attempt in json.loads(sys.argv[1])]))
