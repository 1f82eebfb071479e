# SPDX-License-Identifier: Apache-2.0
"""The options of the qemu driver."""

from oslo_config import cfg

from manila_lite.conf import numeric
from manila_lite.siblings.compute.drivers import local

OPTIONS = (
    cfg.StrOpt('binary', default='qemu-system-x86_64', help='Path of QEMU, or its name on the PATH.'),
    cfg.StrOpt(
        'virtiofsd',
        default='',
        help='Path of virtiofsd, of the C or the Rust version. Default: the path of either one on Debian.',
    ),
    cfg.StrOpt(
        'virtiofsd_sandbox',
        default='namespace',
        choices=['namespace', 'chroot'],
        help='Method that confines virtiofsd to its share. Use "chroot" where it cannot create namespaces, as in a '
        'container.',
    ),
    cfg.StrOpt(
        'virtiofsd_cache',
        default='auto',
        choices=['auto', 'none', 'always'],
        help='Caching of shares by guests: "none" for several guests that change the same files at once, "always" for '
        'files that no other client changes.',
    ),
    cfg.StrOpt(
        'accelerator',
        default='auto',
        choices=['auto', 'kvm', 'tcg'],
        help='Accelerator of guests. "auto" uses KVM if a test guest of one sector runs fast with it, and otherwise '
        'translation (tcg).',
    ),
    cfg.StrOpt('machine', default='q35', help='Machine type of guests.'),
    numeric.Float(
        'start_timeout',
        default=60.0,
        min=1,
        max=numeric.WEEK,
        help='Seconds within which QEMU and virtiofsd must answer after their start.',
    ),
    cfg.StrOpt('bridge_netns', default='', help="Network namespace of the bridges. Default: the agent's."),
    *local.OPTIONS,
)
