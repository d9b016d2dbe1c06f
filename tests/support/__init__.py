"""What tests of several folders share; no test lies here."""
