"""A real node beside the control plane: containerd, kubelet and kube-proxy, so that pods run.

Everything of it lives in a sandbox of Linux namespaces, whose end is the end of all of it: its
processes, mounts, links and packet filters. Left to remove are its cgroups. Names are derived from
the cluster's folder, so what a killed run left behind is found again.
"""
