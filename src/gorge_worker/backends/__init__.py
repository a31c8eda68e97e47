"""What delegating handlers hand tasks to: PHP, over Conduit."""
