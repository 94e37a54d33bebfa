"""Modules that redirect an app's Slack calls to the local workspace if it does not read SLACK_API_URL."""
