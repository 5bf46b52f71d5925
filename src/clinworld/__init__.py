"""ClinWorld: synthetic longitudinal patients whose right answer is fixed before the data, and the exam built on them.

All patients are synthetic. Nothing here is medical advice; no clinician has reviewed it.
"""

__version__ = "0.1.0"
