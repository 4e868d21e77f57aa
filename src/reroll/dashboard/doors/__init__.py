"""How people come in: each module is one way of knowing who asks."""
