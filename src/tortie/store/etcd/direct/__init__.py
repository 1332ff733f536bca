"""etcd for commands: one blocking socket, and of HTTP/2 and protobuf what a few calls need.

A command asks once or twice and ends; importing asyncio, grpclib and protobuf took it longer than all the rest. So its
methods are `async` only in name: they never suspend, and `tortie.cli.session.finish` runs them without an event loop.

`store` puts it together; `connection` is one endpoint, `session` its HTTP/2 connection while that lasts, of `frames`
with headers in `hpack` (and `huffman`); `codec` makes and reads etcd's messages, `names` finds addresses.
"""
