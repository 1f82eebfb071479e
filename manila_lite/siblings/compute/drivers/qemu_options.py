# SPDX-License-Identifier: Apache-2.0
"""The options of the qemu driver."""

from oslo_config import cfg

from manila_lite.siblings.compute.drivers import local

OPTIONS = (
    cfg.StrOpt('binary', default='qemu-system-x86_64', help='QEMU, by its path or its name on the PATH.'),
    cfg.StrOpt('virtiofsd', default='', help='virtiofsd, written in C or in Rust. Default: where Debian keeps either.'),
    cfg.StrOpt('virtiofsd_sandbox', default='namespace', choices=['namespace', 'chroot'],
               help='How virtiofsd keeps itself inside its share; "chroot" where it may make no namespaces, as in '
                    'a container.'),
    cfg.StrOpt('virtiofsd_cache', default='auto', choices=['auto', 'none', 'always'],
               help='What guests may keep of a share: "none" where several guests work on the same files at once, "always" '
                    'where nobody else changes them.'),
    cfg.StrOpt('accelerator', default='auto', choices=['auto', 'kvm', 'tcg'],
               help='"auto" takes KVM if a guest of one sector really ran with it, and fast, and else translates (tcg).'),
    cfg.StrOpt('machine', default='q35', help='Type of machine that guests see.'),
    cfg.FloatOpt('start_timeout', default=60.0, min=1, help='Seconds that QEMU and virtiofsd may take to answer when started.'),
    cfg.StrOpt('bridge_netns', default='', help='Network namespace in which the bridges are. Default: the agent\'s.'),
    *local.OPTIONS,
)
