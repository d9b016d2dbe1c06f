"""What is concluded from measurements, over measurements that are made up."""
