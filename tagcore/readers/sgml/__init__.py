"""Reuters-21578 in SGML."""
