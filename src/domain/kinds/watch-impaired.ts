/**
 * Something keeps the watch from being worth what people take it for, and no other kind covers it. There is one alert
 * for each reason of the health answer, and for each region if the reason has one. That answer is given every few
 * seconds, with since when it holds. What did not last is not remembered, so a restart starts counting again.
 */
import { durationWords } from '../../text/instant-words.ts';
import { clear } from '../alert/alert.ts';
import type { FactOf } from '../alert/fact.ts';
import { lasting } from '../alert/rule.ts';
import { defineKind, fireMeasured, subjectPart } from './kind.ts';

interface Memory {
  /** The current text of its mails: numbers in it change while it fires. */
  readonly said: string;
}

/** What usually ends by itself is notified if it has not ended after this long: audits catch up after an outage. */
const PATIENCE_MS = 3_600_000;

/**
 * More than one check, so that nobody is notified of a momentary problem. With `group_wait` a mail still comes within
 * a minute.
 */
const LASTS_MS = 10_000;

export const watchImpaired = defineKind({
  name: 'WatchImpaired',
  fires: `something else impairs the watch. The label \`reason\` says what, as \`/api/v1/health\` and \`nestwatch_watch_impaired\` do. For \`feed_unproven\`, which mostly ends by itself, it fires only after ${durationWords(PATIENCE_MS, 'exact')}`,
  resolves: 'the reason is gone',
  words: {
    firing: 'Watch impaired',
    still: 'Watch still impaired',
    over: 'Watch no longer impaired',
    hasOwnDescription: true,
  },
  runbook: {
    look: '`nestwatch status`, or the health panel of the page, shows the current state.',
    act: 'as the alert says. It resolves by itself within seconds after the fix; it cannot be resolved by hand. Acknowledge it to stop the reminders.',
  },
  parameters: lasting(LASTS_MS),
  severities: ['warning', 'critical'],
  labels: ['reason', 'region'],
  impairsWatch: true,
  isAlsoOfNoRegion: true,
  isResolvableByHand: () => false,
  remembers: { said: 'text' },

  raisedBy: ['watch_health'],
  observes: ['watch_health'],

  topic(fact) {
    const { isImpaired, reason, region = 'all', severity } = fact;
    return isImpaired ? { subject: subjectOf(fact), labels: { reason, region }, severity } : undefined;
  },

  raise(alert, { title: summary, sentences, sinceUs: startsAtUs, endsByItself }, context) {
    const { rule, nowUs } = context;
    const said = sentences.join('\n');
    const isFiring = alert.state === 'firing';
    if (isFiring && (alert.memory as Memory | null)?.said === said) return undefined;
    const leastMs = endsByItself ? Math.max(PATIENCE_MS, rule.forMs) : rule.forMs;
    if (!isFiring && startsAtUs + leastMs * 1000 > nowUs) return undefined;
    const memory: Memory = { said };
    return fireMeasured(alert, { startsAtUs, summary, description: said, memory }, context);
  },

  observe(alert, fact, { nowUs }) {
    if (fact.isImpaired || alert.subject !== subjectOf(fact)) return undefined;
    return clear(alert, nowUs, 'this no longer impairs the watch', nowUs);
  },
});

function subjectOf({ reason }: FactOf<'watch_health'>): string {
  return `reason/${subjectPart(reason)}`;
}
