// SPDX-License-Identifier: Apache-2.0
// Share groups and their snapshots.
import {html} from '../html.js';
import {allProjects, create, get, id as quoted, list, unlessForbidden} from '../api.js';
import {hasServers} from '../offers.js';
import {isOf, useLoad} from '../load.js';
import {Empty, Loaded, Section, Title, button, named} from '../parts/basics.js';
import {FormDialog, useConfirm, useOpened} from '../parts/dialog.js';
import {Area, Choice, Text, useFields} from '../parts/form.js';
import {CREATED, NAME, STATUS, actions} from '../parts/columns.js';
import {Table} from '../parts/table.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.groups;
const COLUMNS = [NAME, STATUS, CREATED];

function Create({data, onClose}) {
  const {values, field} = useFields({name: '', description: '', share_group_type_id: data.groupTypes[0]?.id, share_network_id: ''});
  const type = data.groupTypes.find(({id}) => id === values.share_group_type_id);
  const needsNetwork = data.types.some((one) => type.share_types.includes(one.id) && hasServers(one));
  const network = needsNetwork ? values.share_network_id || data.networks[0]?.id : undefined;
  const submit = () => create('share-groups', {share_group: {...values, share_network_id: network}});
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
  const found = useLoad(load, [], isOf('share_group', 'share_group_snapshot'));
  const [dialog, open, close] = useOpened(found.reload);
  const [, confirm, remove] = useConfirm(found.reload);
  const deleting = (path, what) => (row) => remove(`${path}/${quoted(row.id)}`, what, named(row));
  const offers = (...buttons) => actions((row) => buttons.map(([label, rule, act]) => may(rule) && button(label, row, act)));
  const ofGroups = [...COLUMNS, offers([T.snapshot, 'share_group_snapshot:create', (group) => open({group})],
    [S.action.delete, 'share_group:delete', deleting('share-groups', T.what)])];
  const ofSnapshots = [...COLUMNS, offers([S.action.delete, 'share_group_snapshot:delete',
    deleting('share-group-snapshots', T.snapshotWhat)])];
  return html`<${Title} actions=${may('share_group:create') && found.value?.groupTypes.length > 0 && html`<button type="button" class="main"
      onClick=${() => open({})}>${T.create}</button>`}>${T.title}<//>
    <${Loaded} from=${found}>${(data) => html`
      <${Table} caption=${T.title} columns=${ofGroups} rows=${data.groups} none=${html`<${Empty} text=${T.none}
        next=${data.groupTypes.length > 0 ? T.first : T.noTypes} />`} />
      <${Section} title=${T.snapshots}><${Table} caption=${T.snapshots} columns=${ofSnapshots} rows=${data.snapshots}
        none=${T.noSnapshots} /><//>
      ${dialog && (dialog.group ? html`<${TakeSnapshot} group=${dialog.group} onClose=${close} />`
        : html`<${Create} data=${data} onClose=${close} />`)}`}<//>${confirm}`;
}
