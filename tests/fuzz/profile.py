"""How long to fuzz: a short, repeatable round with the other tests, or other documents for longer.

`REROLL_FUZZ_EXAMPLES` is the number of documents for each test; with it they are random.
"""

import os

from hypothesis import HealthCheck, Phase, settings

SHORT = 40
EXAMPLES = int(os.environ.get("REROLL_FUZZ_EXAMPLES", "0"))

fuzz = settings(
    max_examples=EXAMPLES or SHORT,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
