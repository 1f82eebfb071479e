// SPDX-License-Identifier: Apache-2.0
// Services: which are there, and what an operator does to them.
import {html, useState} from '../html.js';
import {get, post, put} from '../api.js';
import {isEvent, useLoad} from '../load.js';
import {Loaded, Own, Status, Time, Title, useAct} from '../parts/basics.js';
import {FormDialog, useConfirm} from '../parts/dialog.js';
import {Text} from '../parts/form.js';
import {Table} from '../parts/table.js';
import {link} from '../router.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.services;
// Heartbeats are no events.
const OFTEN = 10000;
const nameOf = ({binary, host}) => `${binary} ${host}`;
const which = ({binary, host}) => ({binary, host});

function Disable({service, onClose}) {
  const [reason, write] = useState('');
  const submit = () => put('services/disable', {...which(service), disabled_reason: reason || null});
  return html`<${FormDialog} title=${T.disableTitle(nameOf(service))} submit=${T.disable} onSubmit=${submit} onClose=${onClose}>
    <p>${T.disableText}</p><${Text} label=${T.reason} value=${reason} onChange=${write} maxlength="255" autofocus /><//>`;
}

export function Services() {
  const [disabling, disable] = useState(null);
  const [ask, confirm] = useConfirm();
  const found = useLoad(async () => (await get('services')).services, [], isEvent('service'), OFTEN);
  const [run, problem] = useAct();
  const enable = (service) => run(async () => {
    await put('services/enable', which(service));
    found.reload();
  });
  const ensure = (service) => ask({title: T.ensureTitle(service.host), text: T.ensureText, submit: T.ensure, act: async () => {
    await post('services/ensure', {host: service.host});
    found.reload();
  }});
  const button = (label, row, onClick) => html`<button type="button" onClick=${onClick}
    aria-label=${S.action.ofThis(label, nameOf(row))}>${label}</button>`;
  const columns = [
    {key: 'binary', head: T.service, cell: (row) => row.binary},
    {key: 'host', head: S.table.host, cell: (row) => html`<${Own} text=${row.host} />`},
    {key: 'state', head: S.table.state, cell: (row) => html`<${Status} of=${row.state} />`},
    {key: 'status', head: S.table.status, cell: (row) => html`<${Status} of=${row.status} />
      ${row.ensuring && html` <${Status} of=${T.ensuring} />`} ${row.disabled_reason && html`<${Own} text=${row.disabled_reason} />`}`},
    {key: 'seen', head: T.heartbeat, class: 'wide', cell: (row) => html`<${Time} at=${row.updated_at} />`},
    {key: 'zone', head: S.table.zone, class: 'wider', cell: (row) => row.zone ?? S.none},
    {key: 'release', head: T.release, class: 'wider', cell: (row) => row.release ?? S.none},
    {key: 'actions', head: S.table.actions, cell: (row) => html`<div class="actions">
      ${may('service:update') && (row.status === 'enabled' ? button(T.disable, row, () => disable(row)) : button(T.enable, row, () => enable(row)))}
      ${row.binary === 'manila-share' && html`${may('service:ensure_shares') && button(T.ensure, row, () => ensure(row))}
        ${may('service:evacuate') && html`<a class="button" href=${link('evacuate', row.host, row.id)}
          aria-label=${S.action.ofThis(T.evacuate, row.host)}>${T.evacuate}</a>`}`}</div>`},
  ];
  const close = () => {
    disable(null);
    found.reload();
  };
  return html`<${Title}>${T.title}<//>${problem}<${Loaded} from=${found}>${(rows) => html`<${Table} caption=${T.title} columns=${columns}
    rows=${rows} none=${T.none} />`}<//>${disabling && html`<${Disable} service=${disabling} onClose=${close} />`}${confirm}`;
}
