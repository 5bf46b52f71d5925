"""Wordings of symptoms broken in one place each, with the check that must find it."""

from break_rows import both, condition, drug, row
from extra_rows import SOUND, ZH

SAID_EN, SAID_ZH = SOUND["symptoms"]["wordings_en"], SOUND["symptoms"]["wordings_zh"]

# the check's function, the finding's name, what is broken, what the finding must name
BROKEN = [
    ("check_wording_counts", "enough_wordings", row("symptoms", wordings_en="Cold elbows|Icy elbows|Chill elbows"), "at least 4"),
    ("check_wording_counts", "enough_wordings", row("symptoms", wordings_zh=SAID_ZH.rpartition("|")[0]), "3 wordings"),
    ("check_wording_counts", "enough_wordings", row("symptoms", wordings_en=f"{SAID_EN}|Elbows of stone"), "as many in each language"),
    ("check_wording_counts", "enough_wordings", row("symptoms", wordings_en=SAID_EN + " and cold" * 9), "at most 60"),
    ("check_wording_counts", "enough_wordings", row("symptoms", wordings_zh=SAID_ZH + ZH["say_one"] * 4), "at most 30"),
    (
        "check_wordings_mean_one_thing",
        "wording_means_one_thing",
        row("symptoms", wordings_en=SAID_EN.replace("My elbows are like ice", "my elbows, feel cold")),
        "words of its own",
    ),
    (
        "check_wordings_mean_one_thing",
        "wording_means_one_thing",
        row("symptoms", wordings_zh=SAID_ZH.replace(ZH["say_one"], ZH["tired"])),
        "wordings_zh in row tired of symptoms.csv",
    ),
    (
        "check_wordings_name_nothing",
        "wording_names_nothing",
        both(row("symptoms", wordings_en=SAID_EN.replace("cold", "sampled sample")), condition("tired", "sample")),
        "conditions/sample.yaml, in wordings",
    ),
    (
        "check_wordings_name_nothing",
        "wording_names_nothing",
        both(row("symptoms", wordings_zh=SAID_ZH.replace(ZH["say_one"], ZH["say_one"] + ZH["name"])), drug("nausea", "sample")),
        "drugs/sample.yaml, in wordings",
    ),
    (
        "check_wordings_name_nothing",
        "wording_names_nothing",
        both(
            row("symptoms", wordings_en=SAID_EN.replace("cold", "like TB")),
            drug("names:", "aliases: [TB]\nnames:", "symptom: nausea", "symptom: sample"),
        ),
        "no word 'TB'",
    ),
    (
        "check_wordings_name_nothing",
        "wording_names_nothing",
        condition("names:", f"aliases: [{ZH['tired']}]\nnames:"),
        "conditions/sample.yaml, names",
    ),
    (
        "check_wordings_fit_the_teller",
        "wording_fits_the_teller",
        row("symptoms", wordings_zh=SAID_ZH.replace(ZH["say_one"], ZH["pregnant"])),
        "sex F in the row",
    ),
]
