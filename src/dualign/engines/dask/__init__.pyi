from .workers import Workers as Workers
from .workers import connected as connected

__all__ = ["Workers", "connected"]
