# SPDX-License-Identifier: Apache-2.0
"""An Active Directory domain as a security service names it, checked. Pure.

All of it is text of users, and comes into the configuration of Samba and into arguments of its programs. So each value has to
have a strict form, and whatever has another is refused with its name.
"""

import dataclasses
import hashlib
import ipaddress
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from manila_lite import errors, values
from manila_lite.drivers.linux.options import LinuxOptions

TYPE = 'active_directory'
_ANOTHER = 'Create a security service with the right values, and a share network that uses it'
_OPTIONS = {'domain': 'linux_cifs_domain', 'dns_ip': 'linux_cifs_domain_dns'}
_CORRECT = 'Correct the options, and restart the share manager'
_LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
_DOMAIN = re.compile(rf'(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})+')
_HOST = re.compile(rf'(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*')
_USER = re.compile(
    r'(?:[A-Za-z0-9._-]{1,64}\\)?[A-Za-z0-9_][A-Za-z0-9_.$ -]{0,103}(?:@[A-Za-z0-9.-]{1,253})?'
)
_UNIT = re.compile('[A-Za-z0-9_][A-Za-z0-9_. -]{0,63}')
_WORKGROUP = re.compile('[A-Z0-9][A-Z0-9_.-]{0,14}')
#: The line of "net ads lookup" with the short name of the domain.
_SHORT = re.compile(r'^Pre-Win2k Domain:[ \t]+([^ \t\n]+)$', re.MULTILINE)
#: Domains that Samba has itself.
_OWN = frozenset({'BUILTIN', 'NT', 'WORKGROUP'})
_MOST_DNS = 3
#: Longest password, in bytes, that Samba's programs do not cut off when they get it through a pipe.
_LONGEST = 127
#: Characters of the name of a computer behind the first two. Active Directory allows 15 in all.
_DIGITS = 13


@dataclasses.dataclass(frozen=True)
class Domain:
    """A domain, the servers to ask for it, and the account that may add computers to it.

    ``ou`` is the path of the organizational unit, the highest first, or '' for the usual place. ``server`` may be ''.
    ``remedy`` says how to correct a value.
    """

    realm: str
    dns: tuple[str, ...]
    server: str
    ou: str
    user: str
    password: str = dataclasses.field(repr=False)
    remedy: str


def of(services: Iterable[values.SecurityService]) -> Domain | None:
    """Return the domain that the security services of a share server name, or None.

    :raises errors.Final: a value of the service cannot be used; the message names it.
    """
    service = next((service for service in services if service.type == TYPE), None)
    if service is None:
        return None
    where = f'Security service {service.id}: '
    return _checked(service, lambda field: f'{where}{field}', _ANOTHER)


def of_backend(conf: LinuxOptions) -> Domain | None:
    """Return the domain of a backend without share servers, or None.

    :raises errors.Final: an option cannot be used; the message names it.
    """
    if conf.driver_handles_share_servers or not conf.linux_cifs_domain:
        return None
    service = values.SecurityService(
        '',
        TYPE,
        dns_ip=','.join(conf.linux_cifs_domain_dns),
        server=conf.linux_cifs_domain_server,
        domain=conf.linux_cifs_domain,
        ou=conf.linux_cifs_domain_ou,
        user=conf.linux_cifs_domain_user,
        password=conf.linux_cifs_domain_password,
    )
    return _checked(service, lambda field: _OPTIONS.get(field, f'linux_cifs_domain_{field}'), _CORRECT)


