"""What is published of a version: `make release`, in dist/release; a workflow does it for a tag.

A folder of the checkout and no part of a distribution. `python -m deploy.release --help` lists what
can be said.
"""
