"""The sandbox without a sandbox: what it would be told, and what is made of an end."""
