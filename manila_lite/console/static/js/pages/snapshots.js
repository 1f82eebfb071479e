// SPDX-License-Identifier: Apache-2.0
// Snapshots, of one share and of all.
import {html, useState} from '../html.js';
import {act, allProjects, create, get, id as quoted, list, remove} from '../api.js';
import {gib} from '../format.js';
import {isAbout, isOf, useLoad, usePages} from '../load.js';
import {canChange} from '../offers.js';
import {Empty, Loaded, Name, Problem, Section, Status, Time, Title, named} from '../parts/basics.js';
import {FormDialog, deletion, useConfirm} from '../parts/dialog.js';
import {Area, Text, useFields} from '../parts/form.js';
import {Table} from '../parts/table.js';
import {Ref} from '../parts/ref.js';
import {link} from '../router.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const COLUMNS = [
  {key: 'name', head: S.table.name, sort: 'display_name', cell: (row) => html`<${Name} row=${row} />`},
  {key: 'status', head: S.table.status, sort: 'status', cell: (row) => html`<${Status} of=${row.status} />`},
  {key: 'size', head: S.table.size, class: 'number wide', cell: (row) => gib(row.size)},
  {key: 'created', head: S.table.created, sort: 'created_at', class: 'wide', cell: (row) => html`<${Time} at=${row.created_at} />`},
];

function Take({share, onClose}) {
  const {values, field} = useFields({name: '', description: ''});
  const submit = () => create('snapshots', {snapshot: {...values, share_id: share.id}});
  return html`<${FormDialog} title=${S.snapshots.create} submit=${S.action.create} onSubmit=${submit} onClose=${onClose}>
    <${Text} label=${S.snapshots.name} ...${field('name')} maxlength="255" autofocus />
    <${Area} label=${S.snapshots.description} ...${field('description')} maxlength="255" /><//>`;
}

// Snapshots that can be deleted; and the one that a share can be reverted to: the newest that was not a failure.
const ERASABLE = /^(available|error|error_deleting)$/;
const canErase = ({status}) => may('share:delete_snapshot') && ERASABLE.test(status);
const latestOf = (rows) => rows?.find(({status}) => !['error', 'manage_error'].includes(status))?.id;

export function SnapshotsOfShare({share}) {
  const [taking, take] = useState(false);
  const [ask, confirm] = useConfirm();
  const found = useLoad(() => list('snapshots/detail', 'snapshots', {share_id: share.id, all_tenants: 1, sort_key: 'created_at', sort_dir: 'desc'}), [share.id],
    (event) => isOf('snapshot')(event) || isAbout(share.id)(event));
  const erase = (row) => ask(deletion(S.snapshots.what, named(row), async () => {
    await remove(`snapshots/${quoted(row.id)}`);
    found.reload();
  }));
  const revert = (row) => ask({title: S.snapshots.revertTitle(named(row)), text: S.snapshots.revertText, submit: S.snapshots.revert,
    act: () => act(`shares/${quoted(share.id)}`, 'revert', {snapshot_id: row.id})});
  const button = (label, row, onClick) => html`<button type="button" onClick=${onClick}
    aria-label=${S.action.ofThis(label, named(row))}>${label}</button>`;
  const actions = {key: 'actions', head: S.table.actions, cell: (row) => html`<div class="actions">
    ${share.revert_to_snapshot_support && may('share:revert_to_snapshot') && (row.id !== latestOf(found.value)
      ? html`<span class="hint">${S.snapshots.revertLatest}</span>`
      : canChange(share) && canChange(row) ? button(S.snapshots.revert, row, () => revert(row))
        : html`<span class="hint">${S.snapshots.revertWait}</span>`)}
    ${share.create_share_from_snapshot_support && may('share:create') && canChange(row) && html`<a class="button" href=${link('create-share', row.id)}
      aria-label=${S.action.ofThis(S.snapshots.createFrom, named(row))}>${S.snapshots.createFrom}</a>`}
    ${canErase(row) && button(S.action.delete, row, () => erase(row))}</div>`};
  const close = () => {
    take(false);
    found.reload();
  };
  return html`<${Section} title=${S.snapshots.title} actions=${may('share:create_snapshot') && canChange(share) && html`<button type="button"
      onClick=${() => take(true)}>${S.snapshots.create}</button>`}>
    <${Loaded} from=${found}>${(rows) => html`<${Table} caption=${S.snapshots.title} columns=${[...COLUMNS, actions].map(
      (column) => ({...column, sort: undefined}))} rows=${rows} none=${S.snapshots.none} />
      ${!share.revert_to_snapshot_support && rows.length > 0 && html`<p class="hint">${S.snapshots.revertNone}</p>`}`}<//><//>
    ${taking && html`<${Take} share=${share} onClose=${close} />`}${confirm}`;
}

async function load(query, offset, limit) {
  const {snapshots, count} = await get('snapshots/detail', {...allProjects(), ...query, offset, limit, with_count: 1});
  return {rows: snapshots, total: count};
}

export function Snapshots() {
  const [sort, setSort] = useState({key: 'created_at', descending: true});
  const query = {sort_key: sort.key, sort_dir: sort.descending ? 'desc' : 'asc'};
  const pages = usePages((offset, limit) => load(query, offset, limit), [sort], isOf('snapshot'));
  const onSort = (key) => setSort((old) => ({key, descending: old.key === key ? !old.descending : false}));
  const [ask, confirm] = useConfirm();
  const erase = (row) => ask(deletion(S.snapshots.what, named(row), async () => {
    await remove(`snapshots/${quoted(row.id)}`);
    pages.reload();
  }));
  const columns = [...COLUMNS, {key: 'share', head: S.table.share, cell: (row) => html`<${Ref} type="share" id=${row.share_id} />`},
    {key: 'actions', head: S.table.actions, cell: (row) => canErase(row) && html`<button type="button" onClick=${() => erase(row)}
      aria-label=${S.action.ofThis(S.action.delete, named(row))}>${S.action.delete}</button>`}];
  return html`<${Title}>${S.snapshots.title}<//><p role="status">${pages.total !== null && S.snapshots.count(pages.total)}</p>
    <${Problem} error=${pages.error} />
    ${pages.total !== null && html`<${Table} caption=${S.snapshots.title} columns=${columns} rows=${pages.rows} total=${pages.total}
      look=${pages.look} sort=${sort} onSort=${onSort} none=${html`<${Empty} text=${S.snapshots.none}
        next=${S.snapshots.first}><a class="button main" href=${link('shares')}>${S.shares.title}</a><//>`} />`}${confirm}`;
}
