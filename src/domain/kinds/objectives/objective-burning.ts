/**
 * Flights of a Nest or region fail so fast that what an objective allows is used up long before its time. Resolves when
 * they no longer do.
 */
import { dayAndTime, durationWords, howMany } from '../../../text/instant-words.ts';
import { regionName } from '../../../text/plain-text.ts';
import { resolve } from '../../alert/alert.ts';
import type { FactOf } from '../../alert/fact.ts';
import { defineKind, fireMeasured, observePutRight, subjectPart } from '../kind.ts';

export const objectiveBurning = defineKind({
  name: 'ObjectiveBurning',
  fires:
    'with `objectives`: at least `least_failures` Flights failed, 14.4 times the share that the objective allows (critical, within an hour) or three times (warning, within three days)',
  resolves:
    'they fail more slowly, none has failed for half an hour (critical) or six hours (warning), or no objective is about them any more. A critical one goes on while the slower pace lasts',
  words: {
    firing: 'Too many failures',
    still: 'Still too many failures',
    over: 'Failures within the objective',
    events: null,
    hasOwnDescription: true,
  },
  runbook: {
    look: 'which Birds of the Nest fail, and with which errors: its page lists the causes.',
    act: 'mend the most frequent cause first. If the objective is too strict for these Birds, change it.',
  },
  parameters: {},
  severities: ['warning', 'critical'],
  labels: ['nest', 'nest_id', 'objective', 'region'],
  isResolvableByHand: () => false,

  raisedBy: ['objective_measured'],
  observes: ['objective_measured', 'put_right'],

  topic(fact) {
    if (!fact.burning) return undefined;
    const { region, nestId, nest, objective, burning } = fact;
    const labels = { region, nest_id: nestId, nest, objective };
    return { subject: subjectOf(fact), labels, severity: burning.level };
  },

  raise(alert, fact, context) {
    const { burning, countsDeadlines, allowed, used, usedUpAtUs, atUs } = fact;
    if (!burning) return undefined;
    const where = fact.nest || (fact.nestId && `Nest ${fact.nestId}`) || regionName(fact.region);
    const failed = `${burning.failed} of the last ${howMany(burning.flights, 'Flight')} of ${where} failed`;
    const missed = `missed ${howMany(burning.missed, 'deadline')}`;
    const both = burning.missed > 0 ? `${failed} and it ${missed}` : failed;
    const said = burning.failed === 0 ? `${where} ${missed}` : both;
    const what = countsDeadlines ? 'failure' : 'failed Flight';
    const allowance = `allowance of ${howMany(allowed, what)} in ${durationWords(fact.overMs, 'exact')}`;
    const description =
      used >= allowed
        ? `${where} has used up its ${allowance}: ${used} ${countsDeadlines ? 'are used' : 'failed'}.`
        : `At this pace ${where} uses up its ${allowance} by ${dayAndTime(usedUpAtUs)}; ${used} are used.`;
    const summary = `${said} within ${durationWords(burning.windowUs / 1000, 'exact')}`;
    return fireMeasured(alert, { startsAtUs: atUs, summary, description, memory: null }, context);
  },

  observe(alert, fact, { nowUs }) {
    if (fact.fact === 'put_right') return observePutRight(alert, fact, { nowUs });
    if (alert.subject !== subjectOf(fact) || alert.state !== 'firing' || fact.burning) return undefined;
    return resolve(alert, fact.atUs, 'Flights no longer fail at that pace', nowUs);
  },
});

function subjectOf({ objective, nestId }: FactOf<'objective_measured'>): string {
  return ['objective', objective, ...(nestId ? ['nest', nestId] : [])].map(subjectPart).join('/');
}
