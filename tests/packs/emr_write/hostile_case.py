"""Values and texts that no record system wants, for the tests that nothing a policy sends voids its rollout."""

from hypothesis import strategies as st

# As they stand in JSON: half a character, NUL, numbers nobody reads, nesting, and what a database might take for something else.
FRAGMENTS = [
    '"\\ud800"',
    '"\\udfff\\ud800"',
    '"\\u0000"',
    '"a\\u0000b"',
    '"\ud800"',
    '"\x00"',
    "9" * 20,
    "9" * 5000,
    "-" + "9" * 5000,
    "1e400",
    "-1e400",
    "1e999999999",
    "NaN",
    "Infinity",
    "-Infinity",
    "[" * 31 + "]" * 31,
    "[" * 5000,
    '{"a":' * 40 + "1" + "}" * 40,
    '{"a":1,"a":2}',
    '"\'; --"',
    '"%s ?"',
    '"\\"; DROP TABLE \\"Patient\\""',
    '"\uffff\U0010ffff"',
    '"\\u2028"',
    '"' + "x" * 5000 + '"',
    "null",
    "true",
    "[]",
    "{}",
    '"*"',
    '""',
    "1E+30",
    "-0",
    '"Patient/"',
    '{"reference":"Patient/x"}',
    '{"reference":null}',
    '"urn:uuid:x"',
    '"\u4e2d\\n"',
    '" k "',
    '"\\"1\\""',
    '"."',
    '".."',
    '"a/b?c#d"',
]
KEYS = ("op", "collection", "fields", "id", "where", "key", "full_url", "if_version", "if_none_exist", "decision", "reason")
NAMES = (
    "subject",
    "note",
    "status",
    "patientId",
    "patient_id",
    "identifier",
    "pubpid",
    "undeclared",
    "id",
    "\\ud800",
    "\\u0000",
    "valueQuantity",
)
COLLECTIONS = ("Patient", "encounters", "Observation", "patient_data", "MedicationRequest", "WriteKey")
LEAVES = st.sampled_from(FRAGMENTS)


def write_object(pairs):
    """A JSON object of these (key, JSON) pairs as text; keys may stand twice."""
    return "{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}"


FIELDS = st.lists(st.tuples(st.sampled_from(NAMES), LEAVES), max_size=3).map(write_object) | LEAVES
ARGUMENTS = st.tuples(
    st.sampled_from(COLLECTIONS).map(lambda name: [("collection", f'"{name}"')]) | st.just([]),
    st.lists(st.tuples(st.sampled_from(("fields", "where", "if_none_exist")), FIELDS), max_size=2, unique_by=lambda pair: pair[0]),
    st.lists(st.tuples(st.sampled_from(KEYS), LEAVES), max_size=2, unique_by=lambda pair: pair[0]),
).map(lambda parts: write_object([*parts[0], *parts[1], *parts[2]]))
ACTIONS = st.tuples(st.sampled_from(("create", "update", "delete")), ARGUMENTS).map(
    lambda parts: f'{{"op":"{parts[0]}"' + ("," if parts[1] != "{}" else "") + parts[1][1:]
)
REPORTS = st.lists(ACTIONS, max_size=3).map(lambda listed: f'{{"submitted":true,"actions":[{",".join(listed)}]}}')
