/** Takes wishes to start Birds again, says what became of them, and stops the rules that start Birds. */
import type { Context } from 'hono';
import * as z from 'zod';
import { askToFly } from '../../operator/ask-to-fly.ts';
import { isLogin, signedBy } from '../access/identify.ts';
import { readBody, readQuery } from '../requests/query.ts';
import { signatureShape } from '../requests/silence-request.ts';
import type { ApiOptions } from '../web-options.ts';
import { actionJson } from './alert-json.ts';

const wishShape = signatureShape.extend({
  flight: z.string().max(500).default(''),
  id: z.uuid().optional(),
});
const EXPECTED =
  '{"author": "…", "comment": "…", "flight": "…", "id": "…"}: only the author is required; the id, a UUID, is the same for each try of one wish';

export async function takeWish(c: Context, options: ApiOptions): Promise<Response> {
  const { store, clock, alerting, changed, newId } = options;
  const { region = '', id: birdId = '' } = c.req.param();
  const { author, comment, flight, id = newId() } = readBody(await c.req.text(), wishShape, EXPECTED);
  const identity = c.get('identity');
  const who = { by: signedBy(identity, author), isLoggedIn: isLogin(identity), comment };
  const failed = await store.transaction((tx) => tx.birds.findFlight(region, flight));
  if (flight !== '' && failed?.birdId !== birdId)
    return c.json({ error: 'No such Flight of this Bird is stored; /api/v1/flights lists them.' }, 404);
  const wish = { id, region, birdId, failedFlightId: failed?.flightId ?? '', ...who };
  const taken = await askToFly(store, alerting, wish, clock.nowUs());
  if (!taken.ok) return c.json({ error: taken.message }, taken.status);
  changed();
  return c.json({ action: actionJson(taken.action) }, 202);
}

export async function showAction(c: Context, { store }: ApiOptions): Promise<Response> {
  readQuery(new URL(c.req.url).searchParams, []);
  const action = await store.transaction((tx) => tx.actions.find(c.req.param('id') ?? ''));
  if (!action) return c.json({ error: 'No such action is stored.' }, 404);
  return c.json({ action: actionJson(action) });
}

const pauseShape = signatureShape.pick({ author: true });

/** Rules of `actions` only: what people want is done all the same. */
export async function pauseRules(
  c: Context,
  { store, clock, changed }: ApiOptions,
  paused: boolean,
): Promise<Response> {
  const { author } = readBody(await c.req.text(), pauseShape, '{"author": "…"}');
  const pause = paused ? { atUs: clock.nowUs(), by: signedBy(c.get('identity'), author) } : undefined;
  await store.transaction((tx) => tx.actions.putPause(pause));
  changed();
  return c.json({ paused });
}
