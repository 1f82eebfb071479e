// SPDX-License-Identifier: Apache-2.0
// Schemas of the API for people: what a value may be, which fields an object has, and a first value to begin with.
import {html} from '../html.js';
import {S} from '../strings.js';

const T = S.api;
const LONGEST_LIST = 30;

const typesOf = (schema) => [schema.type ?? []].flat();
// Flags are sent in many forms; two of them are enough to know.
export const isFlag = (schema) => typesOf(schema).includes('boolean');
export const choices = (schema) => (isFlag(schema) ? ['true', 'false']
  : (schema.enum ?? []).filter((value) => value !== null).map(String));

const range = (least, most) => (least === undefined && most === undefined ? null : T.range(least, most));

function limits(schema) {
  const values = isFlag(schema) ? [] : choices(schema).slice(0, LONGEST_LIST);
  return [
    schema.const !== undefined && T.only(JSON.stringify(schema.const)),
    values.length > 0 && T.oneOf(values.join(', ')),
    range(schema.minimum, schema.maximum),
    (schema.minLength || schema.maxLength) && T.characters(range(schema.minLength, schema.maxLength)),
    (schema.minItems || schema.maxItems) && T.items(range(schema.minItems, schema.maxItems)),
    schema.format, schema.pattern && !isFlag(schema) && T.pattern(schema.pattern),
  ].filter(Boolean).join('; ');
}

// What a value may be, in words.
export function kindOf(schema) {
  const types = typesOf(schema).filter((type) => type !== 'null');
  const what = isFlag(schema) ? 'boolean' : types.join(T.or) || (typesOf(schema).length ? 'null' : T.anything);
  return [what, types.length > 0 && typesOf(schema).includes('null') && T.orNull].filter(Boolean).join(T.or);
}

// [name, schema, required] of what is within a value.
function inside(schema) {
  const needed = new Set(schema.required ?? []);
  const others = typeof schema.additionalProperties === 'object' ? [[T.anyName, schema.additionalProperties, false]] : [];
  return [
    ...Object.entries(schema.properties ?? {}).map(([name, one]) => [name, one, needed.has(name)]),
    ...others, ...(schema.items ? [[T.each, schema.items, false]] : []),
    ...(schema.anyOf ?? schema.oneOf ?? []).map((one, index) => [T.form(index + 1), one, false])];
}

export function Schema({schema}) {
  const rows = inside(schema);
  if (rows.length === 0) return null;
  return html`<ul class="schema">${rows.map(([name, one, needed]) => html`<li key=${name}><code>${name}</code>${' '}
    <span class="kind">${kindOf(one)}${needed && html`, <strong>${T.required}</strong>`}</span>
    ${limits(one) && html` <span class="hint">${limits(one)}</span>`}<${Schema} schema=${one} /></li>`)}</ul>`;
}

export const About = ({schema}) => html`<span class="kind">${kindOf(schema)}</span> <span class="hint">${limits(schema)}</span>`;

const FIRST = {object: (schema) => Object.fromEntries((schema.required ?? []).map((name) => [name, example(schema.properties[name])])),
  array: (schema) => (schema.minItems ? [example(schema.items)] : []), boolean: () => true,
  integer: (schema) => schema.minimum ?? 0, number: (schema) => schema.minimum ?? 0, null: () => null, string: () => ''};

// A value to begin with: only what has to be there.
export function example(schema) {
  const form = schema.anyOf ?? schema.oneOf;
  if (schema.const !== undefined) return schema.const;
  if (form) return example(form[0]);
  if (isFlag(schema)) return true;
  return schema.enum ? schema.enum[0] : FIRST[typesOf(schema)[0] ?? 'object'](schema);
}
