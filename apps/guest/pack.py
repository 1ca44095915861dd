#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the guest's kernel and initramfs out of an unpacked kernel package.

usage: pack.py UNPACKED BUSYBOX INIT OUT

UNPACKED holds boot/ and the modules, with a modules.dep in the modules' folder. Written are
OUT/kernel and OUT/initrd: the kernel uncompressed where it can be (an emulated processor takes
seconds to unpack it), an uncompressed cpio archive with busybox, the modules and INIT.
"""
import gzip
import lzma
import pathlib
import subprocess
import sys

# What the guest loads, in this order, each after what it depends on. Without crc32_generic
# adding an rxe link fails with ENOENT on the kernels that ask for it by name.
# vgem or udmabuf: dma-bufs without a device; each kernel has one of them.
MODULES = """virtio_pci 9pnet_virtio 9p overlay veth crc32_generic? rdma_rxe ib_uverbs rdma_ucm
    sch_netem vgem? udmabuf?""".split()
FOLDERS = "bin dev host modules proc root sys upper".split()


def zstd(data):
    return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=False).stdout


UNPACKERS = {".xz": lzma.decompress, ".gz": gzip.decompress, ".zst": zstd}


def stem(path):
    """Of a module's file, as the kernel calls it."""
    return pathlib.PurePath(path).name.split(".ko")[0].replace("-", "_")


def module_order(text, wanted, builtin):
    """The files to load out of modules.dep's text. A wanted name with a ? may be missing."""
    depends = {}
    for line in text.splitlines():
        file, needs = line.split(":")
        depends[stem(file)] = (file, needs.split())
    order = []
    for name in wanted:
        optional, name = name.endswith("?"), name.rstrip("?")
        if name in builtin:
            continue
        if name not in depends:
            if optional:
                continue
            sys.exit(f"error: the kernel package has no module {name}")
        file, needs = depends[name]
        # modules.dep names the nearest first.
        for needed in [*reversed(needs), file]:
            if needed not in order:
                order.append(needed)
    return order


class Archive:
    """A cpio archive in the format 'newc'."""

    def __init__(self):
        self.parts = []
        self.count = 0

    def add(self, name, mode, data=b""):
        self.count += 1
        encoded = name.encode() + b"\0"
        fields = [self.count, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0]
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
        for piece in (head, data):
            self.parts.append(piece + bytes(-len(piece) % 4))

    def bytes(self):
        self.add("TRAILER!!!", 0)
        return b"".join(self.parts)


def uncompressed_kernel(image):
    """The ELF file inside a bzImage, or the image itself where it is packed in another way."""
    for magic, unpack in ((b"\xfd7zXZ\0", lambda data: lzma.LZMADecompressor().decompress(data)),
                          (b"\x28\xb5\x2f\xfd", zstd)):
        at = image.find(magic)
        while at >= 0:
            try:
                kernel = unpack(image[at:])
            except lzma.LZMAError:
                kernel = b""
            if kernel.startswith(b"\x7fELF"):
                return kernel
            at = image.find(magic, at + 1)
    return image


def main(unpacked, busybox, init, out):
    unpacked, out = pathlib.Path(unpacked), pathlib.Path(out)
    kernels = sorted(unpacked.glob("boot/vmlinuz-*"))
    tables = sorted(unpacked.glob("**/modules.dep"))
    if len(kernels) != 1 or len(tables) != 1:
        sys.exit(f"error: not one kernel with one set of modules: {kernels} {tables}")
    modules = tables[0].parent
    builtin = {stem(line) for line in (modules / "modules.builtin").read_text().splitlines()}
    archive = Archive()
    for folder in FOLDERS:
        archive.add(folder, 0o40755)
    archive.add("bin/busybox", 0o100755, pathlib.Path(busybox).read_bytes())
    archive.add("init", 0o100755, pathlib.Path(init).read_bytes())
    names = []
    for file in module_order(tables[0].read_text(), MODULES, builtin):
        data = (modules / file).read_bytes()
        unpack = UNPACKERS.get(pathlib.PurePath(file).suffix)
        names.append(stem(file) + ".ko")
        archive.add("modules/" + names[-1], 0o100644, unpack(data) if unpack else data)
    archive.add("modules/order", 0o100644, "".join(name + "\n" for name in names).encode())
    (out / "kernel").write_bytes(uncompressed_kernel(kernels[0].read_bytes()))
    (out / "initrd").write_bytes(archive.bytes())
    print(f"guest: {kernels[0].name}, {len(names)} modules")


if __name__ == "__main__":
    main(*sys.argv[1:])
