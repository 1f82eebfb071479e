// SPDX-License-Identifier: Apache-2.0
// Columns that many tables have.
import {html} from '../html.js';
import {Name, Status, Time} from './basics.js';
import {Ref, Who} from './ref.js';
import {S} from '../strings.js';

const T = S.table;
export const NAME = {key: 'name', head: T.name, sort: 'display_name', cell: (row) => html`<${Name} row=${row} />`};
export const STATUS = {key: 'status', head: T.status, sort: 'status', cell: (row) => html`<${Status} of=${row.status} />`};
export const CREATED = {key: 'created', head: T.created, sort: 'created_at', class: 'wide', cell: (row) => html`<${Time} at=${row.created_at} />`};
export const SHARE = {key: 'share', head: T.share, cell: (row) => html`<${Ref} type="share" id=${row.share_id} />`};
export const PROJECT = {key: 'project', head: T.project, class: 'wider', cell: (row) => html`<${Who} project=${row.project_id} />`};
export const actions = (cell, kind) => ({key: 'actions', head: T.actions, class: kind, cell: (row) => html`<div class="actions">${cell(row)}</div>`});
