/** Says of a Bird what is unusual about its Flights, by the rule that asks for it or, without one, by the defaults. */
import { placeLabels } from '../domain/alert/labels.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { rulesFor } from '../domain/evaluate/choose-rule.ts';
import { findSlow, flightSlow, slowWords } from '../domain/kinds/flight-slow.ts';
import { countFlights, flightsUnusual, unusualWords } from '../domain/kinds/flights-unusual.ts';
import { defaultRule } from '../domain/kinds/kinds.ts';
import type { TimeIntervals } from '../domain/muting/muting.ts';
import { periodsOf } from '../time/zone-format.ts';
import { createHistories } from './read-history.ts';
import type { Transaction } from './store.ts';

export interface UnusualSetting {
  readonly rules: readonly Rule[];
  readonly timeIntervals: TimeIntervals;
  /** Of days that no rule asks for. */
  readonly timezone: string;
}

export interface UnusualFlights {
  /** `unjudged`: whether there were too few is not known. */
  readonly sort: 'slow' | 'fewer' | 'more' | 'unjudged';
  /** Sentences for people. */
  readonly text: string;
}

/** A week of days, or a day of hours. */
const MOST_PERIODS = 25;

/** What is unusual about Flights that landed after `fromUs`, and about periods that ended after it. */
export async function unusualFlights(
  tx: Transaction,
  { region, birdId }: { readonly region: string; readonly birdId: string },
  { rules, timeIntervals, timezone }: UnusualSetting,
  fromUs: number,
  nowUs: number,
): Promise<UnusualFlights[]> {
  const bird = await tx.overdue.bird(region, birdId);
  if (!bird) return [];
  const history = createHistories(tx, { timeIntervals, flightsReadUs: () => nowUs, lookbackMs: 0 })(bird);
  const labels = placeLabels(bird.place);
  const found: UnusualFlights[] = [];
  const slow = await findSlow(history, rulesFor(flightSlow, labels, rules)[0] ?? defaultRule('FlightSlow'));
  if (slow && slow.landedAtUs > fromUs && bird.status === 'active') {
    found.push({ sort: 'slow', text: slowWords(slow) });
  }
  const rule = rulesFor(flightsUnusual, labels, rules)[0] ?? { ...defaultRule('FlightsUnusual'), timezone };
  const periods = periodsOf(rule.per, rule.timezone);
  let period = periods.at(nowUs);
  for (let count = 0; count < MOST_PERIODS && period.untilUs > fromUs; count += 1) {
    const counted = await countFlights(bird, history, rule, period, count > 0);
    const { verdict } = counted;
    if (verdict === 'fewer' || verdict === 'more' || verdict === 'blind') {
      const text = unusualWords(counted, rule, region);
      found.push({ sort: verdict === 'blind' ? 'unjudged' : verdict, text });
    }
    period = periods.at(period.fromUs - 1);
  }
  return found;
}
