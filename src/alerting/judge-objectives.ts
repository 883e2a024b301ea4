/**
 * Measures each minute how the Nests and regions meet their objectives, from the counts of Flights and of missed
 * deadlines that are kept by half hour. Only those are looked at in which something failed within three days, or about
 * which an alert fires.
 */
import type { Objective } from '../config/sections/objectives-section.ts';
import type { Alert } from '../domain/alert/alert.ts';
import type { Fact } from '../domain/alert/fact.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { putRight } from '../domain/kinds/kind.ts';
import { objectiveBurning } from '../domain/kinds/objectives/objective-burning.ts';
import { matchesAll } from '../domain/matchers/matcher.ts';
import { allowance, burning, LONGEST_WINDOW_US } from '../domain/statistics/objective.ts';
import { applyFacts } from '../store/change-alerts.ts';
import type { MissedOfNest } from '../store/sql/watched/judged-times.ts';
import type { Transaction } from '../store/store.ts';
import { NOTHING, type Step } from './step-runner.ts';

export const OBJECTIVES_EVERY_MS = 60_000;

interface Subject {
  readonly region: string;
  /** Empty for a region. */
  readonly nestId: string;
  readonly nest: string;
}

export async function judgeObjectives(
  tx: Transaction,
  objectives: readonly Objective[],
  regions: readonly string[],
  rules: readonly Rule[],
  nowUs: number,
): Promise<Step> {
  const facts: Fact[] = [];
  const firing = new Map<string, Alert[]>();
  for (const region of regions) {
    for (const severity of objectiveBurning.severities) {
      const alerts = await tx.alerts.ofKind(objectiveBurning.name, severity, region, 1_000);
      for (const alert of alerts) {
        const { nest_id = '', objective = '' } = alert.labels;
        firing.getOrInsertComputed(keyOf(region, nest_id, objective), () => []).push(alert);
      }
    }
  }
  const failing = new Map<string, readonly string[]>();
  const missed = new Map<string, readonly MissedOfNest[]>();
  const countsAny = objectives.some((one) => one.countsDeadlines);
  for (const region of objectives.length > 0 ? regions : []) {
    const sinceUs = nowUs - Math.max(LONGEST_WINDOW_US, ...objectives.map(({ overMs }) => overMs * 1000));
    failing.set(region, await tx.birds.nestsFailingSince(region, nowUs - LONGEST_WINDOW_US));
    missed.set(region, countsAny ? await tx.overdue.missedSince(region, sinceUs) : []);
  }
  for (const objective of objectives) {
    for (const subject of await subjectsOf(tx, objective, regions)) {
      const { region, nestId } = subject;
      const isOurs = (id: string) => nestId === '' || id === nestId;
      const unmet = objective.countsDeadlines ? missed.get(region)!.filter((one) => isOurs(one.nestId)) : [];
      const isFailing =
        failing.get(region)!.some(isOurs) || unmet.some((one) => one.sinceUs > nowUs - LONGEST_WINDOW_US);
      if (!firing.delete(keyOf(region, nestId, objective.name)) && !isFailing) continue;
      facts.push(await measure(tx, objective, subject, unmet, nowUs));
      await tx.pause();
    }
  }
  for (const alert of [...firing.values()].flat()) {
    const isLeft = objectives.some(({ name }) => name === alert.labels.objective);
    const why = isLeft
      ? 'the Nest is gone, or the objective no longer about it'
      : 'the objective was removed';
    facts.push(putRight(alert, why, 'gone'));
  }
  if (facts.length === 0) return NOTHING;
  const { happenings } = await applyFacts(tx, facts, rules, nowUs);
  return { done: 0, queued: 0, happenings };
}

async function subjectsOf(tx: Transaction, { match, forEach }: Objective, regions: readonly string[]) {
  const subjects: Subject[] = [];
  for (const region of regions) {
    const own =
      forEach === 'region'
        ? [{ region, nestId: '', nest: '' }]
        : (await tx.inventory.nests(region))
            .filter(({ present }) => present)
            .map(({ nestId, name }) => ({ region, nestId, nest: name }));
    subjects.push(...own.filter(({ nestId, nest }) => matchesAll(match, { region, nest_id: nestId, nest })));
  }
  return subjects;
}

async function measure(
  tx: Transaction,
  objective: Objective,
  subject: Subject,
  unmet: readonly MissedOfNest[],
  nowUs: number,
): Promise<Fact> {
  const { region, nestId } = subject;
  const of = { regions: [region], ...(nestId !== '' && { nestId }) };
  const recent = await tx.birds.flightEnds({ ...of, sinceUs: nowUs - LONGEST_WINDOW_US });
  const burn = burning(objective, [...recent, ...unmet], nowUs);
  const about = {
    fact: 'objective_measured',
    ...subject,
    objective: objective.name,
    countsDeadlines: objective.countsDeadlines,
    overMs: objective.overMs,
    atUs: nowUs,
  } as const;
  if (!burn) return { ...about, allowed: 0, used: 0, usedUpAtUs: 0 };
  const all = await tx.birds.flightEnds({ ...of, sinceUs: nowUs - objective.overMs * 1000 });
  return { ...about, burning: burn, ...allowance(objective, [...all, ...unmet], burn, nowUs) };
}

function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}
