// SPDX-License-Identifier: Apache-2.0
// What a form may offer: what share types, networks and quotas allow.
import {may} from './session.js';
import {S} from './strings.js';

// Statuses from which the service deletes a share, and work with it begins.
const DELETABLE = /^(available|inactive|error|error_deleting|extending_error|shrinking_error|reverting_error|backup_restoring_error)$/;
export const canDelete = ({status}) => may('share:delete') && DELETABLE.test(status);
export const canChange = ({status}) => status === 'available';
export const canExtend = (share) => may('share:extend') && canChange(share);
export const canAllow = (share) => may('share:allow_access') && canChange(share);

const isTrue = (value) => /^(<is> )?true$/i.test(value ?? '');
const spec = (type, name) => type.extra_specs?.[name] ?? type.extra_specs?.[`capabilities:${name}`];

export const hasServers = (type) => isTrue(type.required_extra_specs?.driver_handles_share_servers);
export const namesMounts = (type) => isTrue(spec(type, 'mount_point_name_support'));
export const replicates = (type) => Boolean(spec(type, 'replication_type'));

export function protocols(type) {
  const wanted = spec(type, 'storage_protocol');
  if (!wanted) return S.create.protocols;
  const names = wanted.toUpperCase().split(/[^A-Z]+/).filter((word) => word && word !== 'IN' && word !== 'OR');
  const known = S.create.protocols.filter((name) => names.some((word) => name.startsWith(word) || word.startsWith(name)));
  return known.length ? known : S.create.protocols;
}

export function zones(type, all) {
  const wanted = spec(type, 'availability_zones');
  if (!wanted) return all;
  const names = wanted.split(',').map((name) => name.trim());
  return all.filter((name) => names.includes(name));
}

const ABILITIES = Object.keys(S.create.ability);
export function abilities(type) {
  const lacking = (name) => /^(<is> )?false$/i.test(spec(type, name) ?? '');
  return [...ABILITIES.filter((name) => isTrue(spec(type, name)) && !lacking(name)).map((name) => S.create.ability[name]),
    hasServers(type) ? S.create.servers : S.create.noServers];
}

const least = (...numbers) => numbers.reduce((found, number) => (Number.isFinite(number) && number >= 0
  ? Math.min(found ?? Infinity, number) : found), null);

// {least, most, left}; most and left are null without a limit.
export function sizes(type, limits, snapshot) {
  const left = limits.maxTotalShareGigabytes < 0 ? null : limits.maxTotalShareGigabytes - limits.totalShareGigabytesUsed;
  const smallest = Number.parseInt(spec(type, 'provisioning:min_share_size') ?? '1', 10) || 1;
  const largest = Number.parseInt(spec(type, 'provisioning:max_share_size') ?? '', 10);
  return {least: Math.max(smallest, snapshot?.share_size ?? 1), left,
    most: least(largest, limits.maxTotalPerShareGigabytes ?? -1, left ?? -1)};
}
