"""The rules that a row can break, as the numbers that kernels note and readers put into words."""

NUMBER, WORD, TAG, TWICE, PAIR, BINARY, WIDTH, AFTER, ORDER, SPACE_NAME, TEXT = range(1, 12)
