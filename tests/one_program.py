"""Evaluates many small cases in one compiled program, instead of compiling programs for each."""

import podium


def evaluate_cases(cases, evaluate, values):
    """Return the list of Tensors that `evaluate(case, values)` returns, by case.

    Cases that need concrete values during the trace, that return other types than Tensors, or that
    raise are omitted: their tests evaluate them eagerly.
    """

    def run(values):
        results_by_case = {}
        for case in cases:
            try:
                results = evaluate(case, values)
            except Exception:
                continue
            if all(isinstance(result, podium.Tensor) for result in results):
                results_by_case[case] = results
        return results_by_case

    return podium.function(run)(values)
