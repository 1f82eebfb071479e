// SPDX-License-Identifier: Apache-2.0
// What is known of resources by their ids: names, since answers of the API have ids and people know names; and how full shares are.
// One request brings many.
import {allProjects, get, id as quoted} from './api.js';
import {session} from './session.js';

const KEPT = 30000;
const MOST = 1000;
const nameOfRow = (row) => row.name ?? '';
const named = (path, one) => ({path, one, many: `${one}s`, key: 'id', value: nameOfRow});
const TYPES = {
  share: named('shares', 'share'), snapshot: named('snapshots', 'snapshot'), share_network: named('share-networks', 'share_network'),
  share_group: named('share-groups', 'share_group'), share_backup: named('share-backups', 'share_backup'),
  share_usage: {path: 'share-usage', one: 'share_usage', many: 'share_usage', key: 'share_id', value: (row) => row},
};
const known = new Map();

const ID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

export const isId = (text) => ID.test(text);
export const isKnown = (type) => type in TYPES;

const whose = () => [session.value.user?.user_id, session.value.user?.project_id, session.value.everything].join(' ');

function valuesOf(type) {
  const index = `${type} ${whose()}`;
  const old = known.get(index);
  if (old && Date.now() - old.since < KEPT) return old.values;
  const {path, many, key, value} = TYPES[type];
  const values = get(path, {...allProjects(), limit: MOST}).then((found) => new Map(found[many].map((row) => [row[key], value(row)])),
    () => new Map());
  known.set(index, {since: Date.now(), values});
  return values;
}

// What is known of one; null if it is gone, or if the user may not see it.
async function valueOf(type, id) {
  const values = await valuesOf(type);
  if (!values.has(id)) {
    const {path, one, value} = TYPES[type];
    values.set(id, get(`${path}/${quoted(id)}`).then((found) => value(found[one]), () => null));
  }
  return values.get(id);
}

// The name; '' for a resource without one.
export const nameOf = valueOf;
// How full a share is; null if that was not measured.
export const usageOf = (id) => valueOf('share_usage', id);
