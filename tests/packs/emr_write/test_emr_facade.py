"""The HTTP face of the record system: FHIR's write semantics, and the same verdicts as without it."""

import http.client
import json
from urllib.parse import urlsplit

import emr_case as case
import pytest

from clinworld.packs.emr_write.actions import Action
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.search.cases import observe_case
from clinworld.packs.emr_write.search.corpus import read_corpus
from clinworld.packs.emr_write.store.chart import draw_bulk
from clinworld.packs.emr_write.store.facade_store import FacadeStore
from clinworld.packs.emr_write.store.protocol import OracleUnreadable

TASK = case.record("service_request")
SAMPLE = read_corpus()[::20]


@pytest.fixture(scope="module")
def system():
    made = FacadeStore(draw_bulk(seed=1, rows=100))
    yield made
    made.close()


@pytest.fixture
def web(system):
    """One request to a system on which the episode of a task has begun."""
    system.begin(TASK.setup, now=TASK.now)
    place = urlsplit(system.facade.url)
    line = http.client.HTTPConnection(place.netloc, timeout=10)

    def ask(method, path, value=None, **headers):
        sent = {name.replace("_", "-"): text for name, text in headers.items()}
        body = value if value is None or isinstance(value, (str, bytes)) else json.dumps(value, default=str)
        line.request(method, place.path + path, body=body, headers=sent)
        reply = line.getresponse()
        return reply.status, dict(reply.getheaders()), json.loads(reply.read())

    yield ask
    line.close()
    system.restore()


def order(**changed):
    return {"resourceType": "ServiceRequest", **json.loads(json.dumps(case.fields(TASK)["fields"], default=str)), **changed}


def show(verdict):
    return verdict.outcome, verdict.reward, sorted(finding.say() for finding in verdict.findings), verdict.witnesses, verdict.metrics


@pytest.mark.parametrize("line", SAMPLE, ids=lambda line: line.case.case_id)
def test_a_case_gets_the_same_verdict_over_http(line, system):
    verdict = observe_case(system, line.case).judge()
    assert verdict.outcome == line.outcome
    assert show(verdict) == show(observe_case(case.store(), line.case).judge())


def test_a_create_is_201_with_its_place_and_version(web):
    status, headers, made = web("POST", "/ServiceRequest", order())
    assert status == 201 and headers["Location"].endswith(f"/ServiceRequest/{made['id']}") and headers["ETag"] == 'W/"1"'
    assert web("GET", f"/ServiceRequest/{made['id']}")[2]["code"] == order()["code"]


def test_the_gold_report_over_http_is_paid_and_twice_is_not(system):
    assert run_report(system, TASK, case.gold_report(TASK)).reward == 1.0
    assert run_report(system, TASK, case.write_report(case.actions(TASK) * 2)).outcome == "wrong_effect"


def test_a_conditional_create_is_201_then_200_then_412(web):
    who = order()["subject"]["reference"].partition("/")[2]
    assert web("POST", "/ServiceRequest", order(), If_None_Exist=f"patientId={who}")[0] == 201
    status, _, found = web("POST", "/ServiceRequest", order(status="draft"), If_None_Exist=f"patientId={who}")
    assert status == 200 and found["status"] == "active"
    assert web("POST", "/ServiceRequest", order())[0] == 201
    status, _, told = web("POST", "/ServiceRequest", order(), If_None_Exist=f"patientId={who}")
    assert status == 412 and told["resourceType"] == "OperationOutcome"
    assert web("GET", f"/ServiceRequest?patientId={who}")[2]["total"] == 2


def test_an_update_with_a_stale_version_is_412_and_changes_nothing(web):
    _, _, made = web("POST", "/ServiceRequest", order())
    place = f"/ServiceRequest/{made['id']}"
    assert web("PATCH", place, {"status": "on-hold"}, If_Match='W/"1"')[1]["ETag"] == 'W/"2"'
    assert web("PATCH", place, {"status": "revoked"}, If_Match='W/"1"')[0] == 412
    assert web("GET", place)[2]["status"] == "on-hold"


def test_a_put_replaces_the_whole_resource_and_a_patch_the_elements_it_names(web):
    _, _, made = web("POST", "/ServiceRequest", order(priority="stat"))
    place = f"/ServiceRequest/{made['id']}"
    assert "priority" in web("PATCH", place, {"status": "on-hold"})[2]
    status, _, after = web("PUT", place, order())
    assert status == 200 and "priority" not in after and after["status"] == "active" and after["id"] == made["id"]
    assert web("PUT", "/ServiceRequest/nobody", order())[0] == 404


