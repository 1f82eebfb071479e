// SPDX-License-Identifier: Apache-2.0
// Services: which are there, and what an operator does to them.
import {html, useState} from '../html.js';
import {get, post, put} from '../api.js';
import {isEvent, useLoad} from '../load.js';
import {Loaded, Own, Status, Time, Title, button, useAct} from '../parts/basics.js';
import {FormDialog, useConfirm, useOpened} from '../parts/dialog.js';
import {Text} from '../parts/form.js';
import {actions} from '../parts/columns.js';
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
  const found = useLoad(async () => (await get('services')).services, [], isEvent('service'), OFTEN);
  const [disabling, disable, close] = useOpened(found.reload);
  const [ask, confirm] = useConfirm(found.reload);
  const [run, problem] = useAct(found.reload);
  const enable = (service) => run(() => put('services/enable', which(service)));
  const ensure = ({host}) => ask({title: T.ensureTitle(host), text: T.ensureText, submit: T.ensure, act: () => post('services/ensure', {host})});
  const own = (label, row, act) => button(label, row, act, nameOf(row));
  const columns = [
    {key: 'binary', head: T.service, cell: (row) => row.binary},
    {key: 'host', head: S.table.host, cell: (row) => html`<${Own} text=${row.host} />`},
    {key: 'state', head: S.table.state, cell: (row) => html`<${Status} of=${row.state} />`},
    {key: 'status', head: S.table.status, cell: (row) => html`<${Status} of=${row.status} />
      ${row.ensuring && html` <${Status} of=${T.ensuring} />`} ${row.disabled_reason && html`<${Own} text=${row.disabled_reason} />`}`},
    {key: 'seen', head: T.heartbeat, class: 'wide', cell: (row) => html`<${Time} at=${row.updated_at} />`},
    {key: 'zone', head: S.table.zone, class: 'wider', cell: (row) => row.zone ?? S.none},
    {key: 'release', head: T.release, class: 'wider', cell: (row) => row.release ?? S.none},
    actions((row) => html`
      ${may('service:update') && (row.status === 'enabled' ? own(T.disable, row, disable) : own(T.enable, row, enable))}
      ${row.binary === 'manila-share' && html`${may('service:ensure_shares') && own(T.ensure, row, ensure)}
        ${may('service:evacuate') && html`<a class="button" href=${link('evacuate', row.host, row.id)}
          aria-label=${S.action.ofThis(T.evacuate, row.host)}>${T.evacuate}</a>`}`}`),
  ];
  return html`<${Title}>${T.title}<//>${problem}<${Loaded} from=${found}>${(rows) => html`<${Table} caption=${T.title} columns=${columns}
    rows=${rows} none=${T.none} />`}<//>${disabling && html`<${Disable} service=${disabling} onClose=${close} />`}${confirm}`;
}
