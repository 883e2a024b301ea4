/**
 * Checks the events of the inventory. Several changes between two readings are one event, so they are judged as steps
 * through what really was: each begins where the one before it ended, each end was so later, and the last one is how it
 * is in the end. A lost, repeated or invented event breaks that.
 */
import type { Event } from '../../../src/domain/alert/event.ts';
import { isUnknown } from '../../../src/simulator/world/distort.ts';
import type { Find } from '../finding.ts';
import type { Arrival } from '../receivers.ts';
import type { Remains } from '../run.ts';
import type { History, Kept, Value, WatchedWorld } from './inventory-history.ts';

interface Step {
  /** Undefined if the event does not say. */
  readonly from?: Value | undefined;
  readonly to: Value;
  readonly key: string;
}

/** Which value the event of a type changes, and to what. */
function stepOf({ type, key, birdId, nestId, attributes }: Event): readonly [about: string, step: Step] {
  const { before, after, user_id: userId } = attributes;
  const named = { from: String(before ?? ''), to: String(after ?? ''), key };
  switch (type.slice('inventory.'.length)) {
    case 'nest_created':
      return [`nest/${nestId}`, { from: false, to: true, key }];
    case 'nest_gone':
      return [`nest/${nestId}`, { from: true, to: false, key }];
    case 'nest_renamed':
      return [`nest/${nestId}/name`, named];
    case 'bird_created':
      return [`bird/${birdId}`, { from: false, to: true, key }];
    case 'bird_gone':
      return [`bird/${birdId}`, { from: true, to: false, key }];
    case 'bird_moved':
      return before === undefined
        ? [`bird/${birdId}`, { from: false, to: true, key }]
        : [`bird/${birdId}/nest`, { to: nestId, key }];
    case 'bird_renamed':
      return [`bird/${birdId}/name`, named];
    case 'bird_trigger_changed':
      return [`bird/${birdId}/trigger`, named];
    case 'bird_published':
      return [`bird/${birdId}/published`, { from: false, to: true, key }];
    case 'bird_unpublished':
      return [`bird/${birdId}/published`, { from: true, to: false, key }];
    case 'member_added':
      return [`member/${nestId}/${userId}`, { from: false, to: true, key }];
    case 'member_removed':
      return [`member/${nestId}/${userId}`, { from: true, to: false, key }];
    case 'user_activated':
      return [`user/${userId}`, { from: false, to: true, key }];
    default:
      return [`user/${userId}`, { from: true, to: false, key }];
  }
}

/** Returns how many there were of each type, and how many lists lacked something. */
export function checkInventory(
  { plan, inventories, kept, cutLists, startedAtUs }: Remains,
  seen: ReadonlyMap<string, Arrival>,
  find: Find,
): Record<string, number> {
  const keys = new Set(kept.events.map(({ key }) => key));
  for (const key of keys) if (!seen.has(key)) find('lost', 'lost inventory', `${key} was not forwarded`);
  for (const key of seen.keys())
    if (key.split('/')[1] === 'inventory' && !keys.has(key)) find('invented', 'never was', key);
  for (const inventory of inventories) checkRegion(inventory, kept, startedAtUs, find);
  const noticed: Record<string, number> = {
    'lists that lacked something': cutLists,
    'steps of our clock': plan.clockSteps.length,
  };
  for (const { type, message } of kept.events) {
    const isBack = type === 'inventory.bird_created' && message.includes('is listed again');
    const name = isBack ? 'bird_created again' : type.slice('inventory.'.length);
    noticed[name] = (noticed[name] ?? 0) + 1;
  }
  return noticed;
}

