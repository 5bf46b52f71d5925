"""Around the record, a delivered text holds no number but those of the question, the prompt's own text and the appended questions.

So a hidden value planted there is found however it is printed, and a number the record prints anyway raises no alarm. What stands inside
the record is compared value by value (`prompts_show_the_view`), what stands in notes is searched (`notes_give_nothing_away`).
"""

from functools import lru_cache
from pathlib import Path

from clinworld.access.prompt import OUTPUT_TOKENS, PROBES, load_template
from clinworld.access.record_text import LABELS, drop_values, split_record
from clinworld.access.view import MAX_ROUNDS
from clinworld.core.tables import load_csv
from clinworld.core.text import Language
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.gates.hidden_values import hidden_numbers
from clinworld.gates.printed_numbers import read_line, readings_of
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding

CONTROLS = ("a_prompt_as_it_is_delivered", "a_prompt_with_a_planted_value")
GATE = "numbers_are_explained"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over every prompt of the item."""
    if not case.prompts:
        return Outcome(0, (), "the item causes no prompt")
    allowed, hidden = own_readings(case), hidden_numbers(case)
    findings: list[Finding] = []
    seen: set[str] = set()
    parts = [split_record(prompt.text) for prompt in case.prompts]
    spoken = dict.fromkeys(line for part in parts for text in (part[0], drop_values(part[1]), part[2]) for line in text.split("\n"))
    is_worded = bool(hidden.find_worded("\n".join(spoken)))
    for prompt, (before, _, after) in zip(case.prompts, parts, strict=True):
        lines = f"{before}{after}".split("\n")
        place, known = f"prompt {prompt.name}", allowed | {str(prompt.day)}
        for line in lines:
            if line in seen:
                continue
            for number in read_line(line):
                if number.readings[0] not in known and number.readings[-1] not in known:
                    found = f"the number {number.text!r}{hidden.explain(number)}"
                    findings.append(Finding(GATE, place, found, "numbers of the question and the prompt's text only"))
        seen.update(lines)
        for said, name in hidden.find_worded(prompt.text) if is_worded else ():
            findings.append(Finding(GATE, place, f"{said!r}, which is {name}", "hidden values are not delivered"))
    return Outcome(len(case.prompts), tuple(findings))


def own_readings(case: CaseUnderCheck) -> frozenset[str]:
    """Every number that may stand around the record of this item's prompts."""
    item = case.item
    rounds = range(1, min(MAX_ROUNDS, 1 + item.window_days // item.cadence_days) + 1)
    days = (day for probe in item.probes for day in probe.days or ())
    whole = map(str, (item.index_day, item.index_day + item.window_days, item.cadence_days, *days, *rounds))
    texts = [*(probe.claim.say(item.language) for probe in item.probes if probe.claim), *(probe.about for probe in item.probes)]
    return printed_readings(case.reader.pack.folder, item.language, item.target_event, case.knowledge).union(whole, readings_of(texts))


@lru_cache(maxsize=64)
def printed_readings(folder: Path, language: Language, target_event: str, knowledge: Knowledge) -> frozenset[str]:
    """The numbers of the prompt file in a pack's folder, of labels and question texts, of the outcome rule and of the names of drivers."""
    rule = knowledge.outcomes[target_event]
    texts = [load_template(folder / f"prompt.{language}.md"), target_event, rule.names.say(language), str(OUTPUT_TOKENS)]
    texts += [f"{100 * rule.min_change_frac:g} %", f"{rule.min_change_kg:g}", str(rule.smoothing_readings), str(rule.persist_days)]
    texts += [f"{100 * knowledge.parameter('probe.dead_zone'):g} %"]
    texts += [f"{driver.id} {driver.names.say(language)}" for driver in knowledge.drivers.values()]
    texts += [row[language] for table in (LABELS, PROBES) for row in load_csv(table, ("id", "en", "zh"))]
    texts += [str(number) for number in range(1, 4)]  # appended questions are numbered
    return readings_of(texts)
