"""Evaluates many small cases in one compiled program: one by one, each of them would compile a few
programs of its own.
"""

import podium


def evaluated(cases, evaluate, values):
    """What `evaluate(case, values)` returns for every case, a list of Tensors, as {case: list}.

    Cases that need values while they are traced, that give something else than Tensors, or that
    raise are left out: their own tests evaluate them eagerly.
    """

    def run(values):
        found = {}
        for case in cases:
            try:
                results = evaluate(case, values)
            except Exception:
                continue
            if all(isinstance(result, podium.Tensor) for result in results):
                found[case] = results
        return found

    return podium.function(run)(values)
