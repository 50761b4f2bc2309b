"""The crawler: fetches what sources name, politely, and keeps all it knows on disk."""
