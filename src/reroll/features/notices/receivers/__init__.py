"""One encoder for each receiver of notices: a message in, a request out."""
