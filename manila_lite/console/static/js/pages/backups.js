// SPDX-License-Identifier: Apache-2.0
// Backups of shares.
import {html} from '../html.js';
import {act, allProjects, create, id as quoted, list} from '../api.js';
import {gib} from '../format.js';
import {isOf, useLoad} from '../load.js';
import {canChange} from '../offers.js';
import {Empty, Headed, Loaded, button, named} from '../parts/basics.js';
import {FormDialog, useConfirm, useOpened} from '../parts/dialog.js';
import {Choice, Text, useFields} from '../parts/form.js';
import {CREATED, NAME, SHARE, STATUS, actions} from '../parts/columns.js';
import {Table} from '../parts/table.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.backups;
const COLUMNS = [
  NAME, STATUS,
  {key: 'progress', head: S.table.progress, class: 'wide', cell: ({status, progress, restore_progress: restored}) => {
    const percent = Number.parseInt(status === 'restoring' ? restored : progress, 10);
    return ['creating', 'restoring'].includes(status) ? html`<progress max="100" value=${Number.isNaN(percent) ? undefined : percent}
      aria-label=${S.table.progress}></progress>` : S.none;
  }},
  {key: 'size', head: S.table.size, class: 'number wide', cell: (row) => gib(row.size)},
  SHARE, CREATED,
];

// `only`: the share, if it is chosen already.
function Create({only, onClose}) {
  const found = useLoad(() => (only ? [only] : list('shares', 'shares', {status: 'available'})), []);
  const {values, field} = useFields({name: '', share_id: ''});
  const shares = found.value ?? [];
  const share = values.share_id || shares[0]?.id;
  const submit = () => create('share-backups', {share_backup: {...values, share_id: share}});
  return html`<${FormDialog} title=${T.create} submit=${S.action.create} onSubmit=${submit} onClose=${onClose}>
    <${Loaded} from=${found}>${() => html`<${Choice} label=${T.share} ...${field('share_id')} value=${share ?? ''} required
      options=${shares.map((row) => [row.id, named(row)])} />`}<//>
    <${Text} label=${S.table.name} ...${field('name')} maxlength="255" /><//>`;
}

// The question before one is restored.
export const restoration = (row) => ({title: T.restoreTitle(named(row)), text: T.restoreText, submit: T.restore,
  act: () => act(`share-backups/${quoted(row.id)}`, 'restore')});

// `share`: the one whose backups are shown; default: all.
export function BackupList({share}) {
  const query = share ? {share_id: share.id, all_tenants: 1} : allProjects();
  const found = useLoad(() => list('share-backups/detail', 'share_backups', query), [share?.id], isOf('share_backup'));
  const [creating, make, close] = useOpened(found.reload);
  const [ask, confirm, remove] = useConfirm(found.reload);
  const erase = (row) => remove(`share-backups/${quoted(row.id)}`, T.what, named(row));
  const restore = (row) => ask(restoration(row));
  const columns = [...COLUMNS.filter(({key}) => !(share && key === 'share')), actions((row) => html`
    ${may('share_backup:restore') && row.status === 'available' && button(T.restore, row, restore)}
    ${may('share_backup:delete') && /^(available|error|error_deleting)$/.test(row.status) && button(S.action.delete, row, erase)}`)];
  const start = may('share_backup:create') && (!share || canChange(share)) && html`<button type="button" class=${share ? '' : 'main'}
    onClick=${() => make(true)}>${T.create}</button>`;
  return html`<${Headed} title=${T.title} part=${share} actions=${start}>
    <${Loaded} from=${found}>${(rows) => html`<${Table} caption=${T.title} columns=${columns} rows=${rows}
      none=${share ? T.none : html`<${Empty} text=${T.none} next=${T.first} />`} />`}<//><//>
    ${creating && html`<${Create} only=${share} onClose=${close} />`}${confirm}`;
}

export const Backups = () => html`<${BackupList} />`;
