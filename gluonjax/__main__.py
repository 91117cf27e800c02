"""``python -m gluonjax``."""

import sys

from gluonjax.port.cli import main

sys.exit(main())
