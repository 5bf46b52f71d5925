"""The string that marks answer-bearing files, so that their presence in a training corpus can be found."""

CANARY = "clinworld canary 6f1c0f9e-5b1d-4a53-9d43-8e2b7a60d1c4"
