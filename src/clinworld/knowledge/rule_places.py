"""Where protocols, rules and rule facts stand, as findings name them."""

from clinworld.knowledge.rule_facts import RuleKnowledge
from clinworld.knowledge.rule_rows import Protocol


def protocol_place(knowledge: RuleKnowledge, name: str, cell: str = "") -> str:
    """`protocols/titrate_metformin.yaml, subject`, with its whole path for an added file; cell "" names the file."""
    added = knowledge.added.get("protocols", {}).get(name)
    file = str(added) if added else f"protocols/{name}.yaml"
    return f"{file}, {cell}" if cell else file


def rule_place(knowledge: RuleKnowledge, protocol: Protocol, index: int) -> str:
    """`protocols/titrate_metformin.yaml, rules[0] (metformin_stop_in_kidney_failure)`."""
    return protocol_place(knowledge, protocol.id, f"rules[{index}] ({protocol.rules[index].id})")


def fact_place(knowledge: RuleKnowledge, name: str, cell: str = "") -> str:
    """`rule_facts.csv (dose), choices`."""
    added = knowledge.added.get("rule_facts", {}).get(name)
    row = f"{added or 'rule_facts.csv'} ({name})"
    return f"{row}, {cell}" if cell else row
