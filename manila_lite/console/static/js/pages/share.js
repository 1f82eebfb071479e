// SPDX-License-Identifier: Apache-2.0
// One share: how to mount it, who may, its snapshots and copies, what is done to it, and what went wrong.
import {html} from '../html.js';
import {act, get, id as quoted, put, unlessForbidden} from '../api.js';
import {gib} from '../format.js';
import {isAbout, isOf, useLoad} from '../load.js';
import {canChange, canDelete, canExtend} from '../offers.js';
import {Facts, Loaded, Name, Own, Section, Status, Time, Title, isBusy, named, useAct} from '../parts/basics.js';
import {deletionOf} from '../parts/delete_share.js';
import {FormDialog, useConfirm, useOpened} from '../parts/dialog.js';
import {Area, Check, Text, Whole, useFields} from '../parts/form.js';
import {MigrateShare} from '../parts/migrate.js';
import {Running} from '../parts/operation.js';
import {Ref} from '../parts/ref.js';
import {UsageOfShare} from '../parts/usage.js';
import {BackupList} from './backups.js';
import {MessageList} from './messages.js';
import {ReplicaList} from './replicas.js';
import {Mount} from './share_mount.js';
import {Rules} from './share_rules.js';
import {SnapshotsOfShare} from './share_snapshots.js';
import {go, link} from '../router.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const path = (id) => `shares/${quoted(id)}`;

export function Resize({share, onClose}) {
  const canShrink = may('share:shrink');
  const {values, field} = useFields({size: String(share.size)});
  const submit = () => {
    const size = Number(values.size);
    return act(path(share.id), size > share.size ? 'extend' : 'shrink', {new_size: size});
  };
  return html`<${FormDialog} title=${S.share.resizeTitle(named(share))} submit=${S.share.resize} onSubmit=${submit} onClose=${onClose}>
    <${Whole} label=${S.share.newSize} hint=${canShrink && S.share.shrinkHint} ...${field('size')} min=${canShrink ? 1 : share.size + 1}
      required autofocus /><//>`;
}

function Edit({share, onClose}) {
  const {values, field} = useFields({
    display_name: share.name ?? '', display_description: share.description ?? '', is_public: share.is_public});
  const submit = async () => {
    const {is_public, ...names} = values;
    await put(path(share.id), {share: is_public === share.is_public ? names : {...names, is_public}});
  };
  return html`<${FormDialog} title=${S.share.editTitle(named(share))} submit=${S.action.save} onSubmit=${submit} onClose=${onClose}>
    <${Text} label=${S.create.name} ...${field('display_name')} maxlength="255" autofocus />
    <${Area} label=${S.create.description} ...${field('display_description')} maxlength="255" />
    ${may('share:set_public_share') && html`<${Check} label=${S.create.public} ...${field('is_public')} />`}<//>`;
}

function Details({share}) {
  return html`<${Facts} rows=${[
    [S.table.status, html`<${Status} of=${share.status} />`],
    [S.table.size, gib(share.size)],
    [S.table.protocol, share.share_proto],
    [S.table.type, share.share_type_name && html`<${Own} text=${share.share_type_name} />`],
    [S.table.description, share.description && html`<${Own} text=${share.description} />`],
    [S.share.network, share.share_network_id && html`<${Ref} type="share_network" id=${share.share_network_id} />`],
    [S.table.zone, share.availability_zone],
    [S.share.snapshot, share.snapshot_id && html`<${Ref} type="snapshot" id=${share.snapshot_id} />`],
    [S.share.group, share.share_group_id && html`<${Ref} type="share_group" id=${share.share_group_id} />`],
    [S.share.task, share.task_state && html`<${Status} of=${share.task_state} />`],
    [S.share.public, share.is_public && S.yes],
    [S.table.host, share.host && html`<code>${share.host}</code>`],
    [S.share.server, share.share_server_id && html`<code>${share.share_server_id}</code>`],
    [S.table.created, html`<${Time} at=${share.created_at} />`],
    [S.table.id, html`<code>${share.id}</code>`],
  ]} />`;
}

const SHOWN = ['open', 'parked'];

async function load(id) {
  const [{share}, {export_locations: places}, {access_list: rules}, operations] = await Promise.all([
    get(path(id)), unlessForbidden(get(`${path(id)}/export_locations`), {export_locations: []}),
    unlessForbidden(get('share-access-rules', {share_id: id}), {access_list: []}),
    unlessForbidden(get('operations', {resource_id: id, limit: 20, all_tenants: 1}), {operations: []})]);
  return {share, places, rules, operations: operations.operations.filter(({state}) => SHOWN.includes(state))};
}

function Found({share, places, rules, operations, reload}) {
  const [dialog, open, close] = useOpened(reload);
  const [ask, confirm] = useConfirm();
  const [run, problem] = useAct();
  const erase = () => run(async () => ask(await deletionOf([share], () => go('shares'))));
  return html`<${Title} actions=${html`
      ${may('share:update') && html`<button type="button" onClick=${() => open('edit')}>${S.share.edit}</button>`}
      ${canExtend(share) && html`<button type="button" onClick=${() => open('resize')}>${S.share.resize}</button>`}
      ${canChange(share) && may('share:migration_start') && html`<button type="button" onClick=${() => open('migrate')}>${S.migrations.start}</button>`}
      ${canDelete(share) && html`<button type="button" class="danger" onClick=${erase}>${S.action.delete}</button>`}`}>
      <${Name} row=${share} text=${named(share)} /><//>${problem}
    ${!canChange(share) && html`<p class="hint">${isBusy(share.status) ? S.share.waits(share.status.replaceAll('_', ' ')) : S.share.broken}</p>`}
    ${operations.length > 0 && html`<${Running} operations=${operations} />`}
    <${Section} title=${S.share.details}><${Details} share=${share} /><//>
    <${Section} title=${S.mount.title}><${Mount} ...${{share, places, rules}} /><//>
    ${may('share_usage:show') && html`<${UsageOfShare} id=${share.id} />`}
    <${Rules} ...${{share, rules, reload}} />
    ${share.snapshot_support ? html`<${SnapshotsOfShare} share=${share} />`
      : html`<${Section} title=${S.snapshots.title}><p class="none">${S.snapshots.unsupported}</p><//>`}
    ${share.replication_type && html`<${ReplicaList} share=${share} />`}
    <${BackupList} share=${share} />
    <${Section} title=${S.messages.title}><${MessageList} resource=${share.id} /><//>
    ${dialog === 'resize' && html`<${Resize} share=${share} onClose=${close} />`}
    ${dialog === 'migrate' && html`<${MigrateShare} share=${share} onClose=${close} />`}
    ${dialog === 'edit' && html`<${Edit} share=${share} onClose=${close} />`}${confirm}`;
}

export function Share({id}) {
  const found = useLoad(() => load(id), [id], (event) => isAbout(id)(event) || isOf('access_rule')(event));
  return html`<p><a href=${link('shares')}>${S.share.back}</a></p>
    ${found.error?.status === 404 ? html`<${Title}>${S.share.gone}<//>`
      : html`<${Loaded} from=${found}>${(value) => html`<${Found} ...${value} reload=${found.reload} />`}<//>`}`;
}
