"""Images without a registry and without an engine: made of folders, layouts and tars.

Only the standard library: `deploy/image/build.py` takes it from the checkout, before anything is
installed.
"""
