// SPDX-License-Identifier: Apache-2.0
// The command that mounts a share. It is pasted into a shell, so every word from elsewhere is quoted for that shell, or left out.
import {S} from './strings.js';

const PLAIN = /^[\w@%+=:,./-]+$/;
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const FOLDER = '/mnt/share';

const quote = (word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
const words = (...all) => all.map(quote).join(' ');

// cmd.exe has no way to quote the first of these, and PowerShell reads the others within words.
const WINDOWS = /["%!^&|<>$`']/;
const windows = (word) => (/[ ,;=()]/.test(word) ? `"${word}"` : word);

export function system() {
  const platform = navigator.userAgentData?.platform || navigator.platform || '';
  if (/win/i.test(platform) && !/darwin/i.test(platform)) return 'windows';
  return /mac|iphone|ipad/i.test(platform) ? 'mac' : 'linux';
}

// Windows writes addresses of IPv6 in names without colons.
const windowsHost = (host) => (host.startsWith('[') ? `${host.slice(1, -1).replaceAll(':', '-')}.ipv6-literal.net` : host);

// \\host\name, //host/name or host:/name to its two parts.
function parts(path) {
  const found = /^[\\/]{2}([^\\/]+)[\\/](.+)$/.exec(path) ?? /^(\[[^\]]+\]|[^:/]+):\/?(.*)$/.exec(path);
  return found && [found[1], found[2].replaceAll('\\', '/')];
}

// Options that each client must give: those of the export location come last.
const OPTIONS = /^[a-z_]+=[\w.-]+(,[a-z_]+=[\w.-]+)*$/;
const withMore = (options, more) => [options, more].filter(Boolean).join(',');
const portOf = (more) => /^port=(\d+)$/.exec(more)?.[1];

// The clients of Windows always use the usual port.
const nfs = {
  linux: (path, user, more) => words('mount', '-t', 'nfs', '-o', withMore('vers=4.2', more), path, FOLDER),
  mac: (path, user, more) => words('mount', '-t', 'nfs', '-o', withMore('vers=4', more), path, FOLDER),
  windows: (path, user, more) => {
    if (more) return null;
    const [host, name] = parts(path) ?? [];
    return host && `mount -o anon ${windows(`\\\\${windowsHost(host)}\\${name.replaceAll('/', '\\')}`)} Z:`;
  },
};
const cifs = {
  linux: (path, user, more) => {
    const [host, name] = parts(path) ?? [];
    return host && words('mount', '-t', 'cifs', '-o', withMore(`vers=3.1.1,username=${user}`, more), `//${host}/${name}`, FOLDER);
  },
  mac: (path, user, more) => {
    const [host, name] = parts(path) ?? [];
    if (more && !portOf(more)) return null;
    const place = more ? `${host}:${portOf(more)}` : host;
    return host && words('mount_smbfs', `//${encodeURIComponent(user)}@${place}/${encodeURI(name)}`, FOLDER);
  },
  windows: (path, user, more) => {
    if (more) return null;
    const [host, name] = parts(path) ?? [];
    return host && `net use Z: ${windows(`\\\\${windowsHost(host)}\\${name.replaceAll('/', '\\')}`)} /user:${windows(user)}`;
  },
};
const ceph = {
  linux: (path, user, more) => words('mount', '-t', 'ceph', '-o', withMore(`name=${user},secretfile=${user}.secret`, more), path,
    FOLDER),
};
const COMMANDS = {NFS: nfs, CIFS: cifs, CEPHFS: ceph};

// Whose name the command has: of the first rule of that kind.
const KIND = {CIFS: 'user', CEPHFS: 'cephx'};
export const userOf = (proto, rules) => rules.find((rule) => rule.access_type === KIND[proto])?.access_to ?? S.mount.user;

// Returns the command, or null if there is none that is safe to paste. more: the mount options of the export location.
export function command(proto, path, on, user, more = '') {
  if (more && !OPTIONS.test(more)) return null;
  if (CONTROL.test(path) || CONTROL.test(user) || /^-/.test(path) || user.includes(',')) return null;
  if (on === 'windows' && (WINDOWS.test(path) || WINDOWS.test(user))) return null;
  return COMMANDS[proto]?.[on]?.(path, user, more) || null;
}

// Commands and steps before it.
export function before(proto, on, user) {
  const steps = on === 'windows' ? [] : [{text: S.mount.folder, command: words('mkdir', '-p', FOLDER)}];
  if (proto === 'CEPHFS') steps.push({text: S.mount.secret(user, `${user}.secret`)});
  return steps;
}
