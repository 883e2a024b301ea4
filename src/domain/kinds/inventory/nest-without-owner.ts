/**
 * A Nest has too few active members whose addresses fit the rule, judged after each reading of the inventory. Members that
 * the service did not list are those that it listed before; a Nest whose members it never listed is not judged, nor one that
 * has enough if those are active of whom the service does not say it.
 */
import { matchesGlob } from '../../../text/glob.ts';
import { dayAndTime } from '../../../text/instant-words.ts';
import type { Fact } from '../../alert/fact.ts';
import { placeLabels, whereabouts } from '../../alert/labels.ts';
import { lasting, type Parameters, type RuleOf } from '../../alert/rule.ts';
import type { NestToJudge, RegionToJudge } from '../judge.ts';
import { defineKind, fireMeasured, observePutRight, putRight, subjectPart } from '../kind.ts';

interface Memory {
  readonly active: string;
}

const PARAMETERS = {
  activeMembers: {
    type: 'count',
    least: 1,
    most: 1000,
    default: 1,
    description: 'How many active members a Nest must have.',
  },
  only: {
    type: 'texts',
    description:
      'Globs on the mail addresses of members, in any case of letters, such as `*@example.com`: others do not count. Without it all do.',
  },
  ...lasting(),
} as const satisfies Parameters;

type OwnerRule = RuleOf<typeof PARAMETERS>;

export const nestWithoutOwner = defineKind({
  name: 'NestWithoutOwner',
  fires:
    'a rule asks for it, and a Nest has fewer than `active_members` active members whose addresses match `only`',
  resolves: 'it has enough of them',
  isOnRequest: true,
  words: {
    firing: 'Nest without owner',
    still: 'Nest still without owner',
    over: 'Nest has an owner',
    hasOwnDescription: true,
    hasWholeDescription: true,
  },
  runbook: {
    look: 'who left, or was deactivated, and who is in charge of the Nest now.',
    act: 'add a member to the Nest in the service, or correct `only` of the rule.',
  },
  parameters: PARAMETERS,
  mistakes(given) {
    const only = given('only');
    const slips = Array.isArray(only)
      ? only.filter((one) => typeof one === 'string' && !/[*?@]/.test(one))
      : [];
    if (slips.length === 0) return [];
    const message = `no mail address matches ${JSON.stringify(slips[0])}: write "*@${slips[0]}" for all of a domain`;
    return [{ key: 'only', isOfKey: false, message }];
  },
  severities: ['warning'],
  labels: ['nest', 'nest_id', 'region'],
  isResolvableByHand: () => false,
  remembers: { active: 'text' },

  async judgeRegion(region, rule, open) {
    const facts: Fact[] = [];
    const left = new Map(open);
    for (const nest of region.nests) {
      const { subject } = topicOf(nest);
      const alert = left.get(subject);
      left.delete(subject);
      if (nest.members === undefined) continue;
      const active = fitting(nest.members, rule);
      if (active.length >= rule.activeMembers) {
        if (alert) facts.push(putRight(alert, `it has ${active.join(', ')} as an active member`));
      } else if (active.length + fitting(nest.maybeActive, rule).length >= rule.activeMembers) {
        // It may have enough.
      } else if ((alert?.memory as Memory | null | undefined)?.active !== active.join(' ')) {
        facts.push({
          fact: 'nest_unowned',
          place: nest.place,
          active,
          told: toldOf(nest, active, rule, region),
        });
      }
    }
    for (const alert of left.values())
      facts.push(putRight(alert, 'the Nest is gone, or no longer watched', 'gone'));
    return facts;
  },

  raisedBy: ['nest_unowned'],
  observes: ['put_right'],

  topic: topicOf,

  raise(alert, { place, active, told }, context) {
    const memory: Memory = { active: active.join(' ') };
    const summary = `Too few active members ${whereabouts(place)}`;
    return fireMeasured(alert, { startsAtUs: context.nowUs, summary, description: told, memory }, context);
  },

  observe: observePutRight,
});

function topicOf({ place }: Pick<NestToJudge, 'place'>) {
  return { subject: `nest/${subjectPart(place.nestId)}`, labels: placeLabels(place) };
}

function fitting(members: readonly string[], { only }: OwnerRule): readonly string[] {
  if (!only) return members;
  const globs = only.map((one) => one.toLowerCase());
  return members.filter((member) => globs.some((glob) => matchesGlob(glob, member.toLowerCase())));
}

/** `Customer 4 has no active member of @example.com; the last, owner@example.com, left between … and ….` */
function toldOf(
  { place, membersBefore = [] }: NestToJudge,
  active: readonly string[],
  rule: OwnerRule,
  { readAtUs, readBeforeUs }: RegionToJudge,
): string {
  const of = rule.only ? ` of ${rule.only.map((glob) => glob.replace(/^\*(?=@)/, '')).join(' or ')}` : '';
  const few = `only ${active.length} of ${rule.activeMembers} active members${of}, ${active.join(', ')}`;
  const has = `${place.nest || place.nestId} has ${active.length === 0 ? `no active member${of}` : few}`;
  const gone = fitting(membersBefore, rule).filter((member) => !active.includes(member));
  if (gone.length === 0 || readBeforeUs === undefined) return `${has}.`;
  const last = active.length + gone.length === 1;
  const left = `${last ? `the last, ${gone[0]},` : gone.join(', ')} left or ${gone.length === 1 ? 'was' : 'were'} deactivated`;
  const [since, at] = [dayAndTime(readBeforeUs), dayAndTime(readAtUs)];
  return `${has}; ${left} ${since === at ? `at ${at}` : `between ${since} and ${at}`}.`;
}
