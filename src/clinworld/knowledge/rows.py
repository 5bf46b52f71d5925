"""The shapes of knowledge rows, all in one place to import from; what they mean stands in the files they come from.

Every row carries a source id and a status. None is "not known", never zero.
"""

from clinworld.knowledge.condition_rows import (
    Comorbidity,
    Condition,
    ConditionFinding,
    ConditionStates,
    ConditionSymptom,
    Level,
    LookAlike,
    OrderedTests,
    Presentation,
    Prevalence,
    RedFlag,
    Specialty,
    Symptom,
    ToldApart,
    Wordings,
)
from clinworld.knowledge.device_rows import (
    ArtifactRow,
    Device,
    Stream,
)
from clinworld.knowledge.drug_rows import (
    AdverseEffect,
    Contraindication,
    Drug,
    DrugEffect,
    Interaction,
    Monitoring,
)
from clinworld.knowledge.effect_rows import Coupling, EventEffect
from clinworld.knowledge.history_rows import OldEvent
from clinworld.knowledge.lab_rows import (
    Analyte,
    FindingKind,
    LabFactor,
    LabFactorEffect,
    OrderableTest,
    PriceTier,
)
from clinworld.knowledge.note_rows import (
    BenignEvent,
    ContextPhrase,
    Driver,
    OutcomeRule,
    SymptomComplaints,
    SymptomShadow,
)
from clinworld.knowledge.panel_rows import LabPlatform, PanelCorrelation
from clinworld.knowledge.source_rows import (
    STATUSES,
    Parameter,
    Source,
)

__all__ = [
    "STATUSES",
    "AdverseEffect",
    "Analyte",
    "ArtifactRow",
    "BenignEvent",
    "Comorbidity",
    "Condition",
    "ConditionFinding",
    "ConditionStates",
    "ConditionSymptom",
    "ContextPhrase",
    "Contraindication",
    "Coupling",
    "Device",
    "Driver",
    "Drug",
    "DrugEffect",
    "EventEffect",
    "FindingKind",
    "Interaction",
    "LabFactor",
    "LabFactorEffect",
    "LabPlatform",
    "Level",
    "LookAlike",
    "Monitoring",
    "OldEvent",
    "OrderableTest",
    "OrderedTests",
    "OutcomeRule",
    "PanelCorrelation",
    "Parameter",
    "Presentation",
    "Prevalence",
    "PriceTier",
    "RedFlag",
    "Source",
    "Specialty",
    "Stream",
    "Symptom",
    "SymptomComplaints",
    "SymptomShadow",
    "ToldApart",
    "Wordings",
]
