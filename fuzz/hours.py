#!/usr/bin/env python3
"""Fuzzes every target until each has had its hours of processor time, the one with the least time first.

    fuzz/hours.py [--hours 2] [--jobs 2] [--slice 300] [--only TARGET]...

What each has had so far stands in fuzz/hours.json and is added to, so that it may be stopped and started again.
Needs cargo-fuzz. Finds grow in fuzz/target/finds (not in the repository), crashes stand in fuzz/artifacts. It runs
at the lowest priority, which lets everything else on the machine go first.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import threading
import tomllib

FUZZ = pathlib.Path(__file__).resolve().parent
TOTALS = FUZZ / "hours.json"
FINDS = FUZZ / "target" / "finds"
TRIPLE = "x86_64-unknown-linux-gnu"
# At the lowest priority an input may wait for its turn: a hang is what takes a minute (-timeout below).
# Inputs of this many bytes reach everything that smaller ones reach and the edges of tables; more only cost time.
MOST = 4096


def build():
    # The sanitizers need a dynamic program, and cargo-fuzz a compiler that takes unstable options.
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": ""}
    command = ["cargo", "fuzz", "build", "--target", TRIPLE, "-s", "none"]
    subprocess.run(command, cwd=FUZZ, env=environment, check=True)


def seeds():
    """What the conformance cases hold, for the targets that read such: where a fuzzer best begins."""
    found = {"definitions": set(), "envelope": set(), "reply": set(), "settings": set()}
    for path in sorted((FUZZ.parent / "conformance").glob("*/*.toml")):
        case = tomllib.loads(path.read_text())
        for file in case.get("file", []):
            text = file.get("text") or json.dumps(file.get("json", {}), ensure_ascii=False)
            if file["path"].endswith("config.toml"):
                found["settings"].add(b"\0" + text.encode())
            else:
                found["definitions"].add(text.encode())
        for step in case.get("step", []):
            found["envelope"].add(step["stdin"].encode() if "stdin" in step else json.dumps(step.get("fire")).encode())
        # What a hook's command prints, at every event, at exit code 0.
        for reply in re.findall(r"'(\{.*?\})'", json.dumps(case).replace('\\\\', '\\').replace('\\"', '"')):
            found["reply"].update(bytes([event, 0]) + reply.encode() for event in range(14))
    return found


def run(target, seconds):
    """One slice: its processor time, its runs, and whether it found a crash."""
    finds = FINDS / target
    crashes = FUZZ / "artifacts" / target
    crashes.mkdir(parents=True, exist_ok=True)
    command = [
        FUZZ / "target" / TRIPLE / "release" / target, finds, FUZZ / "corpus" / target,
        f"-max_total_time={seconds}", f"-max_len={MOST}", f"-dict={FUZZ / 'words.dict'}", "-timeout=60", "-rss_limit_mb=2048",
        "-print_final_stats=1", f"-artifact_prefix={crashes}/",
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)),
    )
    said = process.stderr.read().decode(errors="replace")
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    runs = re.search(r"stat::number_of_executed_units: (\d+)", said)
    if process.returncode:
        print(said[-4000:], flush=True)
    return used.ru_utime + used.ru_stime, int(runs[1]) if runs else 0, process.returncode != 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--hours", type=float, default=2)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("--slice", type=int, default=300, help="seconds between looks at the totals")
    arguments.add_argument("--only", action="append")
    options = arguments.parse_args()

    build()
    all_targets = sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs"))
    targets = [target for target in all_targets if not options.only or target in options.only]
    for target in all_targets:
        (FINDS / target).mkdir(parents=True, exist_ok=True)
    for target, inputs in seeds().items():
        for number, seed in enumerate(sorted(inputs)):
            (FINDS / target / f"case-{number}").write_bytes(seed)
    totals = json.loads(TOTALS.read_text()) if TOTALS.exists() else {}
    for target in targets:
        totals.setdefault(target, {"seconds": 0, "runs": 0, "crashes": 0})
    # What crashes waits for somebody to look at it.
    busy, crashed_now, lock = set(), set(), threading.Lock()

    def worker():
        while True:
            with lock:
                wanted = [t for t in targets if totals[t]["seconds"] < options.hours * 3600]
                open_ = [t for t in wanted if t not in busy | crashed_now]
                if not open_:
                    return
                target = min(open_, key=lambda t: totals[t]["seconds"])
                busy.add(target)
            seconds, runs, crashed = run(target, options.slice)
            with lock:
                busy.discard(target)
                had = totals[target]
                had["seconds"] = round(had["seconds"] + seconds)
                had["runs"] += runs
                had["crashes"] += crashed
                if crashed:
                    crashed_now.add(target)
                TOTALS.write_text(json.dumps(totals, indent=2, sort_keys=True) + "\n")
                print(target, had, flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for job in [pool.submit(worker) for _ in range(options.jobs)]:
            job.result()


if __name__ == "__main__":
    main()
