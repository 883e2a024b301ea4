/**
 * Entries of a feed cannot be parsed: the service's format has changed, or its answers are broken. Nobody is notified
 * of their content, so somebody has to look. Resolves when none came for a while; for the inventory, which is read as
 * a whole each time, when all of it can be parsed.
 */
import { howMany } from '../../text/instant-words.ts';
import { regionName } from '../../text/plain-text.ts';
import { type Alert, clear } from '../alert/alert.ts';
import type { Feed } from '../alert/event.ts';
import { resolvedAfter } from '../alert/rule.ts';
import { defineKind, endQuiet, FEED_ENTRIES, fireMeasured, quietAtUs } from './kind.ts';

interface Memory {
  /** Entries of this episode that could not be parsed; for the inventory those of its last reading. */
  readonly count: number;
  readonly seenUs: number;
}

export const schemaDrift = defineKind({
  name: 'SchemaDrift',
  fires:
    'entries of a feed, or Nests and Birds (`feed="inventory"`), could not be parsed, so nobody is notified of their content',
  resolves: 'there was none for `resolve_after`; for the inventory, all of it can be parsed',
  words: {
    firing: 'Entries unreadable',
    still: 'Entries still unreadable',
    over: 'No more unreadable entries',
  },
  runbook: {
    look: 'the reason names the field. Most often the service changed its responses.',
    act: "update nestwatch. Until then check the service's own logs for the time of the alert.",
  },
  parameters: resolvedAfter(86_400_000),
  severities: ['warning'],
  labels: ['feed', 'region'],
  impairsWatch: true,
  isResolvableByHand: (alert) => !isOfInventory(alert),
  remembers: { count: 'number', seenUs: 'instant' },

  raisedBy: ['schema_drift'],
  observes: ['schema_drift'],

  topic({ region, feed, count }) {
    return count === 0 ? undefined : { subject: subjectOf(feed), labels: { region, feed } };
  },

  raise(alert, fact, context) {
    const known = alert.state === 'firing' ? (alert.memory as Memory | null) : null;
    const before = known ?? { count: 0, seenUs: 0 };
    const memory: Memory = {
      count: fact.feed === 'inventory' ? fact.count : before.count + fact.count,
      seenUs: Math.max(before.seenUs, fact.atUs),
    };
    const [one, many] = FEED_ENTRIES[fact.feed];
    const what = howMany(memory.count, one, many);
    const summary = `${what} could not be read in region ${regionName(fact.region)}`;
    const description = `Nobody is notified of ${memory.count === 1 ? 'its content' : 'their content. The last one'}: ${fact.reason}`;
    const dueAtUs = quietAtUs(context.rule, memory.seenUs);
    return fireMeasured(alert, { startsAtUs: fact.atUs, summary, description, memory, dueAtUs }, context);
  },

  observe(alert, fact, { nowUs }) {
    if (fact.count > 0 || !isOfInventory(alert)) return undefined;
    return clear(alert, fact.atUs, 'every Nest and Bird can be read again', nowUs);
  },

  tick: (alert, context) => endQuiet(alert, 'every entry could be read', context),
});

function subjectOf(feed: Feed | 'inventory'): string {
  return `feed/${feed}`;
}

function isOfInventory({ subject }: Pick<Alert, 'subject'>): boolean {
  return subject === subjectOf('inventory');
}
