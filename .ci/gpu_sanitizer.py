#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the tests of the tier gpu under CUDA's compute-sanitizer: for a machine with a GPU.

usage: gpu_sanitizer.py [--build DIR] [--tool NAME ...] [--jobs N] [--timeout S] [TEST ...]
       gpu_sanitizer.py --self-test   prove on sample output that a finding is one

Runs memcheck and racecheck over each case of each test program (or of those named) in a
process of its own, N at once, since the tool makes some of them tens of times slower. Prints
a line for each; what they printed is in DIR/sanitizer/. Exit code: 0 the tool found nothing
that a test did not provoke on purpose; 1 it found something, or a case did not reach its end
or failed; 2 usage, or nothing to run; 77 every test skips here.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

TOOLS = ("memcheck", "racecheck")
FINDING = re.compile(r"^=+ (?:Error: Race|Warning: Race|Error: Potential|Invalid|Misaligned|"
                     r"Uninitialized|Out-of-range|Hardware|Malloc|Free |Leaked|Barrier|"
                     r"Program hit|Unspecified|Internal)")
COUNT = re.compile(r"^=+ (?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", re.M)
# Test -> what it has a kernel do on purpose, as a finding's text tells it.
ON_PURPOSE = {
    "qa_hw_kernel_faults": r"fault_kernel|trap_kernel",
    "qa_kernel_fault_py": r"fault_kernel",
    "qa_hw_cuda_failure": r"window_kernel|0x[0-9a-f]{1,4} is out of bounds",
}


def findings(output):
    """The text of each finding: its head line and the indented ones behind it."""
    found = []
    for line in output.splitlines():
        if FINDING.match(line):
            found.append(line)
        elif found and found[-1] is not None and line.startswith("=========     "):
            found[-1] += "\n" + line
    return found


def verdict(name, output, code):
    """What the run of test NAME says: (good, words)."""
    counts = [int(a or b) for a, b in COUNT.findall(output)]
    if not counts:
        return False, "the tool printed no summary"
    said = findings(output)
    known = ON_PURPOSE.get(name)
    bad = [text for text in said if not (known and re.search(known, text))]
    # Each finding of the summary is either told in full or not known to be on purpose.
    if bad or sum(counts) > len(said):
        return False, f"{max(len(bad), sum(counts) - len(said))} findings"
    words = f"clean but for {len(said)} on purpose" if said else "clean"
    return code == 0, words if code == 0 else f"{words}, but the test ended with {code}"


def cases(program):
    """The cases of a Boost.Test program, as suite/case; none if it is another program."""
    done = subprocess.run([program, "--list_content"], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    found, suite = [], ""
    for indent, name in re.findall(r"^( *)(\w+)\*$", done.stderr + done.stdout, re.M):
        if indent:
            if found[-1:] == [suite]:
                found.pop()
            found.append(suite + "/" + name)
        else:
            suite = name
            found.append(name)
    return found


def jobs_of(tests, tools):
    for test in tests:
        command = test["command"]
        for tool in tools:
            several = cases(command[0]) if len(command) == 1 else []
            for case in several:
                yield tool, test, case, command + ["--run_test=" + case]
            if not several:
                yield tool, test, "", command


def environment_of(test):
    env = dict(os.environ)
    # The tool's own memory comes and goes, and other tests run beside this one.
    env["RDMA_GPU_IS_SHARED"] = "1"
    for prop in test["properties"]:
        if prop["name"] == "ENVIRONMENT":
            env.update(entry.split("=", 1) for entry in prop["value"])
    return env


def run(sanitizer, folder, timeout, job):
    tool, test, case, command = job
    title = test["name"] + ("/" + case if case else "")
    log = folder / (tool + "-" + title.replace("/", "-") + ".log")
    begin = time.monotonic()
    with open(log, "w+", encoding="utf-8", errors="replace") as out:
        with subprocess.Popen([sanitizer, "--tool", tool, "--target-processes", "all",
                               "--report-api-errors", "no", *command],
                              stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                              env=environment_of(test), start_new_session=True) as process:
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                code = None
                os.killpg(process.pid, signal.SIGKILL)
        out.seek(0)
        output = out.read()
    if code is None:
        good, words = False, f"not at its end after {timeout:g} s"
    elif code == 77:
        good, words = None, "skipped: " + (re.findall(r"SKIP\w*(?: \(.*?\))?: (.*)", output) or ["?"])[-1]
    else:
        good, words = verdict(test["name"], output, code)
    print(f"{tool:9} {title}: {words} ({time.monotonic() - begin:.0f} s)", flush=True)
    return good


SAMPLE_RACE = """========= Error: Race reported between Write access at k(int *)+0x40
=========     and Read access at k(int *)+0x90 [16 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
SAMPLE_FAULT = """========= Invalid __global__ write of size 4 bytes
=========     at <unnamed>::fault_kernel(int *)+0x40
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x10 is out of bounds
=========
========= ERROR SUMMARY: 1 error
"""


def self_test():
    clean = "*** No errors detected\n========= ERROR SUMMARY: 0 errors\n"
    for name, output, code, good in (
            ("qa_hw_cuda_ring", clean, 0, True),
            ("qa_hw_cuda_ring", clean, 201, False),
            ("qa_hw_cuda_ring", "*** No errors detected\n", 0, False),
            ("qa_hw_cuda_ring", SAMPLE_RACE, 0, False),
            ("qa_hw_cuda_ring", SAMPLE_FAULT, 0, False),
            ("qa_hw_kernel_faults", SAMPLE_FAULT, 0, True),
            ("qa_hw_kernel_faults", SAMPLE_FAULT + SAMPLE_RACE, 0, False),
            ("qa_hw_kernel_faults", SAMPLE_FAULT + "========= ERROR SUMMARY: 1 error\n", 0, False),
            ("qa_hw_kernel_faults", SAMPLE_FAULT.replace("fault_kernel", "k"), 0, False)):
        if verdict(name, output, code)[0] != good:
            sys.exit(f"self-test: {name} with {code} should be {good}:\n{output}")
    print("gpu_sanitizer self-test: ok")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--tool", action="append", choices=TOOLS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("test", nargs="*")
    given = parser.parse_args()
    if given.self_test:
        self_test()
        return 0
    sanitizer = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin")
    if not sanitizer:
        parser.error("compute-sanitizer is not on PATH; it comes with the CUDA toolkit")
    listed = subprocess.run(["ctest", "--test-dir", given.build, "-L", "^gpu$",
                             "--show-only=json-v1"], stdout=subprocess.PIPE, check=False)
    tests = json.loads(listed.stdout or "{}").get("tests", [])
    unknown = set(given.test) - {test["name"] for test in tests}
    if unknown or not tests:
        parser.error(f"no such test in the tier gpu of {given.build}: "
                     f"{', '.join(sorted(unknown)) or 'it has none'}")
    wanted = tests
    if given.test:
        wanted = sorted((test for test in tests if test["name"] in given.test),
                        key=lambda test: given.test.index(test["name"]))
    folder = pathlib.Path(given.build) / "sanitizer"
    folder.mkdir(parents=True, exist_ok=True)
    work = list(jobs_of(wanted, given.tool or TOOLS))
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        good = list(pool.map(lambda job: run(sanitizer, folder, given.timeout, job), work))
    print(f"{good.count(True)} clean, {good.count(False)} not, {good.count(None)} skipped; "
          f"what they printed is in {folder}")
    if good.count(False):
        return 1
    return 0 if good.count(True) else 77


if __name__ == "__main__":
    sys.exit(main())
