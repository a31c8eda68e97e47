"""What the process is told from outside: the environment and .env files, read once, at the start."""
