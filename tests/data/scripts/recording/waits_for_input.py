input("your name? ")