def _checked(service: values.SecurityService, named: Callable[[str], str], remedy: str) -> Domain:
    """Return the domain of a security service. ``named`` returns the name of a field in messages."""

    def must(good: object, field: str, reason: str) -> None:
        if not good:
            raise errors.Final(f'{named(field)}: {reason}. {remedy}.')

    domain, user, password = service.domain or '', service.user or '', service.password or ''
    dns = tuple(word.strip() for word in (service.dns_ip or '').split(',') if word.strip())
    must(_DOMAIN.fullmatch(domain), 'domain', 'it must be the DNS name of the domain, such as ad.example.org')
    must(
        0 < len(dns) <= _MOST_DNS and all(map(_is_address, dns)),
        'dns_ip',
        f'it must be 1 to {_MOST_DNS} addresses of DNS servers of the domain, separated by commas',
    )
    must(
        not service.server or _is_address(service.server) or _HOST.fullmatch(service.server),
        'server',
        'it must be the name or the address of one domain controller',
    )
    must(
        not service.default_ad_site,
        'default_ad_site',
        'this backend does not support it; give server instead',
    )
    must(
        _USER.fullmatch(user),
        'user',
        'it must be the name of an account that may add computers to the domain',
    )
    must(
        0 < len(password.encode()) <= _LONGEST
        and not any(unicodedata.category(one) == 'Cc' for one in password),
        'password',
        f'it must have 1 to {_LONGEST} bytes and no control characters',
    )
    path = _path_of(service.ou or '', domain)
    must(
        path is not None,
        'ou',
        'it must be an organizational unit of the domain, such as OU=files,OU=servers, of letters, digits, spaces, '
        '"_", "." and "-"',
    )
    return Domain(domain.upper(), dns, service.server or '', path or '', user, password, remedy)


def _is_address(text: str) -> bool:
    try:
        return '%' not in text and bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def _path_of(text: str, domain: str) -> str | None:
    """Return the path of an organizational unit, given as a path (``servers/files``) or as a name (``OU=files,OU=servers``); ''
    for the usual place, None for what is neither.
    """
    if not text or text.casefold() == 'cn=computers':
        return ''
    if '=' not in text:
        units = text.split('/')
        return text if all(map(_UNIT.fullmatch, units)) else None
    pairs = [part.strip().partition('=')[::2] for part in text.split(',')]
    kinds = [kind.strip().upper() for kind, _ in pairs]
    count = kinds.count('OU')
    units = [unit.strip() for _, unit in pairs]
    fits = kinds == ['OU'] * count + ['DC'] * (len(kinds) - count) and count
    ends = '.'.join(units[count:]).casefold() in ('', domain.casefold())
    return '/'.join(reversed(units[:count])) if fits and ends and all(map(_UNIT.fullmatch, units)) else None


def computer(owner: str) -> str:
    """Return the name of the computer account of a share server or backend: it stays the same for the same one."""
    digits = re.sub('[^0-9a-f]', '', owner.casefold())
    if len(digits) != 32:  # no UUID
        digits = hashlib.sha256(owner.encode()).hexdigest()
    return f'ML{digits[:_DIGITS]}'.upper()


def workgroup(said: str) -> str:
    """Return the short name of the domain from the output of "net ads lookup", or '' if there is none that can be used."""
    found = _SHORT.search(said)
    name = found[1].upper() if found else ''
    return name if _WORKGROUP.fullmatch(name) and name not in _OWN else ''


#: What Samba's programs say, or a part of it, in lower case; and the reason and the remedy.
_REASONS: tuple[tuple[Sequence[str], str], ...] = (
    (
        (
            'logon failure',
            'logon_failure',
            'attempted logon is invalid',
            'preauth',
            'wrong_password',
            'no_such_user',
            'client not found',
            'principal_unknown',
        ),
        'the domain refuses the user or the password. {remedy}',
    ),
    (
        ('locked', 'disabled', 'password_expired', 'password_must_change', 'revoked'),
        'the account is locked or disabled, or its password has expired. Have an administrator of the domain unlock it',
    ),
    (
        ('skew', 'time_difference'),
        'the clocks of the domain and of this service differ by more than five minutes. Tell your operator',
    ),
    (
        ('no such object', 'no_such_object', 'naming violation'),
        'the organizational unit does not exist. {remedy}',
    ),
    (
        (
            'access denied',
            'access is denied',
            'access_denied',
            'insufficient',
            'administrator privileges',
            'quota',
        ),
        'the user may not add computers there. Have an administrator of the domain delegate that to the user',
    ),
)


def reason(said: str, remedy: str) -> str:
    """Return why a program failed, and what to do. Other words of the program are cut, and printable."""
    text = said.casefold()
    for signs, why in _REASONS:
        if any(sign in text for sign in signs):
            return why.format(remedy=remedy)
    last = [line for line in said.split('\n') if line.strip()][-1:]
    return (
        'the domain controller said: '
        + ''.join(one if one.isprintable() else '?' for one in ''.join(last))[:200]
    )
