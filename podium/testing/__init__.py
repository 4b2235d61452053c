"""Contract checks for components written outside of Podium, in the spirit of scikit-learn's
`check_estimator`: one call checks a component, and the error states what is wrong with it.
"""

from podium.testing._adapter import check_adapter as check_adapter
from podium.testing._callback import check_callback as check_callback
from podium.testing._contract import ContractError as ContractError
from podium.testing._layer import check_layer as check_layer
from podium.testing._loss import check_loss as check_loss
from podium.testing._metric import check_metric as check_metric
from podium.testing._optimizer import check_optimizer as check_optimizer
from podium.testing._strategy import check_strategy as check_strategy
