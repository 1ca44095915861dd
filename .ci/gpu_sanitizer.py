#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the tests of the tier gpu under CUDA's compute-sanitizer: for a machine with a GPU.

usage: gpu_sanitizer.py [--build DIR] [--tool NAME ...] [--jobs N] [--timeout S]
                        [TEST[/CASE] ...]
       gpu_sanitizer.py --self-test   prove on sample output that a finding is one

Runs memcheck and racecheck over each case of each test program, or over what is named, in
a process of its own, N at once, since the tool makes some of them tens of times slower. Prints
a line for each; what they printed is in DIR/sanitizer/. Exit code: 0 the tool found nothing
that a test did not provoke on purpose; 1 it found something, or a case did not reach its end
or failed; 2 usage, or nothing to run; 77 every test skips here.
"""
import argparse
import collections
import concurrent.futures
import contextlib
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
# Its head, which may stand behind what the test printed, and its details.
FINDING = re.compile(r"={9} \S.*(?:\n={9}     .*)+")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
COUNT = re.compile(r"={9} (?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)")
# What the tool says of itself when it has not looked at everything.
TROUBLE = re.compile(r"={9} (Internal Sanitizer Error.*|(?:Error|Warning): (?!Race|Potential).*)")
# Test -> what it has a kernel do on purpose, as a finding's text tells it.
ON_PURPOSE = {
    "qa_hw_kernel_faults": r"\b(fault|trap)_kernel\(",
    "qa_kernel_fault_py": r"\bfault_kernel\(",
    "qa_hw_cuda_failure": r"\bwindow_kernel<.*\n.*\n.*Access to 0x[0-9a-f]{1,4} is out",
}


def verdict(job, output, code):
    """What a run of the job says: (good, words); good is None if it was skipped."""
    output = COLOUR.sub("", output)
    said = FINDING.findall(output)
    if not said and (code == 77 or any(re.search(words, output) for words in job.skips)):
        why = re.findall(r"SKIP\w*(?: \(.*?\))?: (.*)", output)
        return None, "skipped" + (": " + why[-1] if why else "")
    counts = [int(a or b) for a, b in COUNT.findall(output)]
    if not counts:
        return False, "the tool printed no summary"
    trouble = TROUBLE.search(output)
    if trouble:
        return False, "the tool said: " + trouble.group(1)
    known = ON_PURPOSE.get(job.name)
    bad = [text for text in said if not (known and re.search(known, text))]
    # Each finding of the summary is either told in full or not known to be on purpose.
    if bad or sum(counts) > len(said):
        return False, f"{max(len(bad), sum(counts) - len(said))} findings"
    words = f"clean but for {len(said)} on purpose" if said else "clean"
    return code == 0, words if code == 0 else f"{words}, but the test ended with {code}"


def cases(program):
    """The cases of a Boost.Test program, as suite/case; none if it is another program."""
    if b"libboost_unit_test_framework" not in pathlib.Path(program).read_bytes():
        return []
    done = subprocess.run([program, "--list_content"], capture_output=True, text=True, check=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    return leaves(done.stderr + done.stdout)


def leaves(listed):
    """The paths without others below them, of an indented list as --list_content prints it."""
    found, path = [], []
    # A star: it runs unless it is named. Behind it there may be words on it.
    for indent, name in re.findall(r"^((?:    )*)(\S.*?)\*(?:: .*)?$", listed, re.M):
        path = path[:len(indent) // 4]
        if found[-1:] == ["/".join(path)]:
            found.pop()
        path.append(name)
        found.append("/".join(path))
    return found


Job = collections.namedtuple("Job", "title name command environment skips")


def jobs_of(tests):
    for test in tests:
        name, command, environment = test["name"], test["command"], environment_of(test)
        skips = [words for prop in test["properties"]
                 if prop["name"] == "SKIP_REGULAR_EXPRESSION" for words in prop["value"]]
        several = cases(command[0]) if len(command) == 1 else []
        for case in several:
            yield Job(name + "/" + case, name, command + ["--run_test=" + case], environment, skips)
        if not several:
            yield Job(name, name, command, environment, skips)


def environment_of(test):
    env = dict(os.environ)
    # The tool's own memory comes and goes, other tests run beside this one, and all is slow.
    env["RDMA_GPU_IS_SHARED"] = "1"
    env.setdefault("RDMA_PATIENCE", "16")
    for prop in test["properties"]:
        if prop["name"] == "ENVIRONMENT":
            env.update(entry.split("=", 1) for entry in prop["value"])
    return env


def run(sanitizer, tool, folder, timeout, job):
    log = folder / (tool + "-" + job.title.replace("/", "-") + ".log")
    begin = time.monotonic()
    with open(log, "w+", encoding="utf-8", errors="replace") as out:
        with subprocess.Popen([sanitizer, "--tool", tool, "--target-processes", "all",
                               "--report-api-errors", "no", "--print-limit", "0",
                               *(["--show-backtrace", "no"] if job.name in ON_PURPOSE else []),
                               *job.command],
                              stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                              env=job.environment, start_new_session=True) as process:
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # and what it has left running
        out.seek(0)
        output = out.read()
    if code is None:
        good, words = False, f"not at its end after {timeout:g} s"
    else:
        good, words = verdict(job, output, code)
    print(f"{tool:9} {job.title}: {words} ({time.monotonic() - begin:.0f} s)", flush=True)
    return good


SAMPLE_LIST = """outer*
    inner*
        deep*
    described*: in words
    left_out
