// SPDX-License-Identifier: Apache-2.0
// Who may mount a share.
import {html, useRef} from '../html.js';
import {act, create, id as quoted, put} from '../api.js';
import {Own, Section, Status, button, useAct} from '../parts/basics.js';
import {FormDialog, useConfirm, useOpened} from '../parts/dialog.js';
import {Choice, Text, useFields} from '../parts/form.js';
import {CREATED, actions} from '../parts/columns.js';
import {Table} from '../parts/table.js';
import {may} from '../session.js';
import {runAll} from '../several.js';
import {S} from '../strings.js';

// Kinds of clients by protocol, the usual one first.
const TYPES = {NFS: ['ip'], CIFS: ['user', 'ip'], CEPHFS: ['cephx'], GLUSTERFS: ['cert', 'ip'], HDFS: ['user'], MAPRFS: ['user']};
const ANY = ['ip', 'user', 'cert', 'cephx'];

const typesOf = ({share_proto: proto}) => TYPES[proto.toUpperCase()] ?? ANY;

// For one share or several: kinds of clients that all of them know.
export function AddRule({shares, title = S.access.add, onClose}) {
  const done = useRef(new Set());
  const types = shares.map(typesOf).reduce((all, some) => all.filter((type) => some.includes(type)));
  const {values, field} = useFields({access_type: types[0], access_to: '', access_level: 'rw'});
  const submit = () => runAll(shares, done.current, ({id}) => create(`shares/${quoted(id)}/action`,
    {allow_access: {...values, access_to: values.access_to.trim()}}));
  if (types.length === 0) return html`<${FormDialog} title=${title} submit=${S.action.close} onSubmit=${async () => {}} onClose=${onClose}>
    <p>${S.access.noType}</p><//>`;
  return html`<${FormDialog} title=${title} submit=${S.action.add} onSubmit=${submit} onClose=${onClose}>
    ${types.length > 1 && html`<${Choice} label=${S.access.type} ...${field('access_type')}
      options=${types.map((type) => [type, S.access.types[type]])} />`}
    <${Text} label=${types.length > 1 ? S.access.to : S.access.types[types[0]]} hint=${S.access.hints[values.access_type]}
      ...${field('access_to')} required maxlength="255" autofocus />
    <${Choice} label=${S.access.level} ...${field('access_level')} options=${Object.entries(S.access.levels)} /><//>`;
}

// The level, to be changed in place as soon as the rule applies.
function Level({rule, change}) {
  if (rule.state !== 'active' || !may('share_access_rule:update')) return S.access.levels[rule.access_level];
  const choose = async ({target}) => {
    if (!await change(rule, target.value)) target.value = rule.access_level;
  };
  return html`<select class="inline" aria-label=${S.access.levelOf(rule.access_to)} value=${rule.access_level} onChange=${choose}>
    ${Object.entries(S.access.levels).map(([level, text]) => html`<option key=${level} value=${level}
      selected=${level === rule.access_level}>${text}</option>`)}</select>`;
}

export function Rules({share, rules, reload}) {
  const [adding, add, close] = useOpened(reload);
  const [, confirm, erase] = useConfirm(reload);
  const deny = (rule) => erase('', S.access.what, rule.access_to, S.confirm.deleteText,
    () => act(`shares/${quoted(share.id)}`, 'deny_access', {access_id: rule.id}));
  const [run, problem] = useAct(reload);
  const change = (rule, level) => run(() => put(`share-access-rules/${quoted(rule.id)}`, {update_access: {access_level: level}}));
  const columns = [
    {key: 'to', head: S.access.to, cell: (rule) => html`<${Own} text=${rule.access_to} />`},
    {key: 'type', head: S.access.type, cell: (rule) => S.access.types[rule.access_type] ?? rule.access_type},
    {key: 'level', head: S.access.level, cell: (rule) => html`<${Level} ...${{rule, change}} />`},
    {key: 'state', head: S.table.state, cell: (rule) => html`<${Status} of=${rule.state} />`},
    CREATED,
    actions((rule) => may('share:deny_access') && button(S.action.delete, rule, deny, rule.access_to)),
  ];
  return html`<${Section} title=${S.access.title} actions=${may('share:allow_access')
      && html`<button type="button" onClick=${() => add(true)}>${S.access.add}</button>`}>
    ${problem}<${Table} caption=${S.access.title} columns=${columns} rows=${rules} none=${S.access.none} /><//>
    ${adding && html`<${AddRule} shares=${[share]} onClose=${close} />`}${confirm}`;
}
