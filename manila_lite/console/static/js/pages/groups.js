// SPDX-License-Identifier: Apache-2.0
// Share groups and their snapshots.
import {html, useState} from '../html.js';
import {allProjects, create, get, id as quoted, list, remove, unlessForbidden} from '../api.js';
import {hasServers} from '../offers.js';
import {isOf, useLoad} from '../load.js';
import {Empty, Loaded, Name, Section, Status, Time, Title, named} from '../parts/basics.js';
import {FormDialog, deletion, useConfirm} from '../parts/dialog.js';
import {Area, Choice, Text, useFields} from '../parts/form.js';
import {Table} from '../parts/table.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.groups;
const COLUMNS = [
  {key: 'name', head: S.table.name, cell: (row) => html`<${Name} row=${row} />`},
  {key: 'status', head: S.table.status, cell: (row) => html`<${Status} of=${row.status} />`},
  {key: 'created', head: S.table.created, class: 'wide', cell: (row) => html`<${Time} at=${row.created_at} />`},
];

function Create({data, onClose}) {
  const {values, field} = useFields({name: '', description: '', share_group_type_id: data.groupTypes[0]?.id, share_network_id: ''});
  const type = data.groupTypes.find(({id}) => id === values.share_group_type_id);
  const needsNetwork = data.types.some((one) => type?.share_types.includes(one.id) && hasServers(one));
  const network = needsNetwork ? values.share_network_id || data.networks[0]?.id : undefined;
  const submit = () => create('share-groups', {share_group: {...values, share_network_id: network}});
  if (!type) return html`<${FormDialog} title=${T.create} submit=${S.action.close} onSubmit=${() => {}} onClose=${onClose}><p>${T.noTypes}</p><//>`;
  return html`<${FormDialog} title=${T.create} submit=${S.action.create} onSubmit=${submit} onClose=${onClose}>
    <${Text} label=${S.table.name} ...${field('name')} maxlength="255" autofocus />
    <${Area} label=${S.table.description} ...${field('description')} maxlength="255" />
    <${Choice} label=${T.type} ...${field('share_group_type_id')} options=${data.groupTypes.map(({id, name}) => [id, name])} />
    ${needsNetwork && html`<${Choice} label=${S.table.network} ...${field('share_network_id')} value=${network ?? ''}
      options=${data.networks.map((one) => [one.id, named(one)])} />`}<//>`;
}

function TakeSnapshot({group, onClose}) {
  const {values, field} = useFields({name: ''});
  const submit = () => create('share-group-snapshots', {share_group_snapshot: {...values, share_group_id: group.id}});
  return html`<${FormDialog} title=${S.action.ofThis(T.snapshot, named(group))} submit=${S.action.create} onSubmit=${submit}
    onClose=${onClose}><${Text} label=${S.table.name} ...${field('name')} maxlength="255" autofocus /><//>`;
}

async function load() {
  const [groups, snapshots, {share_group_types: groupTypes}, {share_types: types}, networks] = await Promise.all([
    list('share-groups/detail', 'share_groups', allProjects()),
    list('share-group-snapshots/detail', 'share_group_snapshots', allProjects()),
    unlessForbidden(get('share-group-types'), {share_group_types: []}), unlessForbidden(get('types'), {share_types: []}),
    unlessForbidden(list('share-networks/detail', 'share_networks'), [])]);
  return {groups, snapshots, groupTypes, types, networks};
}

export function Groups() {
  const [dialog, open] = useState(null);
  const [ask, confirm] = useConfirm();
  const found = useLoad(load, [], isOf('share_group', 'share_group_snapshot'));
  const erase = (path, what) => (row) => ask(deletion(what, named(row), async () => {
    await remove(`${path}/${quoted(row.id)}`);
    found.reload();
  }));
  const button = (label, row, onClick) => html`<button type="button" onClick=${() => onClick(row)}
    aria-label=${S.action.ofThis(label, named(row))}>${label}</button>`;
  const actions = (...buttons) => ({key: 'actions', head: S.table.actions, cell: (row) => html`<div class="actions">
    ${buttons.map(([label, rule, act]) => may(rule) && button(label, row, act))}</div>`});
  const ofGroups = [...COLUMNS, actions([T.snapshot, 'share_group_snapshot:create', (group) => open({group})],
    [S.action.delete, 'share_group:delete', erase('share-groups', T.what)])];
  const ofSnapshots = [...COLUMNS, actions([S.action.delete, 'share_group_snapshot:delete',
    erase('share-group-snapshots', T.snapshotWhat)])];
  const close = () => {
    open(null);
    found.reload();
  };
  return html`<${Title} actions=${may('share_group:create') && found.value && html`<button type="button" class="main"
      onClick=${() => open({})}>${T.create}</button>`}>${T.title}<//>
    <${Loaded} from=${found}>${(data) => html`
      <${Table} caption=${T.title} columns=${ofGroups} rows=${data.groups} none=${html`<${Empty} text=${T.none}
        next=${data.groupTypes.length > 0 ? T.first : T.noTypes} />`} />
      <${Section} title=${T.snapshots}><${Table} caption=${T.snapshots} columns=${ofSnapshots} rows=${data.snapshots}
        none=${T.noSnapshots} /><//>
      ${dialog && (dialog.group ? html`<${TakeSnapshot} group=${dialog.group} onClose=${close} />`
        : html`<${Create} data=${data} onClose=${close} />`)}`}<//>${confirm}`;
}
