"""The bytes that separate what a row holds."""

NEWLINE, SPACE, TAB, RETURN, COMMA, COLON, PERCENT, OPEN, CLOSE = 10, 32, 9, 13, 44, 58, 37, 123, 125
HASH, QUOTE, PLUS, MINUS, POINT, ZERO, BAR = 35, 39, 43, 45, 46, 48, 124
