// SPDX-License-Identifier: Apache-2.0
// Who may mount a share.
import {html, useState} from '../html.js';
import {act, create, id as quoted} from '../api.js';
import {Own, Section, Status, Time} from '../parts/basics.js';
import {FormDialog, deletion, useConfirm} from '../parts/dialog.js';
import {Choice, Text, useFields} from '../parts/form.js';
import {Table} from '../parts/table.js';
import {S} from '../strings.js';

// Kinds of clients by protocol, the usual one first.
const TYPES = {NFS: ['ip'], CIFS: ['user', 'ip'], CEPHFS: ['cephx'], GLUSTERFS: ['cert', 'ip'], HDFS: ['user'], MAPRFS: ['user']};
const ANY = ['ip', 'user', 'cert', 'cephx'];

function Add({share, onClose}) {
  const types = TYPES[share.share_proto.toUpperCase()] ?? ANY;
  const {values, field} = useFields({access_type: types[0], access_to: '', access_level: 'rw'});
  const submit = () => create(`shares/${quoted(share.id)}/action`, {allow_access: {...values, access_to: values.access_to.trim()}});
  return html`<${FormDialog} title=${S.access.add} submit=${S.action.add} onSubmit=${submit} onClose=${onClose}>
    ${types.length > 1 && html`<${Choice} label=${S.access.type} ...${field('access_type')}
      options=${types.map((type) => [type, S.access.types[type]])} />`}
    <${Text} label=${types.length > 1 ? S.access.to : S.access.types[types[0]]} hint=${S.access.hints[values.access_type]}
      ...${field('access_to')} required maxlength="255" autofocus />
    <${Choice} label=${S.access.level} ...${field('access_level')} options=${Object.entries(S.access.levels)} /><//>`;
}

export function Rules({share, rules, reload}) {
  const [adding, add] = useState(false);
  const [ask, confirm] = useConfirm();
  const deny = (rule) => ask(deletion(S.access.what, rule.access_to, async () => {
    await act(`shares/${quoted(share.id)}`, 'deny_access', {access_id: rule.id});
    reload();
  }));
  const columns = [
    {key: 'to', head: S.access.to, cell: (rule) => html`<${Own} text=${rule.access_to} />`},
    {key: 'type', head: S.access.type, cell: (rule) => S.access.types[rule.access_type] ?? rule.access_type},
    {key: 'level', head: S.access.level, cell: (rule) => S.access.levels[rule.access_level]},
    {key: 'state', head: S.table.state, cell: (rule) => html`<${Status} of=${rule.state} />`},
    {key: 'created', head: S.table.created, class: 'wide', cell: (rule) => html`<${Time} at=${rule.created_at} />`},
    {key: 'actions', head: S.table.actions, cell: (rule) => html`<button type="button" onClick=${() => deny(rule)}
      aria-label=${S.action.ofThis(S.action.delete, rule.access_to)}>${S.action.delete}</button>`},
  ];
  const close = () => {
    add(false);
    reload();
  };
  return html`<${Section} title=${S.access.title} actions=${html`<button type="button" onClick=${() => add(true)}>${S.access.add}</button>`}>
    <${Table} caption=${S.access.title} columns=${columns} rows=${rules} none=${S.access.none} /><//>
    ${adding && html`<${Add} share=${share} onClose=${close} />`}${confirm}`;
}
