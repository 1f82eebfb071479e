// SPDX-License-Identifier: Apache-2.0
// Replicas of shares.
import {html} from '../html.js';
import {act, create, get, id as quoted, list} from '../api.js';
import {isOf, useLoad} from '../load.js';
import {Empty, Headed, Loaded, Status, button, named, useAct} from '../parts/basics.js';
import {FormDialog, useConfirm, useOpened} from '../parts/dialog.js';
import {Choice, useFields} from '../parts/form.js';
import {CREATED, SHARE, STATUS, actions} from '../parts/columns.js';
import {Table} from '../parts/table.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.replicas;
const short = (row) => row.id.slice(0, 8);
const COLUMNS = [
  {key: 'id', head: S.table.id, cell: (row) => html`<code title=${row.id}>${short(row)}</code>`},
  SHARE, STATUS,
  {key: 'state', head: T.state, cell: (row) => html`<${Status} of=${row.replica_state} />`},
  {key: 'zone', head: S.table.zone, class: 'wide', cell: (row) => row.availability_zone ?? S.none},
  {key: 'host', head: S.table.host, class: 'wider', cell: (row) => row.host ?? S.none},
  CREATED,
];

async function load(only) {
  const [shares, {availability_zones: zones}] = await Promise.all([only ? [only] : list('shares/detail', 'shares', {status: 'available'}),
    get('availability-zones')]);
  return {shares: shares.filter((row) => row.replication_type), zones};
}

// `only`: the share, if it is chosen already.
function Create({only, onClose}) {
  const found = useLoad(() => load(only), []);
  const {values, field} = useFields({share_id: '', availability_zone: ''});
  const share = values.share_id || found.value?.shares[0]?.id;
  const submit = () => create('share-replicas', {share_replica: {share_id: share, availability_zone: values.availability_zone || null}});
  if (found.value?.shares.length === 0) return html`<${FormDialog} title=${T.create} submit=${S.action.close} onSubmit=${() => {}}
    onClose=${onClose}><p>${T.noShares}</p><//>`;
  return html`<${FormDialog} title=${T.create} submit=${S.action.create} onSubmit=${submit} onClose=${onClose}>
    <${Loaded} from=${found}>${({shares, zones}) => html`
      <${Choice} label=${T.share} ...${field('share_id')} value=${share} options=${shares.map((row) => [row.id, named(row)])} />
      <${Choice} label=${T.zone} ...${field('availability_zone')}
        options=${[['', S.create.anyZone], ...zones.map(({name}) => [name, name])]} />`}<//><//>`;
}

// `share`: the one whose replicas are shown; default: all.
export function ReplicaList({share}) {
  const found = useLoad(() => list('share-replicas/detail', 'share_replicas', {share_id: share?.id}), [share?.id], isOf('share_replica', 'share'));
  const path = (row) => `share-replicas/${quoted(row.id)}`;
  const [creating, make, close] = useOpened(found.reload);
  const [ask, confirm, remove] = useConfirm(found.reload);
  const [run, problem] = useAct(found.reload);
  const erase = (row) => remove(path(row), T.what, short(row));
  const promote = (row) => ask({title: T.promoteTitle, text: T.promoteText, submit: T.promote, act: () => act(path(row), 'promote')});
  const resync = (row) => run(() => act(path(row), 'resync'));
  const own = (label, row, does) => button(label, row, does, short(row));
  const columns = [...COLUMNS.filter(({key}) => !(share && key === 'share')), actions(
    (row) => row.replica_state !== 'active' && html`${may('share_replica:promote') && own(T.promote, row, promote)}${
      may('share_replica:resync') && own(T.resync, row, resync)}${may('share_replica:delete') && own(S.action.delete, row, erase)}`)];
  const start = may('share_replica:create') && html`<button type="button" class=${share ? '' : 'main'} onClick=${() => make(true)}>${T.create}</button>`;
  return html`<${Headed} title=${T.title} part=${share} actions=${start}>${problem}
    <${Loaded} from=${found}>${(rows) => html`<${Table} caption=${T.title} columns=${columns} rows=${rows}
      none=${share ? T.none : html`<${Empty} text=${T.none} next=${T.first} />`} />`}<//><//>
    ${creating && html`<${Create} only=${share} onClose=${close} />`}${confirm}`;
}

export const Replicas = () => html`<${ReplicaList} />`;
