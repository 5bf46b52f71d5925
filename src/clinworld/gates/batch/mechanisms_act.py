"""Every mechanism that some case declared acted at least once in the batch; one that never acts exists only in code.

What acts by chance in every case (repeated readings, non-wear, missing readings) is declared by none and may be absent from a batch.
"""

from collections import Counter
from collections.abc import Sequence

from clinworld.gates.case import Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item

CONTROLS = ("mechanisms_that_acted", "a_mechanism_that_never_acted")
BY_CHANCE = ("carried_forward", "non_wear", "missingness:", "adherence_dip")


def check(batch: tuple[Sequence[tuple[Item, GoldRow]], Knowledge]) -> Outcome:
    """One finding for each declared mechanism with a total of zero."""
    totals: Counter[str] = Counter()
    for _, gold in batch[0]:
        for mechanism, times in gold.acted:
            if not mechanism.startswith(BY_CHANCE):
                totals[mechanism] += times
    findings = tuple(
        Finding("mechanisms_act", mechanism, "acted 0 times in the batch", "a declared mechanism acts at least once")
        for mechanism, times in sorted(totals.items())
        if times == 0
    )
    return Outcome(len(totals), findings, "no mechanism declared")
