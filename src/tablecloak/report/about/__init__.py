"""What is said: one module per thing shown, each from a value to blocks."""
