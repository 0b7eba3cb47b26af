from .workers import Workers as Workers
from .workers import connected as connected
