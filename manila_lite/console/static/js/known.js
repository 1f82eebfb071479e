// SPDX-License-Identifier: Apache-2.0
// Names of resources by their ids: answers of the API have ids, and people know names. One request brings the names of many.
import {allProjects, get, id as quoted} from './api.js';
import {session} from './session.js';

const KEPT = 30000;
const MOST = 1000;
// [path, key of one, key of many]
const TYPES = {
  share: ['shares', 'share'], snapshot: ['snapshots', 'snapshot'], share_network: ['share-networks', 'share_network'],
  share_group: ['share-groups', 'share_group'], share_backup: ['share-backups', 'share_backup'],
};
const known = new Map();

const ID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

export const isId = (text) => ID.test(text);
export const isKnown = (type) => type in TYPES;

const whose = () => [session.value.user?.user_id, session.value.user?.project_id, session.value.everything].join(' ');

function namesOf(type) {
  const key = `${type} ${whose()}`;
  const old = known.get(key);
  if (old && Date.now() - old.since < KEPT) return old.names;
  const [path, one] = TYPES[type];
  const names = get(path, {...allProjects(), limit: MOST}).then((found) => new Map(found[`${one}s`].map((row) => [row.id, row.name ?? ''])),
    () => new Map());
  known.set(key, {since: Date.now(), names});
  return names;
}

// The name; '' for a resource without one; null for one that is gone, or that the user may not see.
export async function nameOf(type, id) {
  const names = await namesOf(type);
  if (!names.has(id)) {
    const [path, one] = TYPES[type];
    names.set(id, get(`${path}/${quoted(id)}`).then((found) => found[one].name ?? '', () => null));
  }
  return names.get(id);
}
