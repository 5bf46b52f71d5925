"""What `clinworld inputs` prints of knowledge."""

from pathlib import Path

import pytest
from extra_rows import add_row

from clinworld.core.errors import UsageError
from clinworld.knowledge.listing import KINDS, count_statuses, list_rows
from clinworld.knowledge.load import load_knowledge
from clinworld.knowledge.rows import STATUSES

KNOWLEDGE = load_knowledge()


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_listed_with_names_a_source_that_exists_and_a_status(kind: str) -> None:
    rows = list_rows(kind, KNOWLEDGE)
    assert [row.id for row in rows] == list(KNOWLEDGE.table(kind))
    assert all(row.names.en and row.names.zh and row.source in KNOWLEDGE.sources and row.status in STATUSES for row in rows)
    assert all(set(row.to_row()) == {"id", "names", "values", "source", "status"} for row in rows)


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="'analytes'"):
        list_rows("analyte", KNOWLEDGE)


def test_a_value_is_shown_with_its_unit_and_an_empty_cell_is_left_out() -> None:
    hba1c = next(row for row in list_rows("analytes", KNOWLEDGE) if row.id == "hba1c")
    shown = {value.name: (value.value, value.unit) for value in hba1c.values}
    assert shown["diagnostic_high"] == ("6.5", "%")
    assert shown["per_kg"] == ("0.06", "%/kg")
    assert shown["cv_within_pct"] == ("1.2", "%")
    assert "derived_by" not in shown
    steps = next(row for row in list_rows("streams", KNOWLEDGE) if row.id == "steps")
    assert next(value for value in steps.values if value.name == "sd_within").unit == "ln"


def test_a_drug_shows_each_effect_with_its_own_source_and_status() -> None:
    drug = next(row for row in list_rows("drugs", KNOWLEDGE) if row.id == "tirzepatide")
    effect = next(value for value in drug.values if value.name == "effects.hba1c.5.t2d")
    assert (effect.value, effect.unit) == ("-2.09 (SD 1)", "pp; surpass2_peer, peer_cited")
    assert ("indications.obesity", "15", "mg") in drug.values


def test_a_disease_shows_its_levels_and_look_alikes() -> None:
    row = next(row for row in list_rows("conditions", KNOWLEDGE) if row.id == "masld")
    assert {"levels.alt", "look_alikes.hepatitis_b"} <= {value.name for value in row.values}


def test_shares_by_status_add_up_to_a_hundred_for_each_kind() -> None:
    shares = count_statuses(KNOWLEDGE)
    for kind in (*KINDS, "all"):
        assert sum(share.share_pct for share in shares if share.kind == kind) == pytest.approx(100)
    assert sum(share.rows for share in shares if share.kind == "sources") == len(KNOWLEDGE.sources)


def test_an_added_row_counts_in_the_shares(tmp_path: Path) -> None:
    def authored(kind: str, folder: Path | None) -> int:
        found = [s.rows for s in count_statuses(load_knowledge(folder)) if (s.kind, s.status) == (kind, "authored")]
        return sum(found)

    folder = add_row(tmp_path, "contexts")
    assert authored("contexts", folder) == authored("contexts", None) + 1
    assert authored("all", folder) == authored("all", None) + 1