def test_a_deleted_row_is_410_its_history_stays_and_a_put_brings_it_back(web):
    _, _, made = web("POST", "/ServiceRequest", order())
    place = f"/ServiceRequest/{made['id']}"
    assert web("DELETE", place)[0] == 200
    assert web("GET", place)[0] == 410
    assert web("DELETE", place)[0] == 404
    status, _, history = web("GET", f"{place}/_history")
    assert status == 200 and [entry["resource"]["meta"]["versionId"] for entry in history["entry"]] == ["2", "1"]
    assert web("PUT", place, order())[0] == 200 and web("GET", place)[0] == 200
    assert web("GET", f"{place}/_history")[2]["total"] == 3


def test_a_transaction_is_all_or_nothing_and_a_batch_is_not(web):
    good = {"request": {"method": "POST", "url": "ServiceRequest"}, "resource": order()}
    bad = {"request": {"method": "POST", "url": "ServiceRequest"}, "resource": order(subject={"reference": "Patient/nobody"})}
    who = order()["subject"]["reference"].partition("/")[2]
    count = lambda: web("GET", f"/ServiceRequest?patientId={who}")[2]["total"]  # noqa: E731
    status, _, told = web("POST", "", {"resourceType": "Bundle", "type": "transaction", "entry": [good, bad]})
    assert status == 422 and told["resourceType"] == "OperationOutcome" and count() == 0
    status, _, told = web("POST", "", {"resourceType": "Bundle", "type": "batch", "entry": [good, bad]})
    assert status == 200 and [entry["response"]["status"] for entry in told["entry"]] == ["201", "422"] and count() == 1
    assert web("POST", "", {"resourceType": "Bundle", "type": "transaction", "entry": [good, good]})[0] == 200 and count() == 3


def test_one_key_has_one_effect_and_another_payload_under_it_is_422(web):
    assert [web("POST", "/ServiceRequest", order(), Idempotency_Key="k")[0] for _ in range(2)] == [201, 200]
    assert web("POST", "/ServiceRequest", order(status="draft"), Idempotency_Key="k")[0] == 422
    who = order()["subject"]["reference"].partition("/")[2]
    assert web("GET", f"/ServiceRequest?patientId={who}")[2]["total"] == 1


@pytest.mark.parametrize(
    ("method", "path", "value", "status"),
    [
        ("POST", "/ServiceRequest", "{", 400),
        ("POST", "/ServiceRequest", '{"status":"a","status":"b"}', 400),
        ("POST", "/ServiceRequest", '{"status":NaN}', 400),
        ("POST", "/ServiceRequest", "[" * 100_000, 400),
        ("POST", "/ServiceRequest", '{"quantityQuantity":' + "9" * 5000 + "}", 400),
        ("POST", "/ServiceRequest", "[]", 400),
        ("POST", "/ServiceRequest", {"resourceType": "Patient"}, 400),
        ("POST", "/ServiceRequest", order(version="9"), 422),
        ("POST", "/ServiceRequest", order(undeclared="1"), 422),
        ("POST", "/AuditEvent", {"action": "create"}, 404),
        ("POST", "/Journal", {"seq": 1}, 404),
        ("GET", "/Patient", None, 400),
        ("GET", "/Patient?active=true", None, 400),
        ("GET", "/Patient?id%22%20%3D%201%20--=x", None, 400),
        ("GET", "/Patient/nobody", None, 404),
        ("GET", "/Patient/nobody/_history", None, 404),
        ("PATCH", "/ServiceRequest", order(), 405),
        ("DELETE", "", None, 405),
        ("POST", "", {"type": "document", "entry": []}, 400),
        ("POST", "", {"type": "batch", "entry": [{}]}, 400),
        ("POST", "", {"type": "batch", "entry": [{}] * 501}, 413),
    ],
)
def test_what_is_no_good_request_is_refused_and_changes_nothing(web, system, method, path, value, status):
    found, _, told = web(method, path, value)
    assert found == status and told["resourceType"] == "OperationOutcome"
    assert system.read().journal == ()


def test_a_facade_that_does_not_answer_leaves_the_episode_unscored():
    system = FacadeStore(draw_bulk(seed=1, rows=50))
    system.begin(TASK.setup, now=TASK.now)
    system.facade.close()
    system._line.close()
    with pytest.raises(OracleUnreadable):
        system.execute([Action("create", "ServiceRequest", dict(case.fields(TASK)["fields"]))])
    assert run_report(system, TASK, case.gold_report(TASK)).outcome == "failed_platform"
    system._line.close()
    system.inner.close()
