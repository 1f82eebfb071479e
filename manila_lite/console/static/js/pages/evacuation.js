// SPDX-License-Identifier: Apache-2.0
// The evacuation of a backend: its plan, its progress, and what stays.
import {html, useState} from '../html.js';
import {begin, get, id as quoted, post} from '../api.js';
import {gib} from '../format.js';
import {isEvent, useLoad} from '../load.js';
import {Loaded, Own, Problem, Section, Status, Title} from '../parts/basics.js';
import {useConfirm} from '../parts/dialog.js';
import {Form} from '../parts/form.js';
import {Progress} from '../parts/operation.js';
import {Ref} from '../parts/ref.js';
import {Table} from '../parts/table.js';
import {link} from '../router.js';
import {S} from '../strings.js';

const T = S.evacuation;
const KIND = 'service.evacuate';
const OFTEN = 3000;
const rowsOf = (part) => Object.entries(part ?? {}).map(([id, row]) => ({id, ...(typeof row === 'string' ? {reason: row} : row)}));

const ID = {key: 'id', head: T.resource, cell: (row) => html`<${Ref} type=${row.resource_type ?? row.type ?? ''} id=${row.id} typed />`};
const TO = {key: 'to', head: T.to, cell: (row) => html`<code>${row.to}</code>`};
const SIZE = {key: 'size', head: S.table.size, class: 'number', cell: (row) => gib(row.size)};
const PLAN = [ID, SIZE, {key: 'from', head: T.from, cell: (row) => html`<code>${row.from}</code>`}, TO,
  {key: 'clients', head: T.clients, cell: (row) => row.clients}];
const MOVING = [ID, SIZE, TO, {key: 'percent', head: S.table.progress, cell: (row) => html`<progress max="100" value=${row.percent}
  aria-label=${S.operation.bar(row.id)}></progress>`}];
const LEFT = [ID, {key: 'reason', head: T.reason, class: 'long', cell: (row) => html`<${Own} text=${row.reason} />`}];

function Report({operation}) {
  const {plan, moving, left} = operation.report;
  const parts = [[T.planned, PLAN, rowsOf(plan)], [T.moving, MOVING, rowsOf(moving)], [T.left, LEFT, rowsOf(left)]];
  const shown = parts.filter(([, , rows]) => rows.length > 0);
  return html`<div class="card"><p><${Status} of=${operation.state} /></p><${Progress} operation=${operation} />
    ${operation.error && html`<${Problem} error=${{message: operation.error}} />`}</div>
    ${operation.state === 'done' && shown.length === 0 && html`<p class="none">${T.nothing}</p>`}
    ${shown.map(([title, columns, rows]) => html`<${Section} key=${title} title=${title}><${Table} caption=${title} columns=${columns}
      rows=${rows} /><//>`)}`;
}

// The operation that was begun here, else the newest one of the backend.
async function load(chosen, service) {
  if (chosen) return {operation: (await get(`operations/${quoted(chosen)}`)).operation};
  const {operations} = await get('operations', {kind: KIND, resource_id: service, all_tenants: 1, limit: 1});
  return {operation: operations[0] ?? null};
}

export function Evacuation({rest: [host, service]}) {
  const [chosen, choose] = useState(null);
  const [ask, confirm] = useConfirm();
  const found = useLoad(() => load(chosen, service), [chosen], isEvent('operation'), OFTEN);
  const plan = async () => choose(await begin('services/evacuate', {host, dry_run: true}));
  const start = () => ask({title: T.startTitle(host), text: T.startText, submit: T.start,
    act: async () => choose(await begin('services/evacuate', {host}))});
  const stop = () => ask({title: T.stopTitle(host), text: T.stopText, submit: T.stop, act: async () => {
    await post('services/stop-evacuation', {host});
    found.reload();
  }});
  return html`<p><a href=${link('services')}>${T.back}</a></p>
    <${Title} actions=${html`<button type="button" class="danger" onClick=${start}>${T.start}</button>
      <button type="button" onClick=${stop}>${T.stop}</button>`}>${T.title(host)}<//>
    <p>${T.text}</p><${Form} submit=${T.plan} onSubmit=${plan} />
    <${Loaded} from=${found}>${({operation}) => (operation ? html`<${Report} operation=${operation} />`
      : html`<p class="none">${T.none}</p>`)}<//>${confirm}`;
}
