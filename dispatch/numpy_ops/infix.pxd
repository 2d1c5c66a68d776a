"""What a row is as a method of Tensor."""
