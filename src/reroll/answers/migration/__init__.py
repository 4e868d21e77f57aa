"""Moving a cluster from Reloader or Wave: what they are told, and what they left behind."""
