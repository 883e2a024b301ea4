/**
 * Limits of what a store holds or a public page shows. Reaching them takes more Nests, Birds and writes than any
 * world has.
 */
import { Hono } from 'hono';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { ANYBODY } from '../../src/web/access/identify.ts';
import { addBrowsers } from '../../src/web/pages/browsers/browser-routes.ts';
import { withWords } from '../../src/web/pages/frame/page.ts';
import { ENGLISH } from '../../src/web/pages/frame/words.ts';
import { createPublicStatus } from '../../src/web/pages/public/public-pages.ts';
import { createBrowser } from '../channels/browser/sample-browser.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { aStatus, NOW_US } from '../web/sample.ts';

const MANY_NESTS = 5_000;
const MOST_NESTS = 2_000;
const MANY_BIRDS = 1_000;
const MOST_BIRDS = 500;
const MANY_BROWSERS = 100;
const MOST_BROWSERS = 60;
const MANY_WRITES = 30_000;
const WRITES_AT_ONCE = 1_000;

const upTo = (count: number) => Array.from({ length: count }, (_, at) => String(at));

async function inStore<T>(look: (store: Store) => Promise<T>): Promise<T> {
  const store = await openSqliteStore({ path: ':memory:', clock: createVirtualClock() });
  try {
    return await look(store);
  } finally {
    await store.close();
  }
}

function publicStatusOf(store: Store) {
  const config = { nests: ['*'], hasNames: true };
  const impairments = async () => ({ impairments: [], space: undefined });
  return createPublicStatus(config, {
    store,
    status: () => aStatus(),
    impairments,
    clock: createVirtualClock(),
  });
}

export const manyPublicNests = () =>
  inStore(async (store) => {
    const nests = upTo(MANY_NESTS).map((nestId) => ({
      region: 'eu',
      nestId,
      name: `N${nestId}`,
      present: true,
    }));
    await store.transaction((tx) => tx.inventory.putNests(nests));
    const read = publicStatusOf(store);
    let shown = 0;
    for (const { nestId } of nests) if (await read('eu', nestId)) shown += 1;
    return shown > MOST_NESTS ? `${shown} Nests have a public page` : undefined;
  });

export const manyPublicBirds = () =>
  inStore(async (store) => {
    const birds = upTo(MANY_BIRDS).map((birdId) => ({
      region: 'eu',
      birdId,
      nestId: '1',
      name: `Bird ${birdId}`,
      status: 'active',
      triggerType: 'event',
      present: true,
      statusSinceUs: NOW_US,
    }));
    await store.transaction(async (tx) => {
      await tx.inventory.putNests([{ region: 'eu', nestId: '1', name: 'Marketing', present: true }]);
      await tx.inventory.putBirds(birds);
    });
    const named = (await publicStatusOf(store)('eu', '1'))?.birds?.length ?? 0;
    return named > MOST_BIRDS ? `a public page names ${named} Birds` : undefined;
  });

export const manyWrites = () =>
  inStore(async (store) => {
    const write = {
      who: 'anna',
      by: 'user',
      from: '127.0.0.1',
      action: 'POST /',
      asked: '',
      status: 200,
    } as const;
    for (let at = 0; at < MANY_WRITES; at += WRITES_AT_ONCE) {
      await store.transaction(async (tx) => {
        for (let more = 0; more < WRITES_AT_ONCE; more += 1) {
          await tx.writes.add({ ...write, who: at + more === 0 ? 'the first' : 'anna', atUs: NOW_US });
        }
      });
    }
    const { writes } = await store.transaction((tx) => tx.writes.page({ who: 'the first', limit: 1 }));
    return writes.length > 0 ? `the first of ${MANY_WRITES} writes is kept` : undefined;
  });

export const manyBrowsers = () =>
  inStore(async (store) => {
    const browsers = { publicKey: '', receivers: new Map([['me', []]]) };
    const app = new Hono();
    app.use(withWords(ENGLISH));
    app.use((c, next) => {
      c.set('identity', ANYBODY);
      return next();
    });
    addBrowsers(app, { store, clock: createVirtualClock(), browsers });
    const { keys } = createBrowser();
    for (const at of upTo(MANY_BROWSERS)) {
      const fields = { receiver: 'me', endpoint: `https://fcm.googleapis.com/fcm/send/${at}`, ...keys };
      await app.request('/notifications', { method: 'POST', body: new URLSearchParams(fields) });
    }
    const kept = (await store.transaction((tx) => tx.browsers.list())).length;
    if (kept === 0) return 'no browser could be subscribed';
    return kept > MOST_BROWSERS ? `${kept} browsers of one person are subscribed` : undefined;
  });
