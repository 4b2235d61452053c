"""The numbered requirements of the engine, as tests: one function for each.

A test is named `test_requirement_<number>_<behavior>` and its docstring is the requirement in one
sentence; the defects of documents that must not be copied are `test_defect_<number>_<behavior>`.
`test_index.py` checks that no number is missing or tested twice. To run one of them:
`pytest tests/requirements -k requirement_43`.

| module                        | numbers      | about                                          |
| ----------------------------- | ------------ | ---------------------------------------------- |
| `test_compile.py`             | 1-10         | models and `compile`                           |
| `test_steps.py`               | 11-25        | what a step receives, may do and returns       |
| `test_step_functions.py`      | 26-35        | `make_train_function` and its kin              |
| `test_data.py`                | 36-49        | sources, epochs and steps                      |
| `test_fit_evaluate_predict.py`| 50-61        | the loops, callbacks and progress bars         |
| `test_distribution.py`        | 62-68        | strategies and replicas                        |
| `test_persistence.py`         | 69-72        | weights in files                               |
| `test_operations.py`          | 73-75, 85    | measurements, fused steps, separation          |
| `test_seed_defects.py`        | D1-D8        | defects of the documents, done right           |
| `test_names.py`               |              | every API that the documents name              |
| `test_bugs_of_others.py`      |              | bugs of other systems that must not appear     |
| `test_later.py`               | 76-84        | added after the first trials                   |

Where the documents are silent, the values of tf_keras 2.21 are expected: `helpers.compare` compares
a case of `tests/oracle/requirement_cases.py` with what `tests/oracle/record_requirements.py`
recorded.
"""
