"""All structs of the C header. A test compares them with the header's own sizes and offsets."""

from .cost_structs import *  # noqa: F403
from .lease_structs import *  # noqa: F403
from .pool_structs import *  # noqa: F403
