// SPDX-License-Identifier: Apache-2.0
// Migrations of shares and of share servers: both ends, how far, and how fast.
import {html} from '../html.js';
import {act, get, id as quoted} from '../api.js';
import {isEvent, useLoad} from '../load.js';
import {Empty, Loaded, Status, Title, button} from '../parts/basics.js';
import {useConfirm} from '../parts/dialog.js';
import {Curve, Progress, kindOf, useSpeed} from '../parts/operation.js';
import {link} from '../router.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.migrations;
const OFTEN = 3000;
const KINDS = {'share.migrate': 'shares', 'share_server.migrate': 'share-servers'};

// The hosts at both ends; null where it is not known yet.
async function shareEnds(id) {
  const [{share}, {share_instances: instances}] = await Promise.all([get(`shares/${quoted(id)}`), get(`shares/${quoted(id)}/instances`)]);
  const other = instances.find(({status}) => status === 'migrating_to');
  return {name: share.name || id, task: share.task_state, from: share.host, to: other?.host ?? null};
}

async function serverEnds(id) {
  const [{share_server: server}, {share_servers: others}] = await Promise.all([
    get(`share-servers/${quoted(id)}`), get('share-servers', {source_share_server_id: id})]);
  return {name: id, task: server.task_state, from: server.host, to: others[0]?.host ?? null};
}

// The rules of policy for what can be done to each.
const RULES = {'share.migrate': 'share:migration_', 'share_server.migrate': 'share_server:share_server_migration_'};
const ENDS = {'share.migrate': shareEnds, 'share_server.migrate': serverEnds};
// Task states of a copy that is ready, by a driver and by a host.
const READY = ['migration_driver_phase1_done', 'data_copying_completed'];
const NOWHERE = {name: '', task: null, from: null, to: null};

async function load() {
  const found = await Promise.all(['open', 'parked'].map((state) => get('operations', {state, all_tenants: 1, limit: 500})));
  const operations = found.flatMap((page) => page.operations).filter(({kind}) => kind in KINDS);
  return Promise.all(operations.map(async (operation) => ({operation,
    ends: await ENDS[operation.kind](operation.resource_id).catch(() => NOWHERE)})));
}

function Migration({operation, ends, ask}) {
  const speeds = useSpeed(operation);
  const path = `${KINDS[operation.kind]}/${quoted(operation.resource_id)}`;
  const name = ends.name || operation.resource_id;
  const cancel = () => ask({title: T.cancelTitle, text: T.cancelText, submit: T.cancel, act: () => act(path, 'migration_cancel')});
  const complete = () => ask({title: S.action.ofThis(T.complete, name), text: '', submit: T.complete,
    act: () => act(path, 'migration_complete')});
  return html`<li class="card"><h2>${operation.kind === 'share.migrate'
      ? html`<a href=${link('share', operation.resource_id)}><bdi>${name}</bdi></a>` : html`<code>${name}</code>`}${' '}
      <${Status} of=${ends.task ?? operation.state} /></h2>
    <p class="ends"><span>${T.from} <code>${ends.from ?? S.none}</code></span><span aria-hidden="true"> → </span>
      <span>${T.to} <code>${ends.to ?? S.none}</code></span></p>
    <p>${kindOf(operation)}</p><${Progress} operation=${operation} /><${Curve} speeds=${speeds} />
    <div class="actions">${READY.includes(ends.task) && may(`${RULES[operation.kind]}complete`) && html`<button type="button" class="main" onClick=${complete}
      aria-label=${S.action.ofThis(T.complete, name)}>${T.complete}</button>`}
      ${may(`${RULES[operation.kind]}cancel`) && button(T.cancel, operation, cancel, name)}</div></li>`;
}

export function Migrations() {
  const [ask, confirm] = useConfirm();
  const found = useLoad(load, [], isEvent('operation', 'status'), OFTEN);
  return html`<${Title}>${T.title}<//><${Loaded} from=${found}>${(rows) => (rows.length === 0 ? html`<${Empty} text=${T.none} next=${T.first}>
    <a class="button" href=${link('shares')}>${S.shares.title}</a><//>`
    : html`<ul class="pools">${rows.map(({operation, ends}) => html`<${Migration} key=${operation.id} ...${{operation, ends, ask}} />`)}</ul>`)}<//>
    ${confirm}`;
}
