"""All outgoing HTTP: every client is made here, with the proxy and certificate authorities of the environment."""
