"""Plays tool loops with the client that the argument names, a file beside this one.

Each line of standard input is a job in JSON: name, base_url, model, mode, messages,
tools, results, the text that each tool gives, and then, what the user says behind the
results of each round. For each turn of a job, and for the error that ended it, one line
of JSON goes to standard output. Nothing goes to standard error but what should fail the
test, warnings too.

mode is "whole", "helper" (the SDK puts the stream together) or "chunks" (we do).
"""

import json
import runpy
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MAX_TURNS = 8
AT_ONCE = 8  # jobs; most of their time they wait


def turns(client, line):
    """Returns the turns of a job, and the error that ended it."""
    job = json.loads(line)
    played = []
    try:
        for turn in client["play"](job, MAX_TURNS):
            played.append({"job": job["name"], **turn})
    except Exception as error:  # the other jobs run all the same
        played.append({"job": job["name"], "error": client["failure"](error)})
    return played


def main():
    client = runpy.run_path(str(Path(__file__).with_name(sys.argv[1] + ".py")))
    warnings.simplefilter("always")  # what they say when they are imported is not about answers
    warnings.simplefilter("ignore", ResourceWarning)  # connections that are kept end with the program
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for played in pool.map(lambda line: turns(client, line), sys.stdin):
            for turn in played:
                print(json.dumps(turn), flush=True)


main()
