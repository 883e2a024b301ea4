/**
 * What `config/` holds for Docker Compose and Kustomize, judged by others: the published schema of Compose files, which
 * the package of a linter brings (of it nothing is run), and Kustomize itself where this machine has it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
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

  test('is a Compose file by its schema', () => {
    expect(mistakes(compose)).toBe('');
  });

  test('would not be one with a mistake', () => {
    const replica = { ...compose.services.replica, port: [] };
    expect(mistakes({ ...compose, services: { replica } })).toContain('"port"');
    const postgres = { ...compose.services.postgres, healthcheck: { interval: 2 } };
    expect(mistakes({ ...compose, services: { postgres } })).toContain(
      'services.postgres.healthcheck.interval',
    );
  });
});

/** Debian's own is of 2020 and does not know `labels`. */
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
  ])('makes whole manifests of %s', (path, kinds) => {
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
