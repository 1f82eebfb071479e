// SPDX-License-Identifier: Apache-2.0
// What the service works on, worked on, and could not do.
import {html, useState} from '../html.js';
import {allProjects, get} from '../api.js';
import {isEvent, useLoad} from '../load.js';
import {Loaded, Own, Status, Time, Title} from '../parts/basics.js';
import {Choice} from '../parts/form.js';
import {Progress, kindOf} from '../parts/operation.js';
import {OF_TEXTS, Table} from '../parts/table.js';
import {link} from '../router.js';
import {session} from '../session.js';
import {S} from '../strings.js';

const T = S.operation;

const resource = ({resource_type: type, resource_id: id}) => (type === 'share'
  ? html`<a href=${link('share', id)}><code>${id}</code></a>` : html`${type.replaceAll('_', ' ')} <code>${id}</code>`);

const COLUMNS = [
  {key: 'kind', head: T.kind, cell: kindOf},
  {key: 'resource', head: T.resource, cell: resource},
  {key: 'state', head: S.table.state, cell: (row) => html`<${Status} of=${row.state} />`},
  {key: 'progress', head: S.table.progress, cell: (row) => (['open', 'parked'].includes(row.state)
    ? html`<${Progress} operation=${row} />` : S.none)},
  {key: 'error', head: T.error, class: 'long', cell: (row) => (row.error ? html`<${Own} text=${row.error} />` : S.none)},
  {key: 'created', head: S.table.created, class: 'wide', cell: (row) => html`<${Time} at=${row.created_at} />`},
];
const HOST = {key: 'host', head: S.table.host, class: 'wider', cell: (row) => html`<code>${row.host ?? S.none}</code>`};

export function Operations() {
  const [state, choose] = useState('open');
  const found = useLoad(async () => (await get('operations', {...allProjects(), state, limit: OF_TEXTS})).operations, [state],
    isEvent('operation'));
  return html`<${Title}>${T.title}<//>
    <form class="filters" onSubmit=${(event) => event.preventDefault()}><${Choice} label=${T.state} value=${state} onChange=${choose}
      options=${[['', T.any], ...Object.entries(T.states)]} /></form>
    ${state === 'parked' && html`<p class="hint">${T.parked} ${session.value.user.administrator
      && html`<a href=${link('findings')}>${S.findings.title}</a>`}</p>`}
    <${Loaded} from=${found}>${(rows) => html`<${Table} caption=${T.title} rows=${rows} none=${T.none} most=${OF_TEXTS}
      columns=${session.value.user.administrator ? [...COLUMNS, HOST] : COLUMNS} />`}<//>`;
}
