"""Data structures inside kernels, each written once: hash tables, heaps, arrays that grow."""
