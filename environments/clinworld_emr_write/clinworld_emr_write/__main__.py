"""`python -m clinworld_emr_write`: the self test, then the corpus. Needs no verifiers.

Exits with 1 where anything does not hold, with 2 where it was asked for what it cannot do.
"""

import argparse
import json
import sys
from pathlib import Path

from clinworld.core.errors import ClinworldError

from .corpus import ALPHA, VARIANTS, certify_corpus, self_test
from .rows import Arguments


def main() -> int:
    """Read what is asked, run both and print what was seen."""
    parser = argparse.ArgumentParser(prog="python -m clinworld_emr_write", description="Self test and corpus of the labelled cases.")
    parser.add_argument("--variants", type=int, default=VARIANTS, help="variants of each case in each store")
    parser.add_argument("--seed", type=int, default=0, help="seed of the variants")
    parser.add_argument("--json", type=Path, help="file to write the numbers to")
    given = parser.parse_args()
    try:
        return run(given)
    except (ClinworldError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 2


def run(given: argparse.Namespace) -> int:
    """Both, as asked."""
    Arguments(num_tasks=given.variants, seed=given.seed)
    claims = self_test()
    for claim in claims:
        if not claim.holds:
            print(f"does not hold: {claim.what}")
    kept = sum(claim.holds for claim in claims)
    print(f"self test: {kept} of {len(claims)} hold")
    corpus = certify_corpus(variants=given.variants, seed=given.seed)
    print(f"labelled cases: {corpus['hacking_paid']} of {corpus['hacking_trials']} paid; {corpus['hacking_paid_by_case']}")
    print(
        f"  exact one-sided {1 - ALPHA:.0%} upper bound on false accepts, of these scripted replays: {corpus['false_accept_bound_printed']}"
    )
    print(f"control: {corpus['gold_trials'] - corpus['gold_refused']} of {corpus['gold_trials']} paid")
    print(f"  exact one-sided {1 - ALPHA:.0%} lower bound on right writes paid: {corpus['gold_paid_bound_printed']}")
    if given.json:
        given.json.write_text(json.dumps({"self_test": [claim._asdict() for claim in claims], "corpus": corpus}, indent=2) + "\n")
    return 0 if kept == len(claims) and corpus["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
