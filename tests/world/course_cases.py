"""Drawn premises for the tests of the course: sensible days and weights, far apart from each other."""

import numpy as np
from make_premise import make_premise

from clinworld.schema.premise import Premise

DEVICES = ("smart_scale", "clinic_scale", "wearable", "lab_panel", "bp_cuff", "cgm")
PATIENTS = (
    ("obesity", "tirzepatide", (2.5, 5.0, 7.5)),
    ("type_2_diabetes", "semaglutide", (0.25, 0.5, 1.0)),
    ("type_2_diabetes", "metformin", (500.0, 1000.0, 1500.0)),
    ("hypertension", "lisinopril", (5.0, 10.0, 20.0)),
    ("dyslipidemia", "atorvastatin", (10.0, 20.0)),
    ("masld", "tirzepatide", (2.5, 5.0)),
)


def draw_premise(number: int) -> Premise:
    """A premise whose loss, reversal and gain leave the rule room: at least 63 days and the needed gain after the reversal."""
    u = np.random.default_rng(number).random(12)
    index = (56, 70, 84, 98, 112, 168)[int(u[0] * 6)]
    end = index + (168, 224, 280, 392)[int(u[1] * 4)]
    start = round(62.0 + 78.0 * float(u[2]), 1)
    loss = round(float(u[3]) * min(0.16 * start, 0.125 * index), 1)
    regains = bool(u[4] < 0.5)
    reversal = 7 * (int(index * 0.8 + float(u[5]) * (end - 63 - index * 0.8)) // 7) if regains else None
    disease, drug, steps = PATIENTS[int(u[6] * len(PATIENTS))]
    slope = 0.2 + 0.5 * float(u[7])
    if reversal is not None:
        slope = max(slope, 1.2 * max(0.75, 0.05 * loss) * 7 / (end - reversal))
    return make_premise(
        case_id=f"drawn-{number}",
        disease=disease,
        drug=drug,
        dose_steps=steps,
        devices=DEVICES,
        sex="FM"[number % 2],
        index_day=index,
        course_end_day=end,
        start_weight_kg=start,
        nadir_weight_kg=round(start - loss, 1),
        nadir_day=index if reversal is None else min(index, reversal),
        outcome="regain" if regains else "maintain",
        reversal_day=reversal,
        regain_kg_per_week=slope,
        drug_response=round(0.5 + 1.3 * float(u[8]), 3),
    )
