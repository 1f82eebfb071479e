// SPDX-License-Identifier: Apache-2.0
// Who the user is. Tokens are in a cookie that no script can read; a password for HTTP Basic is only in this module's memory.
import {Store} from './store.js';
import {S} from './strings.js';

const HERE = new URL('./', document.baseURI);
const CONSOLE = {'X-Manila-Lite-Console': '1'};

// phase: 'begin', 'out', 'in'; asking: the session ended in the middle of something, and a dialog asks for it again; declined: the
// user did not log in then. Until something else is asked for, nothing asks again by itself. permissions: the rules of policy that the
// user passes.
export const session = new Store({phase: 'begin', settings: null, user: null, asking: false, declined: false, error: null, everything: false, permissions: {}});

const AGAIN = 3000;
let basic = null;
let waiting = [];

export function headers() {
  return basic === null ? {...CONSOLE} : {...CONSOLE, Authorization: basic};
}

export function credentials() {
  // With HTTP Basic no cookie is needed, and without credentials the browser shows no dialog of its own.
  return session.value.settings?.auth_strategy === 'http_basic' ? 'omit' : 'same-origin';
}

async function ask(path, method = 'GET', body = undefined) {
  const answer = await fetch(new URL(path, HERE), {
    method, headers: {...headers(), ...(body && {'Content-Type': 'application/json'})}, credentials: credentials(),
    body: body && JSON.stringify(body), cache: 'no-store', redirect: 'error',
  }).catch(() => { throw Object.assign(new Error(S.error.away), {status: 0, next: S.error.awayNext}); });
  const text = await answer.text();
  let document = null;
  try {
    document = text ? JSON.parse(text) : null;
  } catch {
    // A proxy may have answered in place of the service.
    throw Object.assign(new Error(S.error.status(answer.status)), {status: answer.status});
  }
  if (!answer.ok) {
    const fault = Object.values(document ?? {})[0] ?? {};
    throw Object.assign(new Error(fault.message ?? answer.statusText), {status: answer.status, next: fault.next});
  }
  return document;
}

// Whether policy lets the user do what this rule allows. The service decides again when it is done.
export const may = (rule) => session.value.permissions[rule] === true;

// Without a role one may not even ask.
const permissionsOf = () => ask('../v2/permissions').then((found) => found.permissions, (error) => {
  if (error.status === 403) return {};
  throw error;
});

export const isSame = (one, other) => one?.user_id === other?.user_id && one?.project_id === other?.project_id;

async function recognise() {
  const {session: user} = await ask('session');
  const permissions = await permissionsOf();
  const {user: before} = session.value;
  session.set({phase: 'in', user, permissions, error: null, asking: false, declined: false, everything: session.value.everything && user.administrator});
  // What one user began is not done as another one.
  const woken = waiting;
  waiting = [];
  for (const {resolve, reject} of woken) {
    if (isSame(before, user)) resolve();
    else reject(new Error(S.error.otherUser));
  }
}

export async function begin() {
  try {
    session.set({settings: await ask('settings'), error: null});
    if (session.value.settings.auth_strategy === 'http_basic' && basic === null) return session.set({phase: 'out'});
    await recognise();
  } catch (error) {
    session.set(error.status === 401 ? {phase: 'out'} : {phase: 'out', error});
    if (session.value.settings === null) setTimeout(begin, AGAIN);
  }
  return undefined;
}

// Returns the projects to choose from, if the user has to choose.
export async function logIn(fields) {
  if (session.value.settings.auth_strategy === 'http_basic') {
    const before = basic;
    const bytes = new TextEncoder().encode(`${fields.user}:${fields.password}`);
    basic = `Basic ${btoa(String.fromCharCode(...bytes))}`;
    try {
      await recognise();
    } catch (error) {
      basic = before;
      throw error;
    }
    return [];
  }
  const {projects} = await ask('session', 'POST', fields);
  if (projects.length === 0) await recognise();
  return projects;
}

export async function logOut() {
  basic = null;
  const refused = waiting;
  waiting = [];
  for (const {reject} of refused) reject(new Error('logged out'));
  try {
    if (session.value.settings.auth_strategy !== 'http_basic') await ask('session', 'DELETE');
  } finally {
    session.set({phase: 'out', user: null, asking: false, declined: false});
  }
}

export const otherProjects = async () => (await ask('projects')).projects;

// Ask for a new log-in, and go on when there is one. What is on the page stays there.
export function askAgain() {
  session.set({asking: true, declined: false});
  return new Promise((resolve, reject) => { waiting.push({resolve, reject}); });
}

export function giveUp() {
  const refused = waiting;
  waiting = [];
  session.set({asking: false, declined: true});
  for (const {reject} of refused) reject(Object.assign(new Error(S.error.ended), {status: 401, next: S.error.endedNext}));
}
