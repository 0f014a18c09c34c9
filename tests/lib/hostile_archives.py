#!/usr/bin/env python3
"""Archives that no program of good will writes, and a few that one does. usage: hostile_archives.py DIR [NAME]...

Without NAMEs all of them are written.
What each must come to stands in tests/cli/44-archive.bats.
"""
import bz2
import ctypes
import gzip
import io
import lzma
import os
import stat
import struct
import sys
import tarfile
import zipfile
import zlib

LINK, HARD, FIFO, CHAR, DIR = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE
FILES = {}


def archive(name):
    def keep(make):
        FILES[name] = make
        return make
    return keep


def tar_bytes(*entries, fmt=tarfile.PAX_FORMAT, encoding="utf-8"):
    """Entries: (name, content) or (name, type, link target), and a dict of further members of TarInfo."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=fmt, encoding=encoding) as t:
        for name, what, *rest in entries:
            info = tarfile.TarInfo(name)
            info.mode, info.mtime = 0o644, 1_000_000_000
            data = b""
            if isinstance(what, bytes) and len(what) == 1 and what in (LINK, HARD, FIFO, CHAR, DIR):
                info.type = what
                info.mode = 0o755
                if rest and isinstance(rest[0], str):
                    info.linkname = rest.pop(0)
            else:
                data = what.encode()
            for key, value in (rest[0] if rest else {}).items():
                setattr(info, key, value)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def simple(name, *entries, **how):
    FILES[name] = lambda: tar_bytes(*entries, **how)


# ---- names ----
simple("dotdot.tar", ("../escaped", "x"))
simple("dotdot-inside.tar", ("a/../b", "x"))
simple("absolute.tar", ("/tmp/quern-case-escaped", "x"))
simple("control.tar", ("new\nline", "x"), ("esc\x1b[31m", "x"), ("..", "x"))
simple("odd-names.tar", ("new\nline", "x"), ("esc\x1b[31m", "x"), ("./././a", "x"), ("...", "x"), ("b//c", "x"), ("d\\e", "x"))
simple("long-name.tar", ("d" * 300, "x"))
simple("endless-name.tar", ("/".join(["d" * 200] * 400), "x"))
simple("latin1.tar", ("caf\xe9", "x"), fmt=tarfile.USTAR_FORMAT, encoding="latin-1")
simple("pax-name.tar", ("fine", "x", {"pax_headers": {"path": "../escaped"}}))
simple("no-name.tar", ("./", "x"))
simple("no-name-link.tar", ("./", LINK, "x"))
simple("deep.tar", ("/".join(["d"] * 3000) + "/f", "x"), ("/".join(["d"] * 3000) + "/g", "x"), ("top", "x"))

# ---- holes ----
def sparse(name, size, *extents):
    """One file with a map of its data, as GNU tar writes it (1.0)."""
    def make():
        data = "".join(f"{n}\n" for n in (len(extents), *(x for e in extents for x in e)))
        data = data.ljust(512, "\0") + "x" * sum(max(n, 0) for _, n in extents)
        kept = {"major": 1, "minor": 0, "name": "f", "realsize": size}
        return tar_bytes(("GNUSparseFile.0/f", data, {"pax_headers": {f"GNU.sparse.{k}": str(v) for k, v in kept.items()}}))
    FILES[name] = make


sparse("sparse.tar", 8192, (0, 512), (4096, 512))
sparse("sparse-overlap.tar", 4096, (0, 512), (256, 512))
sparse("sparse-back.tar", 4096, (1024, 512), (0, 512))
sparse("sparse-beyond.tar", 4096, (0, 512), (8192, 512))
sparse("sparse-far.tar", 4096, (1 << 62, 512))
sparse("sparse-endless.tar", (1 << 63) - 1, (0, 512))
sparse("sparse-negative.tar", 4096, (-5, 512))

# ---- twice ----
simple("twice.tar", ("f", "1"), ("f", "2"))
simple("file-over-link.tar", ("d", DIR), ("a", LINK, "d"), ("a", "x"))
simple("link-over-file.tar", ("a", "x"), ("a", LINK, "b"))
simple("directory-over-link.tar", ("d", DIR), ("a", LINK, "d"), ("a", DIR), ("a/f", "x"))
simple("file-over-directory.tar", ("d/f", "x"), ("d", "x"))
simple("below-a-file.tar", ("a", "x"), ("a/b", "x"))
simple("directory-twice.tar", ("./", DIR), ("d", DIR), ("d/f", "x"), ("d", DIR, {"mode": 0}))

# ---- links ----
simple("link-then-file.tar", ("door", LINK, "../outside"), ("door/escaped", "x"))
simple("link-absolute.tar", ("door", LINK, "/tmp"))
simple("link-out.tar", ("a/b/l", LINK, "../../../victim"))
simple("link-out-by-link.tar", ("a/b/c/x", LINK, "../../.."), ("y", LINK, "a/b/c/x/../victim"))
simple("link-inside-then-file.tar", ("d", DIR), ("door", LINK, "d"), ("door/f", "x"))
simple("links.tar", ("a/b/f", "x"), ("a/l", LINK, "b/f"), ("a/b/up", LINK, "../../a/./b"), ("gone", LINK, "nothing"), ("h", HARD, "a/b/f"))
simple("hard-out.tar", ("h", HARD, "../victim"), ("h", "x"))
simple("hard-absolute.tar", ("h", HARD, "/etc/passwd"))
simple("hard-to-link.tar", ("s", LINK, "f"), ("h", HARD, "s"))
simple("hard-through-link.tar", ("d/f", "x"), ("s", LINK, "d"), ("h", HARD, "s/f"))
simple("hard-to-nothing.tar", ("h", HARD, "a"), ("a", "x"))
simple("hard-to-directory.tar", ("d", DIR), ("h", HARD, "d"))
simple("hard-below-later-link.tar", ("door/h", HARD, "a"), ("a", "x"), ("door", LINK, "../outside"))

# ---- kinds and modes ----
simple("fifo.tar", ("f", FIFO))
simple("device.tar", ("n", CHAR, {"devmajor": 1, "devminor": 3}))
simple("modes.tar", ("su", "x", {"mode": 0o6755}), ("none", "x", {"mode": 0}), ("d", DIR, {"mode": 0o1000}), ("d/f", "x"))

# ---- broken ----
GOOD = tar_bytes(("f", "0123456789" * 360), fmt=tarfile.USTAR_FORMAT)
FILES["good.tar"] = lambda: GOOD
FILES["empty.tar"] = lambda: b""
FILES["no-archive.tar"] = lambda: b"hello " * 500
FILES["nothing-in-it.tar"] = lambda: bytes(10240)
FILES["cut-in-data.tar"] = lambda: GOOD[:1500]
FILES["cut-in-header.tar"] = lambda: GOOD[:300]
FILES["no-end.tar"] = lambda: GOOD[:512 + 4096]
FILES["no-end.tar.gz"] = lambda: gzip.compress(GOOD[:512 + 4096])
FILES["cut.tar.gz"] = lambda: gzip.compress(os.urandom(4096) + GOOD)[:3000]


def patched(at, field):
    h = bytearray(GOOD)
    h[at:at + len(field)] = field
    h[148:156] = b"%06o\0 " % (sum(h[0:148]) + 8 * 32 + sum(h[156:512]))
    return bytes(h)


FILES["size-lie.tar"] = lambda: patched(124, b"77777777777\0")
FILES["bad-checksum.tar"] = lambda: GOOD[:148] + bytes([GOOD[148] ^ 1]) + GOOD[149:]


# ---- zip ----
def zip_bytes(*entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data, *mode in entries:
            info = zipfile.ZipInfo(name, (2001, 9, 9, 1, 46, 40))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (mode[0] if mode else stat.S_IFREG | 0o644) << 16
            z.writestr(info, data)
    return out.getvalue()


FILES["good.zip"] = lambda: zip_bytes(("d/f", "0123456789" * 360), ("d/run", "x", stat.S_IFREG | 0o755))
FILES["dotdot.zip"] = lambda: zip_bytes(("../escaped", "x"))
FILES["backslash.zip"] = lambda: zip_bytes(("a", "x"), ("..\\escaped", "x"))
FILES["link-out.zip"] = lambda: zip_bytes(("door", "../outside", stat.S_IFLNK | 0o777), ("door/escaped", "x"))
FILES["bad-crc.zip"] = lambda: FILES["good.zip"]().replace(struct.pack("<I", zlib.crc32(b"0123456789" * 360)), b"\1\2\3\4")


def deflate_zeros(mib):
    """A deflate stream of that many MiB of zeros: one of them, again and again."""
    c = zlib.compressobj(9, zlib.DEFLATED, -15)
    c.compress(bytes(1 << 20))
    c.flush(zlib.Z_FULL_FLUSH)
    again = c.compress(bytes(1 << 20)) + c.flush(zlib.Z_FULL_FLUSH)
    return again * mib + b"\3\0"


def raw_zip(entries):
    """Entries: (name, deflate stream, claimed size, the same data as entry N or None)."""
    out, central, offsets = b"", b"", []
    for i, (name, data, size, same) in enumerate(entries):
        offset = len(out) if same is None else offsets[same]
        offsets.append(offset)
        head = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, 0, len(data), size, len(name), 0)
        if same is None:
            out += b"PK\3\4" + head + name.encode() + data
        central += b"PK\1\2" + struct.pack("<H", 20) + head + struct.pack("<HHHII", 0, 0, 0, 0o100644 << 16, offset) + name.encode()
    return out + central + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(central), len(out), 0)


@archive("bomb-10g.zip")
def bomb_10g():
    return raw_zip([("zeros", deflate_zeros(10 << 10), (1 << 32) - 1, None)])


@archive("bomb-many.zip")
def bomb_many():
    data = deflate_zeros(128)
    return raw_zip([("f%d" % i, data, 128 << 20, 0 if i else None) for i in range(80)])


@archive("size-lie.zip")
def size_lie_zip():
    return raw_zip([("f", deflate_zeros(8), 10, None)])


@archive("bomb.tar.xz")
def bomb_xz():
    c = lzma.LZMACompressor(preset=0)
    size = 80 << 20
    h = tarfile.TarInfo("zeros")
    h.size = size
    out = [c.compress(h.tobuf())]
    for _ in range(size >> 20):
        out.append(c.compress(bytes(1 << 20)))
    return b"".join(out + [c.compress(bytes(10240)), c.flush()])


@archive("many.tar")
def many():
    return tar_bytes(*[("d/%d" % i, "") for i in range(2000)], fmt=tarfile.USTAR_FORMAT)


@archive("many-directories.tar")
def many_directories():
    return tar_bytes(("/".join("d%d" % i for i in range(500)) + "/f", "x"))


# ---- by libarchive: what Python cannot write ----
def written(fmt, filt=None, data=b"0123456789" * 360):
    la = ctypes.CDLL("libarchive.so.13")
    la.archive_write_new.restype = la.archive_entry_new.restype = ctypes.c_void_p
    la.archive_write_data.restype = ctypes.c_ssize_t
    a, e = ctypes.c_void_p(la.archive_write_new()), ctypes.c_void_p(la.archive_entry_new())
    assert getattr(la, "archive_write_set_format_" + fmt)(a) == 0
    assert not filt or getattr(la, "archive_write_add_filter_" + filt)(a) == 0
    out, used = ctypes.create_string_buffer(1 << 20), ctypes.c_size_t(0)
    assert la.archive_write_open_memory(a, out, ctypes.c_size_t(1 << 20), ctypes.byref(used)) == 0
    la.archive_entry_set_pathname(e, b"d/f")
    la.archive_entry_set_filetype(e, 0o100000)
    la.archive_entry_set_perm(e, 0o644)
    la.archive_entry_set_size(e, ctypes.c_int64(len(data)))
    assert la.archive_write_header(a, e) == 0
    assert la.archive_write_data(a, data, ctypes.c_size_t(len(data))) == len(data)
    assert la.archive_write_close(a) == 0
    return out.raw[:used.value]


FILES["good.7z"] = lambda: written("7zip")
FILES["good.tar.zst"] = lambda: written("pax_restricted", "zstd")
for ending, name in ("lz4", "lz4"), ("lzma", "lzma"), ("lz", "lzip"), ("Z", "compress"):
    FILES["good.tar." + ending] = lambda name=name: written("pax_restricted", name)
FILES["good.tar.gz"] = lambda: gzip.compress(GOOD)
FILES["good.tar.bz2"] = lambda: bz2.compress(GOOD)
FILES["good.tar.xz"] = lambda: lzma.compress(GOOD)


def main():
    out, names = sys.argv[1], sys.argv[2:] or sorted(FILES)
    os.makedirs(out, exist_ok=True)
    for name in names:
        with open(os.path.join(out, name), "wb") as f:
            f.write(FILES[name]())


if __name__ == "__main__":
    main()
