# SPDX-License-Identifier: Apache-2.0
"""Exceptions that manila_lite raises on purpose. Their HTTP statuses are in ``api/http/faults.py``.

``code`` is a stable symbol that clients may match on; it never changes once released.
"""

import contextlib
from collections.abc import Iterator, Mapping


class ManilaLiteError(Exception):
    """Base of all: a message for people and a stable ``code`` for programs."""

    code = 'internal_error'

    def __init__(self, message: str = '', *, code: str | None = None):
        super().__init__(message or self.__class__.__doc__)
        if code:
            self.code = code


# Refusals of requests -------------------------------------------------------------------------


class NotFound(ManilaLiteError):
    """The resource does not exist, or the caller may not see it."""

    code = 'not_found'

    @classmethod
    def of(cls, resource_name: str, resource_id: object) -> 'NotFound':
        """Return the usual error: ``NotFound.of('share', id)`` has the code ``share_not_found``."""
        return cls(
            f'{resource_name[:1].upper()}{resource_name[1:]} {resource_id} could not be found.',
            code=resource_name.lower().replace(' ', '_') + '_not_found',
        )


class Invalid(ManilaLiteError):
    """A value of the request cannot be accepted."""

    code = 'invalid_input'


class Unprocessable(Invalid):
    """The request lacks the entity that it is about."""

    code = 'entity_missing'


class KeyReused(Unprocessable):
    """The idempotency key belongs to another request."""

    code = 'idempotency_key_reused'


class Forbidden(ManilaLiteError):
    """The caller may not do this."""

    code = 'forbidden'


class Unauthorized(ManilaLiteError):
    """The caller did not say who they are."""

    code = 'unauthorized'


class Conflict(ManilaLiteError):
    """The request does not fit the present state of things."""

    code = 'conflict'


class WrongState(Conflict):
    """A compare-and-swap found the row in a status that the verb does not start from."""

    code = 'wrong_state'


class Exists(Conflict):
    """There is one already."""

    code = 'already_exists'


class InFlight(Conflict):
    """The same request, by its idempotency key, is being answered."""

    code = 'idempotency_key_in_flight'


class OverQuota(ManilaLiteError):
    """A quota of the project, user or share type would be exceeded."""

    code = 'over_quota'


class OverReplicaQuota(OverQuota):
    """A quota of share replicas or of their size would be exceeded."""

    code = 'over_quota_of_replicas'


class OverLimit(OverQuota):
    """One thing would have more of something than anything may have."""

    code = 'over_limit'


class NotAcceptable(ManilaLiteError):
    """The microversion asked for is outside the range served."""

    code = 'microversion_out_of_range'


class Unavailable(ManilaLiteError):
    """A service needed for the answer is down."""

    code = 'service_unavailable'


class TooManyRequests(ManilaLiteError):
    """The caller sends requests faster than it may. ``seconds``: until the next one may come."""

    code = 'rate_limited'

    def __init__(self, message: str, seconds: int = 1, *, code: str | None = None):
        super().__init__(message, code=code)
        self.seconds = seconds


class Busy(Unavailable):
    """Too many requests wait for somebody else already; a moment later it may be another's turn."""

    code = 'too_many_waiting'


@contextlib.contextmanager
def in_request(field: str) -> Iterator[None]:
    """Have a missing resource be a wrong value of this field: the path of the request was right.

    :raises Invalid: the block raised ``NotFound``; with its code.
    """
    try:
        yield
    except NotFound as none:
        raise Invalid(f'{field}: {none}', code=none.code) from None


# Outcomes of operations -----------------------------------------------------------------------


class Final(ManilaLiteError):
    """Trying again cannot help: the operation is undone and ends in its failure state.

    ``detail`` names the user message (``db/queries/messages.py``) that tells the owner why.
    """

    code = 'final'

    def __init__(self, message: str = '', *, detail: str | None = None, code: str | None = None):
        super().__init__(message, code=code)
        self.detail = detail


def user_text(error: BaseException) -> str:
    """Return the text that a resource's owner may read of an error: that of ``Final``, and no other."""
    return str(error) if isinstance(error, Final) else ''


def unexpected(request_id: str | None) -> str:
    """Return the text for a user about an error that has none of its own: under this id the log has it."""
    return (
        f'An unexpected error happened. The log has it under the request id {request_id or "of this answer"}.'
    )


def reason(error: BaseException, request_id: str | None) -> str:
    """Return the text for an administrator about an error: that for the owner, or the request id under which the log has it."""
    return user_text(error) or unexpected(request_id)


def count(number: int, noun: str) -> str:
    """Return a number of things for people: ``1 share``, ``2 shares``, ``0 addresses``."""
    return f'{number} {noun}' if number == 1 else f'{number} {noun}{"es" if noun.endswith("s") else "s"}'


def them(number: int) -> str:
    """Return the word for so many things that were named before."""
    return 'it' if number == 1 else 'them'


class NoValidHost(Final):
    """The scheduler found no pool; the message says which filter refused, and why.

    ``told``: the message for owners, who see no hosts, where it is another one.
    """

    code = 'no_valid_host'

    def __init__(self, message: str = '', *, detail: str | None = None, told: str = ''):
        super().__init__(message, detail=detail)
        self.told = told or message


class RefusedShrink(Final):
    """The backend will not shrink the share: it holds more than the new size."""

    code = 'refused_shrink'


class Again(ManilaLiteError):
    """Not done yet: run the same step once more after ``after`` seconds.

    ``progress``: how far it is, as the figures of operations in the API, if that is known.
    """

    code = 'again'

    def __init__(self, after: float, message: str = '', *, progress: Mapping[str, int] | None = None):
        super().__init__(message)
        self.after = after
        self.progress = progress


class LostClaim(ManilaLiteError):
    """Another worker took the operation over; this one must write nothing more."""

    code = 'lost_claim'


class BadConfig(ManilaLiteError):
    """The configuration cannot work; the message is one line that names the option."""

    code = 'bad_config'
