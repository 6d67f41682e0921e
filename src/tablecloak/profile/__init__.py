"""What a table shows about people: column summaries, what they look like, uniqueness, and a policy to start from."""
