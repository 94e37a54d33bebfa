"""Code that makes an app which reads no SLACK_API_URL call the local workspace; the app's code stays as it is."""
