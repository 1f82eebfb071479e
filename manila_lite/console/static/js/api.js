// SPDX-License-Identifier: Apache-2.0
// The public API, as every client uses it.
import {askAgain, credentials, headers, isSame, session} from './session.js';
import {Store} from './store.js';
import {S} from './strings.js';

export const VERSION = '2.99';
const API = new URL('../v2/', document.baseURI);
export const PATIENCE = 60000;

// Whether the service answers. The frame shows it, and events.js mends it.
export const link = new Store({away: false});

export class ApiError extends Error {
  constructor(status, fault = {}) {
    super(fault.message ?? S.error.status(status));
    this.status = status;
    this.reason = fault.reason ?? '';
    this.next = fault.next ?? '';
  }
}

export const url = (path, query = {}) => {
  const full = new URL(path, API);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') full.searchParams.set(name, value);
  }
  return full;
};

export const requestHeaders = () => ({
  ...headers(), 'X-OpenStack-Manila-API-Version': VERSION, 'X-OpenStack-Manila-API-Experimental': 'true'});

async function attempt(address, options) {
  try {
    const answer = await fetch(address, {...options, headers: {...requestHeaders(), ...options.headers},
                                         credentials: credentials(), cache: 'no-store', redirect: 'error'});
    if (link.value.away) link.set({away: false});
    return answer;
  } catch (error) {
    if (options.signal?.aborted && error.name !== 'TimeoutError') throw error;
    link.set({away: true});
    throw new ApiError(0, {message: S.error.away, next: S.error.awayNext});
  }
}

// Send a request. A session that has ended is asked for again, and the request is then sent once more, as often as needed.
export async function fetchApi(address, options) {
  const first = session.value.user;
  for (;;) {
    // Known to have ended: what is sent with it would count as one more failed log-in.
    if (session.value.asking) await askAgain();
    const {user} = session.value;
    const answer = await attempt(address, options());
    if (answer.status !== 401 || session.value.phase !== 'in') return answer;
    if (user === session.value.user) await askAgain();
    if (!isSame(first, session.value.user)) throw new ApiError(401, {message: S.error.otherUser});
  }
}

// The document of an answer; an error of the service becomes one of ours.
export async function read(answer) {
  const text = await answer.text();
  let document = null;
  try {
    document = text ? JSON.parse(text) : null;
  } catch {
    throw new ApiError(answer.status);
  }
  if (!answer.ok) throw new ApiError(answer.status, Object.values(document ?? {})[0]);
  return document;
}

async function call(method, path, {query, body, once, operation} = {}) {
  const key = once && {'Idempotency-Key': randomKey()};
  const answer = await fetchApi(url(path, query), () => ({
    method, signal: AbortSignal.timeout(PATIENCE), body: body && JSON.stringify(body),
    headers: {...(body && {'Content-Type': 'application/json'}), ...key}}));
  const document = await read(answer);
  return operation ? answer.headers.get('Operation-Id') : document;
}

// crypto.randomUUID exists only over HTTPS and on localhost.
function randomKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

// One word of a path. Words of dots alone would lead to another path, and no resource is called so.
const id = (word) => encodeURIComponent(/^\.{1,2}$/.test(word) ? `${word} ` : word);
// Begins work, and returns the id of its operation.
export const begin = (path, body) => call('POST', path, {body, operation: true});
export const get = (path, query) => call('GET', path, {query});
export const put = (path, body) => call('PUT', path, {body});
export const remove = (path, query) => call('DELETE', path, {query});
// Creates something: sent twice, it is made once.
export const create = (path, body) => call('POST', path, {body, once: true});
export const post = (path, body) => call('POST', path, {body});
export const act = (path, action, value = null) => call('POST', `${path}/action`, {body: {[action]: value}});
export {id};

// Whether lists are of all projects. Only administrators get them.
export const allProjects = () => (session.value.everything ? {all_tenants: 1} : {});

const PAGE = 1000;
// A whole list, page by page: each begins where the last one ended, which costs the same in a list of any length.
export async function list(path, key, query = {}) {
  const rows = [];
  for (;;) {
    const page = await get(path, {limit: PAGE, ...query, marker: rows.at(-1)?.id});
    // Nothing follows a row that was deleted meanwhile: the page begins behind the row before it then.
    if (page[key].length === 0 && rows.pop()) continue;
    rows.push(...page[key]);
    if (!page[`${key}_links`]?.some(({rel}) => rel === 'next')) return rows;
  }
}

// What the caller may not see is as if there were none of it: it breaks no page.
export const unlessForbidden = (promise, instead) => promise.catch((error) => {
  if (error.status === 403) return instead;
  throw error;
});
