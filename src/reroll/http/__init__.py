"""HTTP/1.1 over asyncio: what the controller needs of it, in a seventh of the memory and time.

httptools reads it; here is only what to do with what was read. `pool` sends requests to one server,
`server` answers them.
"""
