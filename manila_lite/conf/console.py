# SPDX-License-Identifier: Apache-2.0
"""Options of the console, the page for browsers that the API process serves at ``/console``."""

from oslo_config import cfg

OPTIONS = {
    'console': [
        cfg.BoolOpt(
            'enabled',
            default=False,
            help='Serve the console, a page for browsers, at /console of the API. Turn it on where users reach the API '
            'with a browser, by HTTPS: they log in on this page.',
        ),
        cfg.StrOpt(
            'user_domain',
            default='Default',
            help='Name of the domain of users in the log-in form of the console, with auth_strategy keystone. Users can '
            'write another one.',
        ),
        cfg.StrOpt(
            'identity_url',
            help='URL of Keystone at which the console logs users in. Default: that of [keystone_authtoken] auth_url. Set '
            'it where that section has a login without a URL.',
        ),
        cfg.URIOpt(
            'docs_url',
            schemes=['http', 'https'],
            help='URL of these guides as HTML. Each page of the console has a link to its guide there. Set it where users can '
            'reach the guides; without it there are no links.',
        ),
    ]
}
