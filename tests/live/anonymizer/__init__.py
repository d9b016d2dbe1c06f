"""What the rewriters of `anonymizer` write computes what it was written from."""
