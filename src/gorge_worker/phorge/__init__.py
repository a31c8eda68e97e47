"""What the product brings for Phorge: the PHP files, and the way into an installed Phorge."""
