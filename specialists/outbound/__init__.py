"""The one way out: every HTTP client is made here, with the environment's proxy and certificate authorities."""
