"""Other methods for the same problem, under the same interface: to compare with, and to study."""
