/**
 * Fires for what is wrong in the inventory as a whole, such as Birds that are not as declared. Each region is judged after
 * each of its readings, once, and first when the process or a configuration starts; without rules that ask for it nothing
 * is done.
 */
import type { Alert } from '../domain/alert/alert.ts';
import type { RuledFact } from '../domain/alert/fact.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { rulesFor } from '../domain/evaluate/choose-rule.ts';
import { asKindSees } from '../domain/evaluate/flapping.ts';
import { byActivity } from '../domain/grouping/member-recipients.ts';
import { birdDeactivated } from '../domain/kinds/bird-deactivated.ts';
import type { RegionToJudge } from '../domain/kinds/judge.ts';
import { KINDS } from '../domain/kinds/kinds.ts';
import type { InventoryRead } from '../region-progress.ts';
import type { Happening } from '../report.ts';
import { applyFacts } from '../store/change-alerts.ts';
import { createHistories, type HistoryOptions, readListedBirds } from '../store/read-history.ts';
import type { Transaction } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import type { Step } from './step-runner.ts';

interface RegionJudgingOptions extends HistoryOptions {
  readonly rules: readonly Rule[];
  readonly clock: Clock;
  /** The last reading of each region's inventory, as far as there is one since the start. */
  readonly inventoryReads: () => ReadonlyMap<string, InventoryRead>;
}

/** What was judged of a region: when the reading began, and the members of its Nests. */
interface Judged {
  readonly readAtUs: number;
  readonly members: ReadonlyMap<string, readonly string[] | undefined>;
}

/** Readings are looked for this often. */
const LOOK_MS = 5_000;

export function createRegionJudging(options: RegionJudgingOptions) {
  const { rules, clock, inventoryReads } = options;
  const asking = KINDS.flatMap((kind) => {
    const { name, judgeRegion } = kind;
    if (!judgeRegion) return [];
    return rules.filter((rule) => rule.kind === name).map((rule) => ({ kind, judgeRegion, rule }));
  });
  const kinds = [...new Set([...asking.map(({ kind }) => kind.name), birdDeactivated.name])];
  /** What was judged last of each region. */
  const judgedBefore = new Map<string, Judged>();
  let nextMs = asking.length === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;

  async function judgeRegion(tx: Transaction, region: string, read: InventoryRead) {
    const alerts = (await tx.alerts.ofKinds(kinds, region)).filter(isTrue);
    const judged = await regionToJudge(tx, region, read, alerts, judgedBefore.get(region), options);
    const facts: RuledFact[] = [];
    for (const { kind, judgeRegion, rule } of asking) {
      const open = alerts.filter((one) => one.alertname === kind.name && one.rule === rule.id);
      const found = await judgeRegion(judged, rule, new Map(open.map((one) => [one.subject, one])));
      for (const fact of found) {
        const topic = kind.raisedBy.includes(fact.fact) ? kind.topic(fact) : undefined;
        if (!topic || rulesFor(kind, topic.labels, [rule]).length > 0) facts.push({ ...fact, rule: rule.id });
      }
    }
    const members = new Map(judged.nests.map((nest) => [nest.place.nestId, nest.members]));
    return { facts, judged: { readAtUs: read.atUs, members } };
  }

  async function judge(tx: Transaction): Promise<Step> {
    nextMs = clock.monotonicMs() + LOOK_MS;
    const happenings: Happening[] = [];
    const judgedNow = new Map<string, Judged>();
    for (const [region, read] of inventoryReads()) {
      if (judgedBefore.get(region)?.readAtUs === read.atUs) continue;
      const { facts, judged } = await judgeRegion(tx, region, read);
      judgedNow.set(region, judged);
      happenings.push(...(await applyFacts(tx, facts, rules, clock.nowUs())).happenings);
      await tx.pause();
    }
    const remember = () => {
      for (const [region, judged] of judgedNow) judgedBefore.set(region, judged);
    };
    return { done: 0, queued: 0, happenings, remember };
  }

  return {
    /** When it is time to look, on the monotonic clock. */
    nextMs: () => nextMs,
    /** A step of the alerting pass. */
    judge,
  };
}

/** Whether it fires, or waits for its rule's `for`. */
function isTrue(alert: Alert): boolean {
  return asKindSees(alert).state === 'firing';
}

async function regionToJudge(
  tx: Transaction,
  region: string,
  { atUs: readAtUs, unread }: InventoryRead,
  alerts: readonly Alert[],
  before: Judged | undefined,
  options: HistoryOptions,
): Promise<RegionToJudge> {
  const historyOf = createHistories(tx, options);
  const nests = (await tx.inventory.nests(region)).filter(({ present }) => present);
  const deactivated = alerts.filter(
    ({ alertname, state }) => alertname === birdDeactivated.name && state === 'firing',
  );
  const membersOf = new Map(
    (await tx.inventory.nestMembers(region)).map(({ nestId, addresses }) => [nestId, byActivity(addresses)]),
  );
  return {
    region,
    readAtUs,
    readBeforeUs: before?.readAtUs,
    nests: nests.map(({ nestId, name: nest }) => ({
      place: { region, nestId, nest, birdId: '', bird: '' },
      members: membersOf.get(nestId)?.active,
      maybeActive: membersOf.get(nestId)?.unknown ?? [],
      membersBefore: before?.members.get(nestId),
    })),
    birds: await readListedBirds(tx, region),
    isRead(name) {
      const found = nests.filter((one) => (one.name || one.nestId) === name);
      return found.length === 0 ? unread.length === 0 : found.every(({ nestId }) => !unread.includes(nestId));
    },
    deactivated: new Set(deactivated.map(({ labels }) => labels.bird_id ?? '')),
    switchedOff: (place) => historyOf({ place, stream: undefined }).switchedOff(),
  };
}
