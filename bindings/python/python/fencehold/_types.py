from __future__ import annotations

from datetime import timedelta
from typing import Literal, Union

#: Text with a unit (``500ms`` ``30s`` ``1h30m``), a number of seconds, or a timedelta.
Duration = Union[str, float, timedelta]
#: How long to wait for a turn: a duration, 0 for one try, or ``"forever"``.
Wait = Union[Duration, Literal["forever"]]
#: How long a row lives: a duration, or ``"forever"``.
Expiry = Union[Duration, Literal["forever"]]
#: Why a hold was lost: the store said so, a guarded step was refused, its deadline passed, or this
#: is a child of the process that acquired it.
LostReason = Literal["renew", "guard", "expired", "forked"]
#: What happens to the lease when its holder's process dies, on stores that can tell.
Crash = Literal["takeover", "expire"]
