"""Models whose scores have low rank: CPLST, WSABIE, BCS."""
