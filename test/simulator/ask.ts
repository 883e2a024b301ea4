import { handle } from '../../src/simulator/answers/answer-operations.ts';
import type { Behaviours } from '../../src/simulator/world/behaviours.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld, type World } from '../../src/simulator/world/world.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';

export const TOKEN = 'a#b$c[d]';

export interface Trial {
  readonly clock: VirtualClock;
  readonly world: World;
}

export function createTrial(behaviours: Partial<Behaviours> = {}, seed = 1): Trial {
  const clock = createVirtualClock();
  const world = createWorld({ region: 'eu', clock, random: seededRandom(seed), token: TOKEN, behaviours });
  return { clock, world };
}

/** A trial with one Bird; `path` is that of the Bird. */
export function createBirdTrial(triggerType: 'manual' | 'event', behaviours: Partial<Behaviours> = {}) {
  const trial = createTrial(behaviours);
  const nest = trial.world.addNest({ name: 'Marketing' });
  const bird = trial.world.addBird(nest.id, { name: 'Translate blog', triggerType });
  return { ...trial, nest, bird, path: `/nests/${nest.id}/birds/${bird.id}` };
}

export interface Json {
  readonly [key: string]: unknown;
}

export interface Told {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** The body as an object; empty for an empty body. */
  readonly json: Json;
  readonly list: readonly Json[];
  /** Of a page. */
  readonly items: readonly Json[];
}

/** Sends a request with the right token; `path` is below the prefix. */
export function ask(world: World, target: string, body?: unknown): Told {
  const [method = '', path = ''] = target.split(' ');
  const headers: Record<string, string> = { authorization: TOKEN };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const request = { method, path: `/api-rest${path}`, headers };
  const answer = handle(world, body === undefined ? request : { ...request, body: JSON.stringify(body) });
  const value: unknown = answer.body === '' ? {} : JSON.parse(answer.body);
  const json = value as Json;
  return {
    status: answer.status,
    type: answer.headers['content-type'] ?? '',
    body: answer.body,
    json,
    list: value as readonly Json[],
    items: json.items as readonly Json[],
  };
}
