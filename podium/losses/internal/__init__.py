"""What other packages of Podium may use of `podium.losses` beyond its public API. Not for users."""

# Replaces probabilities by the logits behind them in the arguments of a crossentropy.
# Raises for what a loss or metric function must not return: None, text, lists.
from podium.losses._loss_function import check_result as check_result
from podium.losses._loss_function import replace_by_logits as replace_by_logits
