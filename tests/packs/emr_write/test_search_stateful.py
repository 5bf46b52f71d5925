"""Any actions in any order, a record system that is read after each, and the slow oracle beside it. Hypothesis shrinks what differs."""

import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule, run_state_machine_as_test

from clinworld.packs.emr_write.actions import Action
from clinworld.packs.emr_write.checker.check import check_write
from clinworld.packs.emr_write.checker.verdict import ALL_RULES
from clinworld.packs.emr_write.report import Report
from clinworld.packs.emr_write.search.cases import build_task
from clinworld.packs.emr_write.search.slow_oracle import SlowStore, judge_states
from clinworld.packs.emr_write.search.slow_values import canonical
from clinworld.packs.emr_write.search.walk import plain_rows, plain_wanted
from clinworld.packs.emr_write.store.layout import load_layout
from clinworld.packs.emr_write.store.sqlite import SqliteStore

TASK = build_task("accented")
RECORD = TASK.spec.records[0]
RIGHT = {**RECORD.identity, **RECORD.fields}
PATIENTS = [row.row_id for row in TASK.setup if row.collection == "Patient"]
SEEDS = [(row.collection, row.row_id) for row in TASK.setup if row.collection in ("Patient", "patient_data")]
STORE = SqliteStore(TASK.setup)
NET = replace(TASK.spec, is_self_correction_allowed=True)
REPORT = Report((), True)

notes = st.sampled_from([RIGHT["note"], unicodedata.normalize("NFD", RIGHT["note"]), RIGHT["note"] + " ", "", "x", 1, None])
patients = st.sampled_from([*PATIENTS, "nobody", None])
allowed = st.sampled_from([RECORD.optional["key"][0], "other"])
kinds = st.sampled_from([RIGHT["type"], "x"])
more = {"note": notes, "type": kinds, "patient_id": patients, "key": allowed, "priority": st.just("stat"), "ward": st.just("1")}
elements = st.fixed_dictionaries({}, optional=more)
seed_elements = st.fixed_dictionaries({}, optional={"sex": st.sampled_from(["x", None]), "occupation": st.just("1")}).filter(bool)
write_keys = st.sampled_from([None, None, None, "a", "b"])


class Episode(RuleBasedStateMachine):
    """One episode over many calls; a row has one name here and another there."""

    checker_rules = ALL_RULES
    rows = Bundle("rows")

    @initialize()
    def begin(self):
        STORE.begin((), now=TASK.now)
        self.slow = SlowStore(plain_rows(TASK.setup))

    def teardown(self):
        STORE.restore()

    def do(self, **action):
        """The action in both systems; the ids of a new row, or None."""
        real = dict(action)
        if isinstance(named := action.get("id"), tuple):
            real["id"], action["id"] = named
        real["row_id"] = real.pop("id", None)
        made = self.slow.made
        reply = STORE.execute([Action(**{"fields": {}, **real})])[0]
        self.slow.do(action)
        return (reply.row_id, f"row-{self.slow.made}") if self.slow.made > made else None

    @rule(target=rows, changed=elements, is_whole=st.booleans(), key=write_keys)
    def create(self, changed, is_whole, key):
        made = self.do(op="create", collection="encounters", fields={**RIGHT, **changed} if is_whole else changed or {"note": "x"}, key=key)
        return made if made else multiple()

    @rule(target=rows)
    def create_right(self):
        return self.do(op="create", collection="encounters", fields=RIGHT) or multiple()

    @rule(target=rows, by=st.sampled_from([("patient_id",), ("note",), ("patient_id", "note")]))
    def create_if_none(self, by):
        asked = {name: RIGHT[name] for name in by}
        return self.do(op="create", collection="encounters", fields=RIGHT, if_none_exist=asked) or multiple()

    @rule(row=rows, changed=elements.filter(bool), version=st.sampled_from([None, None, "1", "2"]))
    def update_new(self, row, changed, version):
        self.do(op="update", collection="encounters", id=row, fields=changed, if_version=version)

    @rule(row=rows)
    def put_right(self, row):
        self.do(op="update", collection="encounters", id=row, fields=RIGHT)

    @rule(row=rows)
    def delete_new(self, row):
        self.do(op="delete", collection="encounters", id=row)

    @rule(seed=st.sampled_from(SEEDS), changed=seed_elements, version=st.sampled_from([None, "1", "2"]))
    def update_seed(self, seed, changed, version):
        fields = changed if seed[0] == "patient_data" else {"gender": changed.get("sex")}
        self.do(op="update", collection=seed[0], id=(seed[1], seed[1]), fields=fields, if_version=version)

    @rule(seed=st.sampled_from(SEEDS))
    def delete_seed(self, seed):
        self.do(op="delete", collection=seed[0], id=(seed[1], seed[1]))

    @rule(where=st.sampled_from(["*", {"note": "x"}, {"patient_id": PATIENTS[0]}, {"priority": None}]), is_delete=st.booleans())
    def change_many(self, where, is_delete):
        self.do(
            op="delete" if is_delete else "update", collection="encounters", where=where, **({} if is_delete else {"fields": {"note": "x"}})
        )

    @invariant()
    def both_say_the_same(self):
        STORE.drain()
        reading = STORE.read(TASK.spec.near())
        for is_net, spec in ((False, TASK.spec), (True, NET)):
            truth = judge_states(plain_wanted(TASK.spec), self.slow.states, is_net=is_net)
            verdict = check_write(spec, reading, REPORT, rules=self.checker_rules)
            assert (verdict.outcome, verdict.reward == 1.0) == (truth, truth == "verified"), verdict.reasons()

    @invariant()
    def both_hold_the_same_rows(self):
        layout, now = load_layout(), self.slow.states[-1].get("encounters", {})
        real = [each.after for each in STORE.read().changes if each.collection == "encounters"]
        own = [
            {name: value for name, value in row.items() if layout.owner("encounters", name) == "policy"}
            for row in real
            if row["deleted"] == "0"
        ]
        slow = [
            {name: value for name, value in row.items() if name not in ("id", "version", "deleted")}
            for row in now.values()
            if not row["deleted"]
        ]
        assert sorted(map(repr, map(canonical, own))) == sorted(map(repr, map(canonical, slow)))


QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much]


def test_checker_and_slow_oracle_agree_whatever_is_done():
    run_state_machine_as_test(
        Episode, settings=settings(max_examples=25, stateful_step_count=8, deadline=None, database=None, suppress_health_check=QUIET)
    )


@pytest.mark.slow
def test_checker_and_slow_oracle_agree_over_long_episodes():
    run_state_machine_as_test(
        Episode, settings=settings(max_examples=500, stateful_step_count=20, deadline=None, database=None, suppress_health_check=QUIET)
    )


@pytest.mark.parametrize(
    "missing",
    ["whole_frame", pytest.param("one_to_one_rows", marks=pytest.mark.slow), pytest.param("clean_history", marks=pytest.mark.slow)],
)
def test_the_search_finds_out_a_checker_that_lacks_a_rule_and_shrinks_to_few_steps(missing):
    lacking = type("Lacking", (Episode,), {"checker_rules": ALL_RULES - {missing}})
    options = settings(max_examples=300, stateful_step_count=5, deadline=None, database=None, derandomize=True, suppress_health_check=QUIET)
    with pytest.raises(AssertionError) as failure:
        run_state_machine_as_test(lacking, settings=options)
    text = "\n".join(getattr(failure.value, "__notes__", ()))
    steps = re.findall(r"state\.((?:create|update|put|delete|change)\w*)\(", text)
    assert 1 <= len(steps) <= 3, text
