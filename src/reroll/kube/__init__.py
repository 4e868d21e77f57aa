"""The layer that talks to the API server: it knows Kubernetes, and nothing of what we do with it.

wire, decode    requests and answers as values; no sockets
errors          what can go wrong, and whether a retry can help
auth            kubeconfig or service account → Connection (with tls, kubeconfig, plugin, proxy)
client          the only sockets to the API server
steps, watch    list and watch as a state machine → events
lease           leader election
"""
