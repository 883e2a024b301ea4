/**
 * Reads what everybody may know about a Nest: its name, its and its Birds' status and since when, and what was noted for
 * everybody. Errors, ids, people and all other Nests are left out. The store is read at most once a minute for each public Nest, however many
 * people ask.
 */
import { isPublicNest, type PublicStatusConfig } from '../../../config/sections/web-section.ts';
import type { Note } from '../../../domain/alert/alert.ts';
import type { HealthAnswer } from '../../../health/health.ts';
import type { Impairment } from '../../../health/impairment.ts';
import { LIMITS } from '../../../limits.ts';
import type { BirdOverview } from '../../../store/bird-store.ts';
import type { Store, Transaction } from '../../../store/store.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { Clock } from '../../../time/clock.ts';
import { kept } from '../../kept.ts';
import type { StatusView } from '../../status-view.ts';

/** `unknown`: the watch is interrupted. `late`: it goes on, but what it reads is old. */
export type PublicState = 'well' | 'failing' | 'late' | 'unknown';

export interface PublicBird {
  readonly name: string;
  readonly state: 'well' | 'failing' | 'off';
  /** Of a failing Bird; 0 if unknown. */
  readonly sinceUs: number;
}

export interface PublicNest {
  readonly name: string;
  readonly state: PublicState;
  /** Of a Nest that is not well; 0 if unknown. */
  readonly sinceUs: number;
  readonly counts: { readonly well: number; readonly failing: number; readonly off: number };
  /** Of what fires, newest first; without who wrote them. */
  readonly notes: readonly Pick<Note, 'text' | 'atUs'>[];
  /** Failing ones first; absent if Birds are only counted. */
  readonly birds?: readonly PublicBird[];
}

interface Options {
  readonly store: Store;
  readonly status: () => StatusView;
  readonly impairments: () => Promise<HealthAnswer>;
  readonly clock: Clock;
}

/** Undefined for a Nest that is not public or does not exist. */
type PublicStatus = (region: string, nestId: string) => Promise<PublicNest | undefined>;

/** How long an answer is cached. */
export const KEPT_SECONDS = 60;
const KEPT_MS = KEPT_SECONDS * 1000;
const NAME_LENGTH = 80;
const SHOWN_NOTES = 10;
const LATE = 'streams_overdue';
/** Impairments that make the status of Birds unknown. It is still known if only notifications fail. */
const BLINDING = new Set([
  'store_failing',
  'region_unauthorized',
  'region_down',
  'inventory_failing',
  LATE,
  'first_pass',
]);

export function createPublicStatus(config: PublicStatusConfig, options: Options): PublicStatus {
  const { store, status, clock } = options;
  const listed = kept(clock, KEPT_MS, async () => {
    const regions = status().regions.map(({ region }) => region);
    return store.transaction(async (tx) => {
      const all = await Promise.all(regions.map((region) => tx.inventory.nests(region)));
      const open = all
        .flat()
        .filter(({ present, name, nestId }) => present && isPublicNest(config, name, nestId));
      const some = open.slice(0, LIMITS.public_nests.most);
      return new Map(
        some.map((nest) => [
          keyOf(nest.region, nest.nestId),
          {
            name: nest.name,
            read: kept(clock, KEPT_MS, () =>
              store.transaction((tx) => readNest(tx, nest, config, clock.nowUs())),
            ),
          },
        ]),
      );
    });
  });

  return async (region, nestId) => {
    const nest = (await listed()).get(keyOf(region, nestId));
    if (!nest) return undefined;
    const { impairments } = await options.impairments();
    const blinding = impairments.filter((one) => isBlind(one, region));
    const blind = blinding.find(({ reason }) => reason !== LATE) ?? blinding[0];
    const view = await nest.read();
    if (!blind) return view;
    return { ...view, state: blind.reason === LATE ? 'late' : 'unknown', sinceUs: blind.sinceUs };
  };
}

const keyOf = (region: string, nestId: string) => JSON.stringify([region, nestId]);

function isBlind({ reason, region, stopsHeartbeat }: Impairment, here: string): boolean {
  return stopsHeartbeat && BLINDING.has(reason) && (region === undefined || region === here);
}

async function readNest(
  tx: Transaction,
  { region, nestId, name }: { readonly region: string; readonly nestId: string; readonly name: string },
  { hasNames }: PublicStatusConfig,
  nowUs: number,
): Promise<PublicNest> {
  const own = await birdsOf(tx, region, nestId);
  const firing = { region, nest: nestId, state: 'firing', order: 'newest', nowUs, limit: 1_000 } as const;
  const { alerts } = await tx.alerts.page(firing);
  const begins = new Map<string, number>();
  for (const { labels, startsAtUs } of alerts) {
    if (labels.nest_id !== nestId || !labels.bird_id) continue;
    begins.set(labels.bird_id, Math.min(startsAtUs, begins.get(labels.bird_id) ?? startsAtUs));
  }
  const shown = own.map((bird) => publicBird(bird, begins.get(bird.birdId)));
  const count = (state: PublicBird['state']) => shown.filter((bird) => bird.state === state).length;
  const counts = { well: count('well'), failing: count('failing'), off: count('off') };
  const sinces = shown.flatMap(({ state, sinceUs }) => (state === 'failing' && sinceUs > 0 ? [sinceUs] : []));
  return {
    name: plainText(name, NAME_LENGTH) || 'Nest',
    state: counts.failing > 0 ? 'failing' : 'well',
    sinceUs: sinces.length > 0 ? Math.min(...sinces) : 0,
    counts,
    notes: (await tx.notes.publicOf(region, nestId, SHOWN_NOTES)).map(({ text, atUs }) => ({ text, atUs })),
    ...(hasNames && { birds: shown.slice(0, LIMITS.public_birds.most) }),
  };
}

/** All Birds of the Nest, failing ones first. */
async function birdsOf(tx: Transaction, region: string, nestId: string): Promise<BirdOverview[]> {
  const own: BirdOverview[] = [];
  let cursor: string | undefined;
  do {
    const page = await tx.birds.page({ regions: [region], nest: nestId, limit: 1_000, cursor });
    // The filter accepts an id or part of a name, so other Nests may match.
    own.push(...page.birds.filter((bird) => bird.nestId === nestId));
    cursor = page.next;
    await tx.pause();
  } while (cursor !== undefined);
  return own;
}

function publicBird({ name, standing, last }: BirdOverview, alertSinceUs: number | undefined): PublicBird {
  const isFailing = standing === 'alerting' || standing === 'failing';
  return {
    name: plainText(name, NAME_LENGTH) || 'Bird',
    state: isFailing ? 'failing' : standing,
    sinceUs: isFailing ? (alertSinceUs ?? last?.startedAtUs ?? 0) : 0,
  };
}