one<int>*
data*
    _0*
    _1*
"""
SAMPLE_RACE = """========= Error: Race reported between Write access at k(int *)+0x40
=========     and Read access at k(int *)+0x90 [16 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
SAMPLE_FAULT = """Running 1 test case... ========= Invalid __global__ write of size 4 bytes
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
            ("qa_hw_cuda_ring", "\x1b[0;39;49m" + clean.split("\n", 1)[1], 0, True),
            ("qa_hw_cuda_ring", clean, 201, False),
            ("qa_hw_cuda_ring", "*** No errors detected\n", 0, False),
            ("qa_hw_cuda_ring", SAMPLE_RACE, 0, False),
            ("qa_hw_cuda_ring", SAMPLE_FAULT, 0, False),
            ("qa_hw_kernel_faults", SAMPLE_FAULT, 0, True),
            ("qa_hw_kernel_faults", SAMPLE_FAULT + SAMPLE_RACE, 0, False),
            ("qa_hw_kernel_faults", SAMPLE_FAULT + "========= ERROR SUMMARY: 1 error\n", 0, False),
            ("qa_hw_kernel_faults", SAMPLE_FAULT.replace("fault_kernel", "k"), 0, False),
            ("qa_hw_kernel_faults", SAMPLE_FAULT.replace(":fault_k", ":default_k"), 0, False),
            ("qa_hw_cuda_ring", "========= Internal Sanitizer Error: x\n" + clean, 0, False),
            ("qa_hw_cuda_ring", "========= Warning: out of memory\n" + clean, 0, False),
            ("qa_hw_cuda_ring", "no newline" + clean.split("\n", 1)[1], 0, True),
            ("qa_hw_cuda_ring", "", 77, None),
            ("qa_hw_cuda_ring", SAMPLE_RACE, 77, False),
            ("qa_hw_cuda_ring", "no GPU here", 1, None),
            ("qa_hw_cuda_ring", "", 1, False)):
        if verdict(Job(name, name, [], {}, ["no GPU here"]), output, code)[0] is not good:
            sys.exit(f"self-test: {name} with {code} should be {good}:\n{output}")
    if leaves(SAMPLE_LIST) != ["outer/inner/deep", "outer/described", "one<int>", "data/_0",
                               "data/_1"]:
        sys.exit(f"self-test: cases {leaves(SAMPLE_LIST)}")
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
    if given.jobs < 1:
        parser.error(f"--jobs={given.jobs}: give 1 or more")
    sanitizer = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin")
    if not sanitizer:
        parser.error("compute-sanitizer is not on PATH; it comes with the CUDA toolkit")
    listed = subprocess.run(["ctest", "--test-dir", given.build, "-L", "^gpu$",
                             "--show-only=json-v1"], stdout=subprocess.PIPE, check=False)
    tests = json.loads(listed.stdout or "{}").get("tests", [])
    missing = [test["name"] for test in tests if "command" not in test]
    if missing:
        parser.error(f"not built in {given.build}: {', '.join(missing)}")
    jobs = list(jobs_of(tests))
    chosen = {name: [job for job in jobs if (job.title + "/").startswith(name + "/")]
              for name in given.test}
    unknown = [name for name, found in chosen.items() if not found]
    if chosen:
        jobs = list({job.title: job for found in chosen.values() for job in found}.values())
    if unknown or not jobs:
        parser.error(f"no such test or case in the tier gpu of {given.build}: "
                     f"{', '.join(unknown) or 'it has none'}")
    # Where there is a GPU, a test that finds none has lost it.
    asked = shutil.which("nvidia-smi")
    if asked and subprocess.run([asked, "-L"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, check=False).returncode == 0:
        for job in jobs:
            job.environment["RDMA_REQUIRE"] = "gpu"
    folder = pathlib.Path(given.build) / "sanitizer"
    folder.mkdir(parents=True, exist_ok=True)
    good = []
    # One tool after the other: a case has addresses of its own, but not two of them.
    for tool in given.tool or TOOLS:
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            good += pool.map(lambda job: run(sanitizer, tool, folder, given.timeout, job), jobs)
    print(f"{good.count(True)} clean, {good.count(False)} not, {good.count(None)} skipped; "
          f"what they printed is in {folder}")
    if good.count(False):
        return 1
    return 0 if good.count(True) else 77


if __name__ == "__main__":
    sys.exit(main())
