"""What executes tasks: PHP, this process itself, or functions that users write in Python."""
