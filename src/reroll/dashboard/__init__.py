"""`reroll dashboard`: the answers of the commands as pages, for a browser on this machine.

A process of its own. It shows what `status`, `explain`, `history`, `audit`, `graph` and `doctor`
tell, with the rights of whoever started it, and holds, releases and restarts by the same code as
the commands. Nothing else imports it.
"""
