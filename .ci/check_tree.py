#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fail if a file of the tree breaks a house rule that needs no compiler.

usage: check_tree.py [TREE]        check a tree (default: the one this script is in)
       check_tree.py --self-test   prove on good and bad samples that each rule bites

The rules: every source starts with its SPDX line; sources have at most 400 lines, or say why
("Long file: ..."), the README 120; no left-over marks, CR line ends, tabs in code or missing
end of line; links in the documentation lead to files; hashes in bindings match their headers.
"""
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

SPDX = "SPDX-License-Identifier: GPL-3.0-or-later"
CODE = {".h", ".cc", ".cu", ".cuh", ".py", ".sh", ".cmake"}
NEEDS_SPDX = CODE | {".yml", ".in", ".supp"}
MAX_LINES = {"README.md": 120}
CORPUS = "lib/fuzz/corpus/"  # bytes, even where they read as text
LEFT_OVER = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|^(<<<<<<<|>>>>>>>) ", re.M)
# A source may be longer if it says why: "Long file: <reason>".
LONG_BECAUSE = re.compile(r"^\W*Long file: \w+", re.M)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
BINDING = re.compile(r"BINDTOOL_HEADER_FILE\((\S+?)\).*?BINDTOOL_HEADER_FILE_HASH\((\w+)\)", re.S)


def listed(root):
    """The files that git tracks or would track; all files where there is no repository."""
    command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z",
               "--cached", "--others", "--exclude-standard"]
    if (root / ".git").exists():
        names = subprocess.run(command, check=True, capture_output=True).stdout.decode()
        found = [root / name for name in names.split("\0") if name]
    else:
        found = list(root.rglob("*"))
    return sorted(f for f in found if f.is_file())


def is_code(path, text):
    return path.suffix in CODE or path.name == "CMakeLists.txt" or text.startswith("#!")


def check_text(path, name, text):
    code = is_code(path, text)
    lines = text.splitlines()
    if (code or path.suffix in NEEDS_SPDX) and not any(SPDX in line for line in lines[:2]):
        yield f"{name}: the first line is not '{SPDX}'"
    limit = MAX_LINES.get(name, 400 if code else None)
    if limit and len(lines) > limit and not (limit == 400 and LONG_BECAUSE.search(text)):
        yield f"{name}: {len(lines)} lines, at most {limit}"
    if code and (found := LEFT_OVER.search(text)):
        yield f"{name}: left over: {found.group(0)}"
    if "\r" in text:
        yield f"{name}: CR line ends"
    if code and "\t" in text:
        yield f"{name}: a tab"
    if text and not text.endswith("\n"):
        yield f"{name}: no end of line at the end"


def check_links(root, path, name, text):
    for target in LINK.findall(text):
        if "://" in target or target.startswith(("mailto:", "../shared")):
            continue
        if not (path.parent / target).exists() and not (root / target.lstrip("/")).exists():
            yield f"{name}: link to {target}, which is not there"


def check_bindings(root, name, text):
    for header, stated in BINDING.findall(text):
        file = root / "include" / "gnuradio" / "rdma" / header
        if not file.exists():
            yield f"{name}: binds {header}, which is not there"
        elif (real := hashlib.md5(file.read_bytes()).hexdigest()) != stated:
            yield f"{name}: hash of {header} is {real}, stated {stated}: review and refresh it"


def check(root):
    for path in listed(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(CORPUS):
            continue
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError:
            if path.suffix in NEEDS_SPDX:
                yield f"{name}: not UTF-8"
            continue
        yield from check_text(path, name, text)
        if path.suffix == ".md":
            yield from check_links(root, path, name, text)
        if name.startswith("python/rdma/bindings/"):
            yield from check_bindings(root, name, text)


HASH_OF_EMPTY = hashlib.md5(b"").hexdigest()
# (file, text, refused)
SAMPLES = (
    ("lib/a.cc", f"/* {SPDX} */\nint a;\n", False),
    ("lib/a.h", f"/* -*- c++ -*- */\n/* {SPDX} */\n", False),
    ("lib/a.cc", "int a;\n", True),
    ("lib/a.cc", "/* SPDX-License-Identifier: MIT */\n", True),
    ("run", "#!/bin/bash\necho\n", True),
    ("run", f"#!/bin/bash\n# {SPDX}\n", False),
    ("lib/CMakeLists.txt", "project(a)\n", True),
    ("lib/a.cc", f"/* {SPDX} */\n" + "//\n" * 400, True),
    ("lib/a.cc", f"/* {SPDX} */\n// Long file: a table of\n" + "//\n" * 400, False),
    ("README.md", "a\n" * 121, True),
    ("README.md", "a\n" * 120, False),
    ("lib/a.cc", f"/* {SPDX} */\n// TO" + "DO\n", True),
    ("lib/a.cc", f"/* {SPDX} */\n\tint a;\n", True),
    ("lib/a.cc", f"/* {SPDX} */\r\nint a;\r\n", True),
    ("lib/a.cc", f"/* {SPDX} */", True),
    ("lib/fuzz/corpus/fuzz_a/1", "\r", False),
    ("docs/a.md", "[b](b.md)\n", True),
    ("docs/a.md", "[a](a.md#part), [web](https://www.gnuradio.org/)\n", False),
    ("python/rdma/bindings/a.txt",
     f"BINDTOOL_HEADER_FILE(a.h)\nBINDTOOL_HEADER_FILE_HASH({HASH_OF_EMPTY})\n", True),
)


def self_test():
    wrong = 0
    for name, text, refused in SAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(text.encode())
            if bool(list(check(root))) != refused:
                print(f"self-test: {name}: expected refused={refused}: {text[:60]!r}")
                wrong += 1
    print(f"tree: self-test of {len(SAMPLES)} samples: {'failed' if wrong else 'ok'}")
    return bool(wrong)


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parent.parent).resolve()
    files = len(listed(root))
    if files == 0:
        print(f"tree: no files under {root}")
        return True
    bad = list(check(root))
    print("\n".join(bad) or f"tree: {files} files ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
