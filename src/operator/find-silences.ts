/**
 * Finds silences by the filters that all lists share. A silence has matchers, not Nests or Birds, so it is found when
 * it could mute what the filter asks for. For example, a silence of `severity="critical"` applies to all regions, so
 * it is found for each of them.
 */
import { ALERT_KINDS } from '../domain/kinds/kinds.ts';
import { formatMatcher, type Matcher } from '../domain/matchers/matcher.ts';
import type { Muting } from '../domain/muting/muting.ts';
import type { Silence } from '../domain/muting/silence.ts';
import type { Filter } from '../store/filter.ts';
import type { Transaction } from '../store/store.ts';
import { pausing } from '../time/clock.ts';

/** Filters that ask for the value of a label, and filters that ask for an id or a part of a name. */
const OF_A_LABEL = { region: 'region', severity: 'severity', name: 'alertname' } as const;
const OF_A_PLACE = { nest: ['nest_id', 'nest'], bird: ['bird_id', 'bird'] } as const;

/** The least work of one silence, however short. */
const LEAST_READING = 20;

/** The most alerts of one Flight. */
const MOST_ALERTS = 1_000;

/** The silences that match the filter, in their given order. */
export async function silencesThatMeet(
  tx: Transaction,
  muting: Muting,
  silences: readonly Silence[],
  filter: Filter,
  nowUs: number,
): Promise<Silence[]> {
  const { flight } = filter;
  const hiding = flight === undefined ? undefined : await silencesOfFlight(tx, muting, flight, nowUs);
  const meeting: Silence[] = [];
  const pauseAfter = pausing(tx);
  for (const one of silences) {
    if ((!hiding || hiding.has(one.id)) && meets(one, filter)) meeting.push(one);
    await pauseAfter(readingWork(one));
  }
  return meeting;
}

/** The estimated work of searching a silence's texts. */
export function readingWork({ matchers, comment }: Silence): number {
  return matchers.reduce((sum, { value }) => sum + value.length, comment.length) / 10 + LEAST_READING;
}

/** The ids of the silences that mute an alert with an event of the Flight. */
async function silencesOfFlight(
  tx: Transaction,
  muting: Muting,
  flight: string,
  nowUs: number,
): Promise<ReadonlySet<string>> {
  const query = { flight, state: 'firing', order: 'newest', nowUs, limit: MOST_ALERTS } as const;
  const { alerts } = await tx.alerts.page(query);
  const hiding = new Set<string>();
  const pauseAfter = pausing(tx);
  for (const alert of alerts) {
    const { silencedBy } = await muting.of(alert, pauseAfter);
    for (const { id } of silencedBy) hiding.add(id);
  }
  return hiding;
}

function meets(silence: Silence, given: Filter): boolean {
  // Names of kinds are found in any case, as in other lists.
  const kind = ALERT_KINDS.find((one) => one.toLowerCase() === given.name?.toLowerCase());
  const filter = { ...given, name: kind ?? given.name };
  const { matchers, startsAtUs, endsAtUs, createdBy, comment } = silence;
  const { text, sinceUs = Number.NEGATIVE_INFINITY, untilUs = Number.POSITIVE_INFINITY } = filter;
  const own = (name: string) => matchers.filter((one) => one.name === name);
  for (const [name, label] of Object.entries(OF_A_LABEL)) {
    const value = filter[name as keyof typeof OF_A_LABEL];
    if (value !== undefined && !own(label).every((one) => fits(one, value))) return false;
  }
  for (const [name, labels] of Object.entries(OF_A_PLACE)) {
    const value = filter[name as keyof typeof OF_A_PLACE];
    const named = labels.map(own).filter((some) => some.length > 0);
    if (value === undefined || named.length === 0) continue;
    if (!named.some((some) => some.every((one) => fits(one, value) || names(one, value)))) return false;
  }
  if (text !== undefined) {
    const read = [...matchers.map(formatMatcher), createdBy, comment];
    if (!read.some((one) => hasPart(one, text))) return false;
  }
  return startsAtUs < untilUs && endsAtUs > sinceUs;
}

function fits(matcher: Matcher, value: string): boolean {
  try {
    return matcher.matches({ [matcher.name]: value });
  } catch {
    // An invalid stored matcher mutes nothing.
    return false;
  }
}

/** Whether the matcher asks for a name that contains `part`. */
function names({ op, value }: Matcher, part: string): boolean {
  return (op === '=' || op === '=~') && hasPart(value, part);
}

function hasPart(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}
