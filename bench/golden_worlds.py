"""Draws the twelve golden worlds in both languages for review by eye, and one picture a layer for docs/world.md.

`python bench/golden_worlds.py` draws docs/images/world-*.png; `--review DIR` draws every patient in both languages there. The printed
form of the same patients is renewed by `pytest tests/world/test_golden_worlds.py --update-golden`. Needs matplotlib, which ClinWorld does
not, and a font with Chinese signs.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from common import ROOT

matplotlib.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(ROOT / "tests" / "world"))
from golden_cases import KNOWLEDGE, NAMES, RNG, GoldenWorld, build_golden

from clinworld.core.tables import load_csv
from clinworld.world.condition_effects import acting_conditions, list_acting
from clinworld.world.condition_ramps import derive_ramps

IMAGES = ROOT / "docs" / "images"
FONTS = ["Noto Sans CJK SC", "Noto Sans CJK JP", "DejaVu Sans"]
INK, BLUE, RED, GREEN, GREY = "#1f2933", "#0b6e99", "#c8553d", "#4a7c59", "#9aa5b1"
SHOWN_STREAMS = ("resting_hr", "home_sbp", "steps", "sleep_hours", "spo2_night", "gi_symptom_score", "cgm_mean")
SHOWN_LABS = ("hba1c", "fasting_glucose", "ldl_c", "triglycerides", "alt", "creatinine", "platelets")
# Layer → the patient that shows it.
LAYERS = {
    "weight": "obesity_doses_missed",
    "streams": "hidden_pe",
    "labs": "diabetes_eats_more",
    "conditions": "hidden_hypothyroidism",
    "events": "hidden_gout",
    "medication": "hidden_iron_deficiency_anaemia",
}
MOST_NOTES = 18


def load_labels(language: str) -> dict[str, str]:
    """Words of the pictures."""
    rows = load_csv(Path(__file__).with_name("golden_labels.csv"), ("id", "en", "zh"))
    return {row["id"]: row[language] for row in rows}


class Drawing:
    """One patient in one language."""

    def __init__(self, world: GoldenWorld, language: str) -> None:
        self.world, self.language, self.say = world, language, load_labels(language)

    def name(self, kind: str, row_id: str) -> str:
        """The name of a knowledge row."""
        row = getattr(KNOWLEDGE, kind).get(row_id)
        return str(getattr(row.names, self.language)) if row is not None else row_id

    def weight(self, axis: Any) -> None:
        """True weight, both scales, index day and reversal."""
        record, premise = self.world.record, self.world.premise
        for series, label, colour in (("weight", "home", GREY), ("weight_clinic", "clinic", RED)):
            if (found := record.find(series)) is not None:
                axis.plot(found.days, found.values(), "." if series == "weight" else "D", ms=3, color=colour, label=self.say[label])
        axis.plot(self.world.course.weight_kg, color=BLUE, lw=1.6, label=self.say["truth"])
        if premise.reversal_day is not None:
            axis.axvline(premise.reversal_day, color=RED, lw=0.8, ls=":", label=self.say["reversal"])
        axis.set_ylabel("kg")

    def streams(self, axis: Any) -> None:
        """What is worn and measured at home, each in percent of its own first four weeks."""
        for i, name in enumerate(SHOWN_STREAMS):
            series = self.world.record.find(name)
            if series is None or len(series.days) < 20:
                continue
            values = series.values()
            usual = values[series.days < 28].mean() if (series.days < 28).any() else values[0]
            width = 7
            weeks = [values[(series.days >= d) & (series.days < d + width)] for d in range(0, self.world.record.last_day, width)]
            means = [100 * week.mean() / usual if len(week) else np.nan for week in weeks]
            axis.plot(np.arange(len(means)) * width + 3, means, lw=1.2, color=f"C{i}", label=self.name("streams", name))
        axis.set_ylabel(self.say["of_first"])

    def labs(self, axis: Any) -> None:
        """Printed results, each in percent of its first."""
        for i, name in enumerate(SHOWN_LABS):
            series = self.world.record.find(name)
            if series is not None and len(series.ticks) > 1:
                values = series.values()
                axis.plot(series.days, 100 * values / values[0], "o-", ms=3, lw=1, color=f"C{i}", label=self.name("analytes", name))
        axis.set_ylabel(self.say["of_first"])

    def conditions(self, axis: Any) -> None:
        """How far each condition has come by day."""
        acting = acting_conditions(list_acting(self.world.premise, KNOWLEDGE))
        ramps = derive_ramps(acting, self.world.premise, KNOWLEDGE, RNG)
        drawn: set[str] = set()
        for i, ((condition, _trajectory, is_documented), ramp) in enumerate(ramps.items()):
            label = f"{self.name('conditions', condition)} ({self.say['documented' if is_documented else 'hidden']})"
            axis.plot(ramp, color=f"C{i % 10}", lw=1.4, ls="-" if is_documented else "--", label=None if label in drawn else label)
            drawn.add(label)
        axis.set_ylim(-0.05, 1.1)
        axis.set_ylabel(self.say["share_of_change"])

    def events(self, axis: Any) -> None:
        """What was told, in its words, up to some weeks after the index day."""
        kinds = {origin.note_id: origin for origin in self.world.chart.origins}
        notes = self.world.record.notes[:MOST_NOTES]
        for i, note in enumerate(notes):
            origin = kinds[note.note_id]
            colour = RED if origin.kind == "real" else GREEN if note.source == "patient_reported_context" else INK
            axis.plot([note.day], [-i], "o", ms=4, color=colour)
            axis.text(note.day + 2, -i, getattr(note.text, self.language), fontsize=7, color=colour, va="center")
        axis.set_yticks([])
        last = max((note.day for note in notes), default=1)
        axis.set_xlim(-2, 1.9 * last + 20)

    def medication(self, axis: Any) -> None:
        """The dose in force, packs, and how much was taken."""
        course, record = self.world.course, self.world.record
        axis.step(np.arange(course.last_day + 1), course.dose, where="post", color=BLUE, label=self.say["dose"])
        packs = [(pack.day, pack.dose) for pack in record.dispensing]
        axis.plot([d for d, _ in packs], [x for _, x in packs], "^", ms=4, color=GREEN, label=self.say["pack"])
        axis.set_ylim(0, 1.3 * max(course.dose))
        axis.set_ylabel(f"{self.name('drugs', self.world.premise.drug)}, {record.prescriptions[0].unit}")
        other = axis.twinx()
        other.plot(100 * course.adherence, color=GREY, lw=0.8, label=self.say["taken"])
        if (series := record.find("med_adherence")) is not None:
            other.plot(series.days, series.values(), "x", color=RED, ms=4, label=self.say["reading"])
        other.set_ylim(0, 105)
        other.set_ylabel("%")
        other.legend(fontsize=7, frameon=False, loc="lower right")

    def draw(self, axis: Any, layer: str) -> None:
        """One layer on an axis."""
        getattr(self, layer)(axis)
        axis.set_title(self.say[layer], fontsize=10, loc="left")
        axis.axvline(self.world.premise.index_day, color=INK, lw=0.8, ls="--")
        axis.set_xlabel(self.say["day"], fontsize=8)
        axis.tick_params(labelsize=7)
        axis.spines[["top", "right"]].set_visible(False)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=7, frameon=False, loc="best", ncol=2 if layer in ("streams", "labs") else 1)

    def title(self) -> str:
        """Who it is, in one line."""
        premise = self.world.premise
        who = f"{premise.patient.sex}, {premise.patient.age_low}-{premise.patient.age_high}"
        known = ", ".join(self.name("conditions", name) for name in self.world.record.profile.known_conditions)
        shown = f" | {self.say['hidden']}: {self.name('conditions', premise.presenting.condition)}" if premise.presenting else ""
        return f"{self.world.name}: {who}; {known}{shown}"


def draw_patient(world: GoldenWorld, language: str, path: Path) -> None:
    """All layers of one patient."""
    figure, axes = plt.subplots(3, 2, figsize=(15, 13), layout="constrained")
    drawing = Drawing(world, language)
    for axis, layer in zip(axes.flat, LAYERS, strict=True):
        drawing.draw(axis, layer)
    figure.suptitle(drawing.title(), fontsize=11)
    figure.savefig(path, dpi=75)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--review", type=Path, help="draw every patient in both languages in this folder instead")
    parser.add_argument("--patients", nargs="*", default=list(NAMES))
    options = parser.parse_args()
    plt.rcParams.update({"font.family": FONTS, "axes.unicode_minus": False})
    if options.review:
        options.review.mkdir(parents=True, exist_ok=True)
        for name in options.patients:
            world = build_golden(name)
            for language in ("en", "zh"):
                draw_patient(world, language, options.review / f"{name}-{language}.png")
        return
    IMAGES.mkdir(parents=True, exist_ok=True)
    for layer, name in LAYERS.items():
        figure, axis = plt.subplots(figsize=(9, 4.2), layout="constrained")
        Drawing(build_golden(name), "en").draw(axis, layer)
        path = IMAGES / f"world-{layer}.png"
        figure.savefig(path, dpi=90)
        plt.close(figure)
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
