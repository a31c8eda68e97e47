"""Example task handlers for gorge-worker."""
