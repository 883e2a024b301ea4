/** A stage with Birds of each trigger that can be started again, and the page and API in front of it. */
import type { Scope } from '../../src/config/sections/access-section.ts';
import { secret } from '../../src/secret.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { aStatus } from '../web/sample.ts';
import { serve } from '../web/served.ts';
import { type Between, createStage, type Stage, type StageOptions } from './stage.ts';
import { stageConfig } from './stage-config.ts';

const TOKENS = { flyer: ['read', 'fly'], writer: ['read', 'write'] } as const satisfies Record<
  string,
  readonly Scope[]
>;

export interface Again {
  readonly stage: Stage;
  readonly eu: World;
  /** By trigger type. */
  readonly birds: Readonly<Record<string, string>>;
  /** The wishes that reached the service. */
  readonly posts: string[];
  readonly web: Awaited<ReturnType<typeof serve>>;
  fail(bird: string): string;
  wish(bird: string, by?: keyof typeof TOKENS, body?: Record<string, unknown>): Promise<Wished>;
  eventTypes(): Promise<string[]>;
}

interface Wished {
  readonly status: number;
  readonly json: {
    readonly error?: string;
    readonly action: { readonly id: string; readonly state: string };
  };
}

export async function openAgain(options: StageOptions & { readonly onPost?: Between } = {}): Promise<Again> {
  const birds: Record<string, string> = {};
  const posts: string[] = [];
  const { onPost = (_request, pass) => pass() } = options;
  const stage = await createStage({
    regions: ['eu'],
    fly: true,
    ...options,
    before(world) {
      const nest = world.addNest({ name: 'Prod EU' });
      for (const triggerType of ['manual', 'event', 'scheduled'] as const) {
        birds[triggerType] = world.addBird(nest.id, {
          ...{ name: `By ${triggerType}`, triggerType, flightDurationMs: 86_400_000 },
        }).id;
      }
      options.before?.(world);
    },
    between(request, pass) {
      if (request.method !== 'POST') return pass();
      posts.push(new URL(request.url).pathname);
      return onPost(request, pass);
    },
  });
  const access = {
    tokens: Object.entries(TOKENS).map(([name, scopes]) => ({
      ...{ name, token: secret(`token of ${name}`), scopes: new Set<Scope>(scopes) },
    })),
    users: new Map(),
    proxy: { header: 'x-person', isTrusted: () => true, scopes: new Set<Scope>(['read', 'fly']) },
  };
  const config = stageConfig(['eu'], { fly: true, ...(options.actions && { actions: options.actions }) });
  const web = await serve({
    store: stage.store,
    clock: stage.clock,
    alerting: config,
    config: { ...config.web, access },
    status: () => ({ ...aStatus(), regions: stage.daemon().regions() }),
    changed: () => stage.daemon().wake(),
  });
  const eu = stage.eu;
  await stage.minutesPass(2);
  return {
    ...{ stage, eu, birds, posts, web },
    fail(bird) {
      const { id } = eu.startFlight(bird);
      eu.endFlight(id, 'failed', { errorMessages: 'The app did not respond' });
      return id.toLowerCase();
    },
    wish: (bird, by = 'flyer', body = {}) =>
      web.post(
        `/api/v1/birds/eu/${bird}/fly`,
        { author: 'Ann', ...body },
        { authorization: `Bearer token of ${by}` },
      ) as Promise<Wished>,
    async eventTypes() {
      const page = await stage.store.transaction((tx) => tx.events.page({ feed: 'action', limit: 100 }));
      return page.events.map(({ type }) => type).toReversed();
    },
  };
}
