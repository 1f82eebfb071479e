// SPDX-License-Identifier: Apache-2.0
// What changes, as it changes: one stream of server-sent events; behind a proxy that holds them back, long polls; and where the
// service has no events, a tick every few seconds, at which pages ask again.
import {fetchApi, url} from './api.js';
import {session} from './session.js';

const TICK = 3000;
// The service sends the position at once.
const FIRST_BYTES = 10000;
const LONGEST_WAIT = 30000;
// A stream that the service ended, as it does now and then, is asked for again.
const AGAIN = 1000;
const SLOWEST = 8000;
const LISTENERS = new Set();
let running = null;
let known = null;   // whose position `last` is
let last = null;

// listener({event, data}); event: 'operation', 'status', 'pool', 'service', 'reset' (ask for everything again) or 'tick'.
export function listen(listener) {
  LISTENERS.add(listener);
  return () => LISTENERS.delete(listener);
}

const tell = (event, data = {}) => [...LISTENERS].forEach((listener) => listener({event, data}));

const pause = (milliseconds, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, milliseconds);
  signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, {once: true});
});

// Waits while the user has no session and does not want one now.
const untilAsked = (signal) => new Promise((resolve) => {
  const stop = session.watch(({declined}) => declined || done());
  const done = () => { stop(); resolve(); };
  signal.addEventListener('abort', done, {once: true});
});

// Splits the stream into events. A part of one waits for the rest.
export class Parser {
  constructor() {
    this.rest = '';
    this.event = '';
    this.data = [];
    this.id = null;
    this.given = null;
  }

  feed(text) {
    const found = [];
    const lines = (this.rest + text).split(/\r\n|\n|\r/);
    this.rest = lines.pop();
    for (const line of lines) {
      if (line === '') {
        // A position counts when its event is complete.
        this.id = this.given;
        if (this.data.length) found.push({event: this.event || 'message', data: this.data.join('\n'), id: this.id});
        this.event = '';
        this.data = [];
      } else if (!line.startsWith(':')) {
        const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
        if (name === 'event') this.event = value;
        if (name === 'data') this.data.push(value);
        if (name === 'id') this.given = value;
      }
    }
    return found;
  }
}

const heard = ({event, data}) => tell(event, typeof data === 'string' ? JSON.parse(data) : data);

// Operators' pages are about all projects.
const everybody = () => (session.value.user?.administrator ? {all_tenants: 1} : {});
const resume = () => (last === null ? {} : {'Last-Event-ID': last});

// A position may come without an event. Before the first nothing is heard: what a page asked for until then may have changed.
function goOnFrom(position) {
  if (last === null && position) tell('reset');
  last = position ?? last;
}

// Returns how to go on: 'stream' again, 'poll' (nothing came through), or 'tick' (the service has no events).
async function stream(signal) {
  const silent = new AbortController();
  const either = AbortSignal.any([signal, silent.signal]);
  let timer = setTimeout(() => silent.abort(), FIRST_BYTES);
  try {
    const answer = await fetchApi(url('events', everybody()), () => ({headers: {Accept: 'text/event-stream', ...resume()}, signal: either}));
    if (answer.status === 404) return 'tick';
    if (!answer.ok || !answer.body) throw new Error(String(answer.status));
    const parser = new Parser();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const {value, done} = await reader.read();
      if (done) break;
      clearTimeout(timer);
      timer = null;
      parser.feed(value).forEach(heard);
      goOnFrom(parser.id);
    }
    if (timer !== null) return 'poll';
    await pause(AGAIN, signal);
    return 'stream';
  } catch (error) {
    if (silent.signal.aborted && !signal.aborted) return 'poll';
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function poll(signal) {
  const query = {...everybody(), wait: last === null ? 0 : LONGEST_WAIT / 1000, last_event_id: last};
  const answer = await fetchApi(url('events', query), () => ({headers: {Accept: 'application/json'}, signal}));
  if (answer.status === 404) return 'tick';
  if (!answer.ok) throw new Error(String(answer.status));
  const found = await answer.json();
  found.events.forEach(heard);
  goOnFrom(found.last_event_id);
  return 'poll';
}

async function tick(signal) {
  await pause(TICK, signal);
  if (!signal.aborted && !document.hidden) tell('tick');
  return 'tick';
}

const WAYS = {stream, poll, tick};

async function run(signal) {
  let way = 'stream';
  let wait = 1000;
  while (!signal.aborted) {
    if (session.value.declined) {
      await untilAsked(signal);
      tell('reset');
    }
    try {
      way = await WAYS[way](signal);
      wait = 1000;
    } catch {
      if (signal.aborted) return;
      await pause(wait, signal);
      wait = Math.min(wait * 2, SLOWEST);
      tell('reset');
    }
  }
}

const userNow = () => (session.value.phase === 'in' ? `${session.value.user.user_id} ${session.value.user.project_id}` : null);

// Listens as long as there is a user, and somebody looks: a browser has six connections to a host for all its tabs.
export function follow() {
  const user = userNow();
  const wanted = document.hidden ? null : user;
  if (user !== known) last = null;
  known = user;
  if ((running?.user ?? null) === wanted) return;
  running?.abort.abort();
  running = null;
  if (wanted !== null) {
    running = {user: wanted, abort: new AbortController()};
    run(running.abort.signal);
  }
}

session.watch(follow);
document.addEventListener('visibilitychange', follow);
