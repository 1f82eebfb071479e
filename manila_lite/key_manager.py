# SPDX-License-Identifier: Apache-2.0
"""The cloud's key manager (Barbican, Vault), reached through castellan, which is imported only for lookups of keys."""

import base64
import http
import importlib
from typing import Any

from oslo_log import log

from manila_lite import context, errors

LOG = log.getLogger(__name__)


_KEY_BYTES = 32
#: The sections of a configuration file that describe a key manager.
_SECTIONS = frozenset(('key_manager', 'barbican', 'vault'))
#: The key managers, by castellan's name of the backend.
_managers: dict[str, Any] = {}


def manager(conf: Any) -> Any:
    """Return castellan's key manager, which the section ``key_manager`` of the configuration names.

    :raises errors.BadConfig: castellan or the backend that it should load is not installed.
    """
    try:
        options, managers = (
            importlib.import_module(f'castellan.{name}') for name in ('options', 'key_manager')
        )
        importlib.import_module('manila_lite.host.keystone_pace').keep_none()
        options.set_defaults(conf, auth_endpoint=_keystone(conf))
        wanted = conf.key_manager.backend
        if wanted not in _managers:
            _managers[wanted] = managers.API(conf)
    except (ImportError, AttributeError) as bad:
        raise errors.BadConfig(
            '[encryption] check_keys or [secrets] key_ids: the key manager cannot be loaded '
            f'({bad}); pip install "manila-lite[encryption]", see [key_manager]'
        ) from None
    return _managers[wanted]


def _keystone(conf: Any) -> str | None:
    """Return the URL of the Keystone that checks the tokens of callers; None without one."""
    section = getattr(conf, 'keystone_authtoken', None)
    login = getattr(conf, getattr(section, 'auth_section', None) or 'keystone_authtoken', None)
    return getattr(login, 'auth_url', None) or getattr(section, 'www_authenticate_uri', None)


def own_key(conf: Any, key_id: str) -> bytes:
    """Return a symmetric key of 256 bits for the service's own use, in the form of Fernet.

    :raises errors.BadConfig: there is no such key, it has another length, or the key manager fails.
    """
    keys = manager(conf)
    credentials = importlib.import_module('castellan.common.utils')
    conf.register_opts(credentials.credential_opts, group='key_manager')
    try:
        who = (
            credentials.credential_factory(conf)
            if conf.key_manager.auth_type
            else context.RequestContext(is_admin=True)
        )
        key = keys.get(who, key_id).get_encoded()
    except Exception as bad:
        LOG.exception('The key manager could not be asked for key %s', key_id)
        raise errors.BadConfig(
            f'[secrets] key_ids: the key manager does not give key {key_id}: {bad.__class__.__name__}'
        ) from None
    if len(key) != _KEY_BYTES:
        raise errors.BadConfig(
            f'[secrets] key_ids: key {key_id} has {len(key) * 8} bits, and {_KEY_BYTES * 8} are needed'
        )
    return base64.urlsafe_b64encode(key)


def _is_checking(conf: Any) -> bool:
    """Say whether keys of callers are looked up: as configured, and by default if there is a key manager."""
    wanted = conf.encryption.check_keys
    return not _SECTIONS.isdisjoint(conf.list_all_sections()) if wanted is None else bool(wanted)


def check(conf: Any) -> None:
    """Refuse a configuration without the key manager that it needs. The key manager is loaded, but not called.

    :raises errors.BadConfig: the key manager cannot be loaded; one line says why.
    """
    if _is_checking(conf):
        manager(conf)


def vet(ctx: context.RequestContext, token: str | None, key_id: str) -> None:
    """Refuse a key id that the caller may not use, unless ``[encryption] check_keys`` is off or there is no key manager.

    :raises errors.Invalid: the caller has no such key.
    :raises errors.Unavailable: the key manager does not answer, it is the wrong one, or too many requests wait for it.
    """
    if not _is_checking(ctx.conf):
        return
    keys = manager(ctx.conf)
    failures = importlib.import_module('castellan.common.exception')
    caller = context.RequestContext(
        auth_token=token, user_id=ctx.user_id, project_id=ctx.project_id, request_id=ctx.request_id
    )
    try:
        with ctx.waiting('the key manager'):
            keys.get(caller, key_id, metadata_only=True)
    except errors.Busy:
        raise
    except Exception as bad:
        if _is_not_theirs(bad, failures):
            raise errors.Invalid(
                f'encryption_key_ref: there is no key {key_id} that you may use.',
                code='encryption_key_not_found',
            ) from None
        LOG.exception('The key manager could not be asked for key %s', key_id)
        raise errors.Unavailable('The key manager does not answer; try again.') from bad


def _is_not_theirs(bad: Exception, failures: Any) -> bool:
    """Say whether the caller has no such key. castellan raises its general error if Barbican answers 403."""
    if isinstance(bad, failures.ManagedObjectNotFoundError | failures.Forbidden):
        return True
    return getattr(bad.__context__, 'status_code', None) == http.HTTPStatus.FORBIDDEN
