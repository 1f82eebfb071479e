// SPDX-License-Identifier: Apache-2.0
// Operations as a list of what was done: to what, by whom, how it ended, and when.
import {html} from '../html.js';
import {Prose, Status, Time} from './basics.js';
import {Progress, kindOf} from './operation.js';
import {Ref, Who} from './ref.js';
import {S} from '../strings.js';

const T = S.operation;

export const COLUMNS = [
  {key: 'kind', head: T.kind, cell: kindOf},
  {key: 'resource', head: T.resource, class: 'name', cell: (row) => html`<${Ref} type=${row.resource_type} id=${row.resource_id} typed />`},
  {key: 'state', head: S.table.state, cell: (row) => html`<${Status} of=${row.state} />`},
  {key: 'who', head: T.who, cell: (row) => (row.user_id ? html`<${Who} user=${row.user_id} />` : T.service)},
  {key: 'ended', head: T.when, cell: (row) => html`<${Time} at=${row.finished_at ?? row.created_at} />`},
];
export const PROGRESS = {key: 'progress', head: S.table.progress, cell: (row) => (['open', 'parked'].includes(row.state)
  ? html`<${Progress} operation=${row} />` : S.none)};
export const ERROR = {key: 'error', head: T.error, class: 'long', cell: (row) => (row.error ? html`<bdi><${Prose} text=${row.error} /></bdi>` : S.none)};
export const HOST = {key: 'host', head: S.table.host, class: 'wider', cell: (row) => html`<code>${row.host || S.none}</code>`};
