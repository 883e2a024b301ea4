/**
 * The files in `config/` for Docker Compose and Kubernetes, checked by others: the published schema of Compose files,
 * which comes with the package of a linter (nothing of it is run), those of Kubernetes and the Prometheus operator,
 * and Kustomize itself if this machine has it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import * as z from 'zod';

const CONFIG = join(import.meta.dirname, '../../config');
const folder = mkdtempSync(join(tmpdir(), 'nestwatch-schemas-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('compose.yaml', () => {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder, 'dclint@3.1.0'], { cwd: folder });
  execFileSync('tar', ['-xzf', 'dclint-3.1.0.tgz', 'package/schemas/compose.schema.json'], { cwd: folder });
  const schema = JSON.parse(readFileSync(join(folder, 'package/schemas/compose.schema.json'), 'utf8'));
  const composeFile = z.fromJSONSchema({ ...schema, $schema: 'http://json-schema.org/draft-07/schema#' });
  const compose = parse(readFileSync(join(CONFIG, 'compose/compose.yaml'), 'utf8'), { merge: true });
  const mistakes = (file: unknown) => {
    const { error } = composeFile.safeParse(file);
    return error ? z.prettifyError(error) : '';
  };

  test('is valid by the schema of Compose files', () => {
    expect(mistakes(compose)).toBe('');
  });

  test('would not be valid with a mistake', () => {
    const replica = { ...compose.services.replica, port: [] };
    expect(mistakes({ ...compose, services: { replica } })).toContain('"port"');
    const postgres = { ...compose.services.postgres, healthcheck: { interval: 2 } };
    expect(mistakes({ ...compose, services: { postgres } })).toContain(
      'services.postgres.healthcheck.interval',
    );
  });
});

describe('manifests', () => {
  const CUSTOM = 'monitoring.coreos.com/';
  const packages = join(folder, 'kubernetes-schemas');
  cpSync(join(import.meta.dirname, 'kubernetes-schemas'), packages, { recursive: true });
  execFileSync('npm', ['ci', '--silent', '--ignore-scripts'], { cwd: packages });

  interface Manifest {
    readonly apiVersion: string;
    readonly kind: string;
    readonly spec: object;
  }
  interface Model {
    new (manifest: Manifest): { validate(): void };
  }

  // Kubernetes reads YAML 1.1, in which 0440 is octal. Kustomize's own files never reach a cluster.
  const all = globSync('**/*.yaml', { cwd: join(CONFIG, 'kubernetes') })
    .map((file): [string, Manifest] => {
      const text = readFileSync(join(CONFIG, 'kubernetes', file), 'utf8');
      return [file, parse(text, { version: '1.1' }) as Manifest];
    })
    .filter(([, { kind, apiVersion }]) => kind !== undefined && !apiVersion.startsWith('kustomize.'));
  const manifest = (file: string) => all.find(([name]) => name === file)![1];

  /** The errors by the schema of its kind; empty if there are none. */
  async function mistakesIn(one: Manifest): Promise<string> {
    const { apiVersion, kind } = one;
    const from = apiVersion.startsWith(CUSTOM)
      ? '@kubernetes-models/prometheus-operator'
      : 'kubernetes-models';
    const models = await import(join(packages, 'node_modules', from, apiVersion, 'index.js'));
    const Model = models[kind] as Model;
    try {
      new Model(one).validate();
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  }

  test('are all there are', () => {
    expect(all.map(([, { kind }]) => kind).toSorted()).toEqual([
      ...['Deployment', 'NetworkPolicy', 'NetworkPolicy', 'PodDisruptionBudget', 'PrometheusRule'],
      ...['Service', 'ServiceAccount', 'ServiceMonitor', 'StatefulSet'],
    ]);
  });

  test.each(all)('%s is valid by the schema of its kind', async (_, one) => {
    expect(await mistakesIn(one)).toBe('');
  });

  test('would not be valid with a mistake', async () => {
    const deployment = manifest('postgres/deployment.yaml');
    const { spec } = deployment;
    const strategy = { type: 'Rolling' };
    expect(await mistakesIn({ ...deployment, spec: { ...spec, replicas: '2', strategy } })).toBe(
      'data/spec/replicas must be integer, data/spec/strategy/type must be equal to one of the allowed values',
    );
    const rules = manifest('monitoring/prometheus-rule.yaml');
    const wrong = { groups: [{ name: 'x', rules: [{ alert: 'X', expr: 'up', for: '5 minutes' }] }] };
    expect(await mistakesIn({ ...rules, spec: wrong })).toContain(
      'data/spec/groups/0/rules/0/for must match',
    );
  });
});

/** Debian's version is from 2020 and does not know `labels`. */
const hasKustomize = spawnSync('kubectl', ['kustomize', '--help']).status === 0;

describe.skipIf(!hasKustomize)('kustomize', () => {
  test.each([
    ['kubernetes', ['ConfigMap', 'NetworkPolicy', 'Service', 'ServiceAccount', 'StatefulSet']],
    [
      'kubernetes/postgres',
      [
        'ConfigMap',
        'Deployment',
        'NetworkPolicy',
        'NetworkPolicy',
        'PodDisruptionBudget',
        'Service',
        'ServiceAccount',
      ],
    ],
  ])('builds complete manifests from %s', (path, kinds) => {
    const text = execFileSync('kubectl', ['kustomize', join(CONFIG, path)], { encoding: 'utf8' });
    const made = parseAllDocuments(text).map((document) => document.toJS());
    expect(made.map(({ kind }) => kind).toSorted()).toEqual(kinds);
    for (const { metadata } of made) {
      expect(metadata.labels).toEqual({ 'app.kubernetes.io/name': 'nestwatch' });
      expect(metadata.name).toMatch(/^nestwatch(-postgres)?$/);
    }
    const { image } = made.find(({ spec }) => spec?.template).spec.template.spec.containers[0];
    expect(image).toBe('nestwatch:0.1.0');
  });
});
