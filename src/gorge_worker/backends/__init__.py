"""What executes Phorge's tasks in PHP: over Conduit, or in processes of the worker's own."""