function checkRegion({ world, histories }: WatchedWorld, kept: Kept, startedAtUs: number, find: Find): void {
  const { region, behaviours } = world;
  const steps = Map.groupBy(
    kept.events.filter((event) => event.region === region).map(stepOf),
    ([about]) => about,
  );
  for (const about of steps.keys())
    if (!histories.has(about)) find('invented', 'inventory', `${region}/${about}`);
  for (const [about, history] of histories) {
    const [sort = '', id = '', what = ''] = about.split('/');
    if (what === 'trigger' && isUnknown(behaviours, id)) continue;
    const own = (steps.get(about) ?? []).map(([, step]) => step);
    const place = `${region}/${sort}/${id}`;
    const firstUs = kept.firstUs.get(place);
    // What nobody ever knew of has no events.
    if (firstUs === undefined) {
      if (own.length > 0) find('invented', 'inventory', `${region}/${about}: ${own[0]!.key}`);
      continue;
    }
    const isThere = what === '' || sort === 'member';
    // What is gone has not changed by that, and the members of a Nest that is gone have not left it.
    const around = sort === 'member' ? `nest/${id}` : isThere ? undefined : `${sort}/${id}`;
    const last = around === undefined ? undefined : histories.get(around)!.at(-1)!;
    const isOver = last?.value === false;
    const values = isOver ? history.filter(({ us }) => us < last.us) : history;
    const from = fromWhen({ sort, id, isThere, firstUs, startedAtUs, region, histories, kept });
    const wrong = walk(values, own, from, isOver);
    if (wrong)
      find(
        wrong.fault,
        'inventory',
        `${region}/${about}: ${wrong.what}; ${JSON.stringify({ values, own, from, firstUs })}`,
      );
  }
}

interface Asked {
  readonly sort: string;
  readonly id: string;
  readonly isThere: boolean;
  readonly firstUs: number;
  readonly startedAtUs: number;
  readonly region: string;
  readonly histories: ReadonlyMap<string, History>;
  readonly kept: Kept;
}

/** The time in which it was seen first: its value then is where the steps begin. */
function fromWhen({ sort, id, isThere, firstUs, startedAtUs, region, histories, kept }: Asked) {
  const first = { fromUs: startedAtUs, toUs: firstUs };
  if (!isThere) return first;
  const wholeUs = kept.firstUs.get(`${region}/nest/`) ?? Number.POSITIVE_INFINITY;
  const readUs = (nestId: string) => kept.firstUs.get(`${region}/read/${nestId}`) ?? Number.POSITIVE_INFINITY;
  const beganUs = (nestId: string) => histories.get(`nest/${nestId}`)![0]!.us;
  const isNestNew = (nestId: string) => beganUs(nestId) > wholeUs;
  if (sort === 'nest') return { fromUs: startedAtUs, toUs: wholeUs };
  if (sort === 'member') return isNestNew(id) ? { fromUs: 0, toUs: beganUs(id) - 1 } : first;
  if (sort !== 'bird') return first;
  // It is new in a Nest that is new, or whose Birds were read before.
  const nests = histories
    .get(`bird/${id}/nest`)!
    .map(({ value }) => String(value))
    .filter((one) => one !== 'false');
  const bases = nests.map((nestId) => (isNestNew(nestId) ? beganUs(nestId) : readUs(nestId)));
  return { fromUs: startedAtUs, toUs: Math.max(...bases) };
}

interface Window {
  readonly fromUs: number;
  readonly toUs: number;
}

/** Undefined if the steps lead through the values. */
function walk(
  values: History,
  steps: readonly Step[],
  { fromUs, toUs }: Window,
  isOver: boolean,
): { readonly fault: 'lost' | 'invented'; readonly what: string } | undefined {
  const before: History = [{ us: Number.NEGATIVE_INFINITY, value: false }, ...values];
  const starts = before.flatMap(({ us }, at) => {
    const untilUs = before[at + 1]?.us ?? Number.POSITIVE_INFINITY;
    return us <= toUs && untilUs >= fromUs ? [at] : [];
  });
  let worst: ReturnType<typeof walk>;
  for (const start of starts) {
    let at = start;
    const failed = steps.find(({ from, to }) => {
      if (from !== undefined && from !== before[at]!.value) return true;
      const next = before.findIndex(({ value }, index) => index > at && value === to);
      at = next;
      return next < 0;
    });
    if (failed) worst ??= { fault: 'invented', what: failed.key };
    else if (isOver || before[at]!.value === before.at(-1)!.value) return undefined;
    else worst = { fault: 'lost', what: `it ends as ${before.at(-1)!.value}` };
  }
  return worst ?? { fault: 'invented', what: 'no beginning' };
}
