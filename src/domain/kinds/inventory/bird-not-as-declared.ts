/**
 * A Bird is not as people declare it: in a file, or for all Birds that a rule matches. Judged after each reading of the
 * inventory, a whole region at once, since a declared Bird may be missing. It is missing only if a reading since the start
 * has listed all Birds of its Nest. While BirdDeactivated fires, another status is not said here as well.
 */
import { dayAndTime } from '../../../text/instant-words.ts';
import { type Alert, hash64 } from '../../alert/alert.ts';
import type { Fact, Place } from '../../alert/fact.ts';
import { birdName, placeLabels, whereabouts } from '../../alert/labels.ts';
import { lasting, type Parameters, type RuleOf } from '../../alert/rule.ts';
import type { RegionToJudge } from '../judge.ts';
import { birdTopic, defineKind, fireMeasured, observePutRight, PLACE_LABELS, putRight } from '../kind.ts';
import { compareBirds, type Drift, differences } from './compare-birds.ts';

interface Memory {
  readonly differs: string;
}

const PARAMETERS = {
  declared: {
    type: 'birds file',
    description:
      'A file of declared Birds, as `nestwatch birds export` prints it; relative to this file, and a part of the configuration: it is read again when it changes.',
  },
  state: {
    type: 'choice',
    of: ['active', 'suspended', 'unpublished'],
    description: 'Instead of `declared`: the status that every Bird must have that the rule matches.',
  },
  published: {
    type: 'flag',
    description: 'Instead of `declared`: whether every Bird that the rule matches must be published.',
  },
  ...lasting(),
} as const satisfies Parameters;

export const birdNotAsDeclared = defineKind({
  name: 'BirdNotAsDeclared',
  fires:
    'a rule asks for it, and a Bird is not as its file `declared` says (status, trigger, name, Nest), is missing or not declared, or has not the `state` that the rule asks for',
  resolves: 'it is as declared',
  isOnRequest: true,
  words: {
    firing: 'Not as declared',
    still: 'Still not as declared',
    over: 'As declared',
    superseded: 'Deactivated',
    hasOwnDescription: true,
    hasWholeDescription: true,
  },
  runbook: {
    look: "who changed it, in the Bird's log; `nestwatch birds check` lists all differences at once.",
    act: 'put it right in the service, or declare it as it is now.',
  },
  parameters: PARAMETERS,
  mistakes(given) {
    const keys = ['state', 'published'].filter((key) => given(key) !== undefined);
    if (given('declared') === undefined) {
      const message = 'is missing: a file of Birds, or instead of it `state` or `published`';
      return keys.length > 0 ? [] : [{ key: 'declared', isOfKey: false, message }];
    }
    const message = 'cannot be combined with `declared`, which says it for each Bird';
    return keys.map((key) => ({ key, isOfKey: true, message }));
  },
  severities: ['warning'],
  labels: PLACE_LABELS,
  supersededBy: 'BirdDeactivated',
  isResolvableByHand: () => false,
  remembers: { differs: 'text' },

  async judgeRegion(region, rule, open) {
    const facts: Fact[] = [];
    const kept = new Set<string>();
    const superseded = new Set<string>();
    for (const drift of driftsOf(region, rule)) {
      const place = placeOf(drift, region);
      const { subject } = topicOf(place);
      const isSaid = drift.isOfStatus && region.deactivated.has(place.birdId);
      const clauses = isSaid ? drift.clauses.slice(1) : drift.clauses;
      if (clauses.length === 0) {
        superseded.add(subject);
        continue;
      }
      kept.add(subject);
      const isUnknown = drift.what === 'missing' && !region.isRead(place.nest);
      const differs = clauses.join('; ');
      if (isUnknown || differsOf(open.get(subject)) === differs) continue;
      facts.push({ fact: 'bird_drift', place, differs, told: await toldOf(drift, clauses, region) });
    }
    const there = new Set(region.birds.map(({ id }) => id));
    for (const [subject, alert] of open) {
      if (kept.has(subject)) continue;
      const { bird_id: birdId } = alert.labels;
      if (superseded.has(subject)) facts.push(putRight(alert, 'BirdDeactivated says it', 'superseded'));
      else if (birdId === undefined || there.has(birdId)) facts.push(putRight(alert, 'it is as declared'));
      else facts.push(putRight(alert, 'the Bird is gone, and not declared', 'gone'));
    }
    return facts;
  },

  raisedBy: ['bird_drift'],
  observes: ['put_right'],

  topic: ({ place }) => topicOf(place),

  raise(alert, { place, differs, told }, context) {
    const summary = `${birdName(place)} is not as declared ${whereabouts(place)}`;
    const memory: Memory = { differs };
    return fireMeasured(alert, { startsAtUs: context.nowUs, summary, description: told, memory }, context);
  },

  observe: observePutRight,
});

function driftsOf(
  { region, birds }: RegionToJudge,
  { declared, state, published }: RuleOf<typeof PARAMETERS>,
): readonly Drift[] {
  const own = declared?.filter((one) => one.region === region);
  if (own) return compareBirds(own, birds);
  return birds.flatMap((bird) => differences({ ...bird, status: state, published }, bird) ?? []);
}

function placeOf(
  { declared: { region, nest, bird, id = '' }, listed }: Drift,
  { nests }: RegionToJudge,
): Place {
  const [named, another] = nests.filter(({ place }) => (place.nest || place.nestId) === nest);
  const only = another ? undefined : named?.place.nestId;
  const nestId = (listed?.nest === nest ? listed.nestId : only) ?? '';
  return { region, nestId, nest, birdId: listed?.id ?? id, bird };
}

/** What is only known by its name is an alert of its region. */
function topicOf(place: Place) {
  if (place.birdId !== '') return birdTopic(place);
  return { subject: `declared/${hash64([place.nest, place.bird])}`, labels: placeLabels(place) };
}

function differsOf(alert: Alert | undefined): string | undefined {
  return (alert?.memory as Memory | null | undefined)?.differs;
}

/** `Suspended, declared active (since 27 Nov 2026, 16:02 UTC, by editor@example.com).` */
async function toldOf(drift: Drift, clauses: readonly string[], region: RegionToJudge): Promise<string> {
  const { what, isOfStatus, listed } = drift;
  if (what === 'missing') return 'Missing: the service has no such Bird in a Nest that nestwatch watches.';
  if (what === 'undeclared')
    return 'Not declared: the file names other Birds of this Nest, but not this one.';
  const isOff = isOfStatus && clauses === drift.clauses && listed?.status !== 'active';
  const off = isOff ? await region.switchedOff(placeOf(drift, region)) : undefined;
  const since = off ? ` (since ${dayAndTime(off.atUs)}${off.by === '' ? '' : `, by ${off.by}`})` : '';
  const text = [`${clauses[0]}${since}`, ...clauses.slice(1)].join('; ');
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
