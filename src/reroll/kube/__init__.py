"""The layer that talks to the API server: it knows Kubernetes, and nothing of what we do with it.

wire, decode    requests and answers as values; no sockets
errors          what can go wrong, and whether a retry can help
resources       the table of API resources
objects         Pods, revisions and owners as types
auth            kubeconfig or service account → Connection (with tls, kubeconfig, plugin, proxy)
client          the only sockets to the API server
api             typed calls: get, find, every, patch, create, delete
view            typed lists for commands, with sentences about what may not be read
discovery       what the API server serves
steps, watch    list and watch as a state machine → events
lease           leader election
aio             concurrent calls that can be cancelled
"""
