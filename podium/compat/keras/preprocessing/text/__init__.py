"""`keras.preprocessing.text`."""

from podium.compat.keras.preprocessing._tokenizer import Tokenizer as Tokenizer
from podium.compat.keras.preprocessing._tokenizer import tokenizer_from_json as tokenizer_from_json
from podium.compat.keras.preprocessing._words import hashing_trick as hashing_trick
from podium.compat.keras.preprocessing._words import one_hot as one_hot
from podium.compat.keras.preprocessing._words import text_to_word_sequence as text_to_word_sequence
