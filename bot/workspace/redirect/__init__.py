"""What makes an app that reads no SLACK_API_URL call the local workspace; its code stays as it is."""
