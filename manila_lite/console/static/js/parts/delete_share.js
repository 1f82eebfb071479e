// SPDX-License-Identifier: Apache-2.0
// The deletion of shares, together with what stands against it: the service refuses a share that has snapshots or copies.
import {html, useState} from '../html.js';
import {id as quoted, list, remove, unlessForbidden} from '../api.js';
import {runAll} from '../several.js';
import {named} from './basics.js';
import {Check} from './form.js';
import {S} from '../strings.js';

const T = S.deletion;
const PAUSE = 700;
const PATIENCE = 120000;
// [path, key of the list]
const KINDS = [['snapshots', 'snapshots'], ['share-backups', 'share_backups'], ['share-replicas', 'share_replicas']];
const SHOWN = 8;

// What depends on a share: [{path, id, name}]. The active replica is the share itself.
async function dependents(share) {
  const lists = await Promise.all(KINDS.map(async ([path, key]) => (key === 'share_replicas' && !share.replication_type ? []
    : (await unlessForbidden(list(`${path}/detail`, key, {share_id: share.id, all_tenants: path === 'share-replicas' ? '' : 1}), []))
      .filter((row) => row.replica_state !== 'active')
      .map((row) => ({path: `${path}/${quoted(row.id)}`, what: T.kinds[key], name: named(row), status: row.status})))));
  return lists.flat();
}

// Until nothing depends on the share any more.
async function untilFree(share) {
  for (const end = Date.now() + PATIENCE; Date.now() < end;) {
    const left = await dependents(share);
    if (left.length === 0) return;
    const failed = left.find(({status}) => /error/.test(status));
    if (failed) throw new Error(T.stuck(failed.what, failed.name));
    await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
  }
  throw new Error(T.slow);
}

async function deleteOne(share, others) {
  for (const {path, status} of others) if (status !== 'deleting') await remove(path);
  if (others.length > 0) await untilFree(share);
  await remove(`shares/${quoted(share.id)}`, {share_group_id: share.share_group_id});
}

// To agree is needed before the form is sent.
function Agree({label}) {
  const [agreed, agree] = useState(false);
  return html`<${Check} label=${label} value=${agreed} onChange=${agree} required />`;
}

const Others = ({others}) => html`<p>${T.against}</p><ul>${others.slice(0, SHOWN).map(({path, what, name}) => html`<li key=${path}>
  ${what} <bdi>${name}</bdi></li>`)}${others.length > SHOWN && html`<li>${T.more(others.length - SHOWN)}</li>`}</ul>
  <${Agree} label=${T.too(others.length)} />`;

// The question before shares are deleted (useConfirm), with what has to go first.
export async function deletionOf(shares, after) {
  const all = await Promise.all(shares.map(async (share) => ({share, others: await dependents(share)})));
  const done = new Set();
  const others = all.flatMap((one) => one.others);
  return {
    title: shares.length === 1 ? S.confirm.delete(S.share.what, named(shares[0])) : T.several(shares.length),
    text: S.confirm.deleteText, submit: S.action.delete, body: others.length > 0 && html`<${Others} others=${others} />`,
    act: async () => {
      await runAll(shares, done, (share) => deleteOne(share, all.find((one) => one.share === share).others));
      after();
    }};
}
