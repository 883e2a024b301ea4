/** Whoever is woken by an alert finds a runbook entry for it, and the rules query metrics that exist. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ALERT_KINDS, KINDS } from '../../src/domain/kinds/kinds.ts';
import { BIRD_METRICS, METRICS } from '../../src/observe/metric-catalogue.ts';

const CONFIG = join(import.meta.dirname, '../../config');
const read = (file: string) => readFileSync(join(CONFIG, file), 'utf8');

interface Rule {
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const RULES = (parse(read('prometheus/rules.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);
const ALERTS = RULES.filter((rule): rule is Rule & { alert: string } => rule.alert !== undefined);
const ENTRIES = new Map(
  read('runbooks.md')
    .split(/^### /m)
    .slice(1)
    .map((entry) => [entry.split('\n', 1)[0]!, entry]),
);

describe('a runbook', () => {
  const names = [...new Set([...ALERT_KINDS, ...ALERTS.map(({ alert }) => alert)])];

  test.each(names)('of %s says what it means, what to look at and what to do', (name) => {
    const [, means = '', ...rest] = (ENTRIES.get(name) ?? '').split('\n\n');
    expect(means.length).toBeGreaterThan(20);
    expect(rest.join('\n')).toMatch(/^- Look: .{5}[\s\S]*^- Do: .{5}/m);
  });

  test.each(KINDS)('of $name says the same on the page', ({ name, runbook: { look, act } }) => {
    const written = ENTRIES.get(name)?.replaceAll(/\s+/g, ' ');
    expect(written).toContain(`- Look: ${look} - Do: ${act}`);
  });

  test('is about an existing alert', () => {
    expect([...ENTRIES.keys()].filter((name) => !names.includes(name))).toEqual([]);
  });
});

describe('a rule', () => {
  test.each(ALERTS)('$alert has a severity, a summary and a link to its runbook', (rule) => {
    expect(rule.labels?.severity).toMatch(/^(critical|warning|info)$/);
    expect(rule.annotations?.summary).toBeTruthy();
    const base = '{{ or $externalLabels.nestwatch_runbooks "config/runbooks.md" }}';
    expect(rule.annotations?.runbook_url).toBe(`${base}#${rule.alert.toLowerCase()}`);
  });

  test('queries metrics that exist', () => {
    const metrics = [...Object.values(METRICS), ...Object.values(BIRD_METRICS)];
    const there = new Set<string>(metrics.map(({ name }) => name));
    const asked = RULES.flatMap(({ expr }) => expr.match(/(?<![:\w])nestwatch_\w+/g) ?? []);
    const unknown = asked.filter((name) => !there.has(name) && !there.has(name.replace(/_bucket$/, '')));
    expect([...new Set(unknown)]).toEqual([]);
  });

  test('fires in a test', () => {
    const tests = parse(read('prometheus/rules_test.yml')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const fired = tests.tests
      .flatMap((one) => one.alert_rule_test)
      .filter(({ exp_alerts }) => exp_alerts.length > 0)
      .map(({ alertname }) => alertname);
    expect(ALERTS.map(({ alert }) => alert).filter((alert) => !fired.includes(alert))).toEqual([]);
  });
});
