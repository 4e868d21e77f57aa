"""Programs of others that write what workloads use, beside a cluster: what each is and its start.

They run as processes with all rights, as Argo Rollouts' controller does; none of them needs a pod.
Their webhooks, which would judge what people write, stay out.
"""
