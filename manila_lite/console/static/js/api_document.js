// SPDX-License-Identifier: Apache-2.0
// The OpenAPI document of the service, as a list of calls: each action of a path is a call of its own.
import {PATIENCE, fetchApi, get, read} from './api.js';

const JSON_TYPE = 'application/json';
const documents = new Map();

export const addressOf = (version) => new URL(`../openapi.json?version=${encodeURIComponent(version)}`, document.baseURI);

async function fetchDocument(version) {
  if (!documents.has(version)) {
    const answer = await fetchApi(addressOf(version), () => ({signal: AbortSignal.timeout(PATIENCE)}));
    documents.set(version, await read(answer));
  }
  return documents.get(version);
}

// The microversions that the service has, the newest first.
export async function fetchVersions() {
  const [{version, min_version: least}] = (await get('')).versions;
  const [newest, oldest] = [version, least].map((text) => Number(text.split('.')[1]));
  return Array.from({length: newest - oldest + 1}, (_, index) => `2.${newest - index}`);
}

const resolve = (whole, node) => (node?.$ref ? node.$ref.slice(2).split('/').reduce((at, word) => at[word], whole) : node);
const schemaOf = (node) => node?.content?.[JSON_TYPE]?.schema;

function answersOf(whole, responses) {
  return Object.entries(responses).map(([status, response]) => {
    const answer = resolve(whole, response);
    return {status, headers: Object.keys(answer.headers ?? {}), schema: resolve(whole, schemaOf(answer))};
  });
}

// The bodies of a path with actions, by the name of the action; else the one body under ''.
function bodiesOf(path, schema) {
  if (!path.endsWith('/action') || !schema) return [['', schema]];
  return (schema.anyOf ?? [schema]).map((one) => [one.required[0], one]);
}

function callsAt(whole, path, method, call) {
  const shared = {
    path, method: method.toUpperCase(), tag: call.tags[0], policies: call['x-policies'] ?? [], answers: answersOf(whole, call.responses),
    parameters: call.parameters.map((one) => resolve(whole, one))};
  return bodiesOf(path, schemaOf(call.requestBody)).map(([action, body]) => ({
    ...shared, action, body, summary: body?.description ?? call.summary}));
}

// {version, calls} of a microversion.
export async function describe(version) {
  const whole = await fetchDocument(version);
  const calls = Object.entries(whole.paths).flatMap(([path, methods]) => Object.entries(methods).flatMap(
    ([method, call]) => callsAt(whole, path, method, call)));
  return {version, calls};
}

export const titleOf = ({method, path, action}) => [method, path, action].filter(Boolean).join(' ');
