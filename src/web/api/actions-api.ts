/** Takes wishes to start Birds again, and says what became of them. */
import type { Hono } from 'hono';
import * as z from 'zod';
import { wireText } from '../../domain/alert/event.ts';
import { askToFly } from '../../operator/ask-to-fly.ts';
import { isLogin, signedBy } from '../access/identify.ts';
import { readQuery, refuse } from '../requests/query.ts';
import { MAX_AUTHOR_LENGTH, MAX_COMMENT_LENGTH } from '../requests/silence-request.ts';
import type { ApiOptions } from '../web-options.ts';
import { actionJson } from './action-json.ts';

const wishShape = z.object({
  author: z.string().trim().min(1).max(MAX_AUTHOR_LENGTH).transform(wireText),
  comment: z.string().trim().max(MAX_COMMENT_LENGTH).default('').transform(wireText),
  flight: z.string().max(500).default(''),
  id: z.uuid().optional(),
});

const EXPECTED =
  'the body must be {"author": "…", "comment": "…", "flight": "…", "id": "…"}: only the author is required; the id, a UUID, is the same for each try of one wish';

export function addActions(api: Hono, options: ApiOptions): void {
  const { store, clock, alerting, act, newId } = options;
  api.post('/birds/:region/:id/fly', async (c) => {
    const { region, id: birdId } = c.req.param();
    const { success, data } = wishShape.safeParse(jsonIn(await c.req.text()));
    if (!success) throw refuse(EXPECTED);
    const { author, comment, flight: failedFlightId, id = newId() } = data;
    const identity = c.get('identity');
    const who = { by: signedBy(identity, author), isLoggedIn: isLogin(identity) };
    const wish = { id, region, birdId, failedFlightId, ...who, comment };
    const taken = await askToFly(store, alerting, wish, clock.nowUs());
    if (!taken.ok) return c.json({ error: taken.message }, taken.status);
    act(region);
    return c.json({ action: actionJson(taken.action) }, 202);
  });

  api.get('/actions/:id', async (c) => {
    readQuery(new URL(c.req.url).searchParams, []);
    const action = await store.transaction((tx) => tx.actions.find(c.req.param('id')));
    return action
      ? c.json({ action: actionJson(action) })
      : c.json({ error: 'No such action is stored.' }, 404);
  });
}

const pauseShape = z.object({ author: wishShape.shape.author });

/** Rules of `actions` only: what people want is done all the same. */
export function addPausing(api: Hono, { store, clock, changed }: ApiOptions): void {
  for (const what of ['pause', 'resume'] as const) {
    api.post(`/actions/${what}`, async (c) => {
      const { success, data } = pauseShape.safeParse(jsonIn(await c.req.text()));
      if (!success) throw refuse('the body must be {"author": "…"}');
      const by = signedBy(c.get('identity'), data.author);
      const pause = what === 'pause' ? { atUs: clock.nowUs(), by } : undefined;
      await store.transaction((tx) => tx.actions.putPause(pause));
      changed();
      return c.json({ paused: pause !== undefined });
    });
  }
}

/** Undefined for what is not JSON. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
