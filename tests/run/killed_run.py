"""Runs the controls on a batch folder and kills itself, without warning, at a point of its progress: `killed_run.py FOLDER answer 3`."""

import os
import signal
import sys
from pathlib import Path

from run_case import CONTROLS, knowledge, pack

from clinworld.run.batch_files import Batch
from clinworld.run.run_batch import run_batch

folder, phase, at = sys.argv[1], sys.argv[2], int(sys.argv[3])


def die(what: str, done: int, total: int) -> None:
    if (what, done) == (phase, at):
        os.kill(os.getpid(), signal.SIGKILL)


run_batch(Batch(Path(folder)), CONTROLS, pack(), knowledge(), episode="rounds", progress=die)
