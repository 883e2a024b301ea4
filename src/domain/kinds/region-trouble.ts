/**
 * The common part of RegionDown, RegionUnauthorized and FeedBehind: lasting trouble of a whole region. It is
 * remembered when first heard of, and fires when it has lasted for the rule's `for`, even without another fact.
 */
import { regionName } from '../../text/plain-text.ts';
import { type Alert, type Change, remember, resolve } from '../alert/alert.ts';
import type { FactName, FactOf } from '../alert/fact.ts';
import { lasting } from '../alert/rule.ts';
import { type Context, defineKind, fireMeasured, type Kind } from './kind.ts';

interface Memory {
  readonly sinceUs: number;
  readonly reason: string;
}

interface RegionTrouble<Name extends FactName> {
  /** Reads the state of the trouble from a fact. */
  readonly read: (fact: FactOf<Name>) => TroubleState;
  /** One sentence; the region is in capitals. */
  readonly summary: (region: string) => string;
  /** What to do about it, as a sentence; absent if only the region itself can fix it. */
  readonly action?: (region: string) => string;
  /** Says what ended it. */
  readonly over: string;
}

interface TroubleState {
  readonly region: string;
  /** `hidden`: it may last but cannot be observed. That ends it only before it fires. */
  readonly state: 'lasts' | 'hidden' | 'over';
  readonly sinceUs: number;
  readonly reason: string;
  /** What is not well although it is over, after a comma; empty for nothing. */
  readonly still?: string;
}

type Health = FactOf<'region_health'>['health'];

/** The trouble that a region's health is `health`. Any health that does not end it once it fires hides it. */
function ofHealth(health: Health, endedBy: readonly Health[]) {
  return ({ health: now, region, sinceUs, reason }: FactOf<'region_health'>): TroubleState => {
    const ended = endedBy.includes(now) ? 'over' : 'hidden';
    const still = now === 'unauthorized' ? ', but refuses the token' : '';
    return { region, state: now === health ? 'lasts' : ended, sinceUs, reason, still };
  };
}

/** How alerts of such a kind change. Nobody resolves them by hand: the next check would raise them again. */
function regionTrouble<Name extends FactName>({ read, summary, action, over }: RegionTrouble<Name>) {
  function firing(alert: Alert, memory: Memory, context: Context): Change {
    const { region = '' } = context.labels;
    const words = [summary(regionName(region)), ...(action ? [action(region)] : [])].join('. ');
    const { sinceUs: startsAtUs, reason: description } = memory;
    return fireMeasured(alert, { startsAtUs, summary: words, description, memory }, context);
  }

  return {
    labels: ['region'],
    impairsWatch: true,
    isResolvableByHand: () => false,
    remembers: { sinceUs: 'since', reason: 'text' },

    topic(fact) {
      const { state, region } = read(fact);
      return state === 'lasts' ? { subject: 'region', labels: { region } } : undefined;
    },

    raise(alert, fact, context) {
      const now = read(fact);
      const known = alert.memory as Memory | null;
      if (known?.reason === now.reason) return undefined;
      // Our clock may have been set back since.
      const sinceUs = Math.min(known?.sinceUs ?? now.sinceUs, context.nowUs);
      const memory: Memory = { sinceUs, reason: now.reason };
      const dueAtUs = memory.sinceUs + context.rule.forMs * 1000;
      if (alert.state === 'firing' || dueAtUs <= context.nowUs) return firing(alert, memory, context);
      return remember(alert, memory, dueAtUs, context.nowUs);
    },

    observe(alert, fact, { nowUs }) {
      const { state, sinceUs, still = '' } = read(fact);
      if (alert.state === 'firing') {
        return state === 'over' ? resolve(alert, sinceUs, `${over}${still}`, nowUs) : undefined;
      }
      return alert.memory === null ? undefined : remember(alert, null, null, nowUs);
    },

    tick(alert, context) {
      const memory = alert.memory as Memory | null;
      if (alert.state === 'firing' || memory === null) return remember(alert, memory, null, context.nowUs);
      return firing(alert, memory, context);
    },
  } satisfies Partial<Kind<string, Record<never, never>, never, Name, Name>>;
}

export const regionDown = defineKind({
  name: 'RegionDown',
  fires: 'the region does not answer',
  resolves: 'it answers again',
  words: { firing: 'Region down', still: 'Region still down', over: 'Region up again' },
  runbook: {
    look: "the reason in the alert (`unreachable`, `timeout`, `unavailable`); the service's own status page; whether another machine reaches its address.",
    act: 'if only this machine cannot reach it, check DNS, proxy, firewall and certificates. Otherwise wait: nothing is lost as long as the service keeps its entries.',
  },
  parameters: lasting(60_000),
  severities: ['critical'],
  inhibitsRegion: true,

  raisedBy: ['region_health'],
  observes: ['region_health'],

  ...regionTrouble({
    read: ofHealth('down', ['up', 'unauthorized']),
    summary: (region) => `Region ${region} does not answer: its Birds cannot be watched`,
    action: () =>
      'Nothing is lost: what happens meanwhile is read and told once it answers. See whether the service has an outage, and whether this machine reaches it',
    over: 'the region answers again',
  }),
});

export const regionUnauthorized = defineKind({
  name: 'RegionUnauthorized',
  fires: 'the region refuses the token',
  resolves: 'it accepts the token again',
  words: { firing: 'Token refused', still: 'Token still refused', over: 'Token accepted again' },
  runbook: {
    look: 'whether the token was revoked, has expired, or lost its rights.',
    act: 'create a new token and write it into the token file; nestwatch reads it again without a restart.',
  },
  parameters: lasting(),
  severities: ['critical'],
  inhibitsRegion: true,

  raisedBy: ['region_health'],
  observes: ['region_health'],

  ...regionTrouble({
    read: ofHealth('unauthorized', ['up']),
    summary: (region) => `Region ${region} refuses the token: its Birds cannot be watched`,
    action: (region) =>
      `Create a new API token as an organisation admin and use it for regions.${region}.token. Everything that was missed is read then`,
    over: 'the region answers again',
  }),
});

// Something in a region is not read in time, for whatever reason, so people are notified late of what happens there.

export const feedBehind = defineKind({
  name: 'FeedBehind',
  fires:
    'something was not read within `poll.max_interval` (notifications and inventory: twice that), because too few requests are allowed, the service asks for a pause, or a Bird or Nest cannot be read',
  resolves: 'every stream is read often enough again',
  words: { firing: 'Reading behind', still: 'Reading still behind', over: 'Reading caught up' },
  runbook: {
    look: 'the reason: the service allows too few requests for so many Birds, or many of them fail.',
    act: 'raise `requests_per_second` if the service allows it, or `poll.max_interval`, or leave Nests out with `nests.exclude`.',
  },
  parameters: lasting(300_000),
  severities: ['warning'],

  raisedBy: ['polling_pace'],
  observes: ['polling_pace'],

  ...regionTrouble({
    read: ({ region, kept, sinceUs, reason }: FactOf<'polling_pace'>) => ({
      ...{ region, sinceUs, reason },
      state: kept ? 'over' : 'lasts',
    }),
    summary: (region) => `Region ${region} is not read in time: alerts may come late`,
    over: 'every stream is polled often enough again',
  }),
});
