from dualign.commands.cli import guarded as guarded
from dualign.commands.console import say as say
