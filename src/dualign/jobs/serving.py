"""The server of one model, at its documented path; see `dualign.commands.serve`."""

from dualign.commands.serve import Place as Place
from dualign.commands.serve import Server as Server
from dualign.commands.serve import application as application
