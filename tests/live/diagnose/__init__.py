"""What is concluded about programs that really run."""
